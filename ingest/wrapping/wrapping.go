// Package wrapping takes off what lies around every line of a text since people
// handed it on: quote marks, the prefixes of grep and cat -n, bullets, bars of
// tables, entities of HTML, curly quotes, and line ends that a mail or a terminal
// put into long lines.
//
// Invariant: a wrapping is taken off only where the text's head shows it on nearly
// all lines and its lines look more like records without it. Every line keeps its
// number. What a line says is never changed, so a text is worth what it was worth
// before it was wrapped, and never more.
//
// Crash behaviour: the package holds no state outside the text being read; it
// opens no file, reads no clock and starts no goroutine.
package wrapping

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"
)

// Wrapping is what lies around the lines of one text, outermost first. The zero
// value is a text that nobody wrapped.
type Wrapping struct {
	steps  []step
	breaks breaks
	pasted bool
	latest time.Time
}

// step takes one layer off a line, of those that have it.
type step func(line string) string

// maxLayers is how many layers a text has at most: a quoted grep of a fenced list.
const maxLayers = 6

// Of finds the wrapping of the text that begins with head.
func Of(head []byte) (w Wrapping) {
	if i := bytes.LastIndexByte(head, '\n'); i > 0 && i < len(head)-1 && len(head) >= 4096 {
		head = head[:i] // the last line may be cut
	}
	if bytes.IndexByte(head, 0) >= 0 || Difference(head) {
		return w
	}
	lines := strings.Split(string(head), "\n")
	latest := latestStoreTime(lines)
	for len(w.steps) < maxLayers {
		s, people := findLayer(lines)
		if s == nil {
			break
		}
		w.pasted = w.pasted || people
		w.steps = append(w.steps, s)
		for i := range lines {
			lines[i] = s(lines[i])
		}
	}
	w.breaks = breaksOf(lines)
	if !latest.Equal(latestStoreTime(lines)) {
		w.latest = latest // it was taken off
	}
	return w
}

// None says whether nobody wrapped the text.
func (w Wrapping) None() bool { return len(w.steps) == 0 && w.breaks.width == 0 }

// Pasted says whether people handed the text on, in a mail, a chat or a page: what it is
// called then is what one of them called it.
func (w Wrapping) Pasted() bool { return w.pasted }

// Latest is the latest time that a log store's page shows beside the lines of the head, zero
// where it shows none. It tells the year of times that have none.
func (w Wrapping) Latest() time.Time { return w.latest }

// Reader reads r without its wrapping.
func (w Wrapping) Reader(r io.Reader) io.Reader {
	if w.None() {
		return r
	}
	return &reader{Wrapping: w, in: bufio.NewReaderSize(r, 64<<10)}
}

// Text is a whole text without its wrapping.
func (w Wrapping) Text(text []byte) []byte {
	if w.None() {
		return text
	}
	out, _ := io.ReadAll(w.Reader(bytes.NewReader(text))) // a bytes.Reader has no errors
	return out
}

// maxJoined is the longest line that is put together again.
const maxJoined = 32 << 10

// reader unwraps line by line.
type reader struct {
	Wrapping
	in  *bufio.Reader
	out bytes.Buffer
	err error

	line  string // that may go on
	last  string // its last part, as it stood
	parts int    // how many lines it is made of; 0: there is none
}

func (r *reader) Read(p []byte) (int, error) {
	for r.out.Len() == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	return r.out.Read(p)
}

// fill reads one line.
func (r *reader) fill() {
	raw, err := r.in.ReadString('\n')
	r.err = err
	if raw != "" {
		line, ended := strings.CutSuffix(raw, "\n")
		for _, s := range r.steps {
			line = s(line)
		}
		r.take(line)
		if !ended {
			r.flush(false)
		}
	}
	if err != nil {
		r.flush(true)
	}
}

// take takes one line: the next one, or the rest of the one before.
func (r *reader) take(line string) {
	if r.breaks.width > 0 && r.parts > 0 && len(r.line) < maxJoined && r.breaks.continues(r.last, line) {
		if !r.breaks.withinWord(r.last) && !strings.HasSuffix(r.line, " ") {
			r.line += " "
		}
		r.line += line
		r.last = line
		r.parts++
		return
	}
	r.flush(true)
	r.line, r.last, r.parts = line, line, 1
	if r.breaks.width == 0 {
		r.flush(true)
	}
}

// flush hands on the line at hand, and an empty one for every line that it was
// broken into, so that those behind it keep their numbers.
func (r *reader) flush(ended bool) {
	if r.parts == 0 {
		return
	}
	r.out.WriteString(r.line)
	if ended {
		r.out.WriteString(strings.Repeat("\n", r.parts))
	}
	r.line, r.last, r.parts = "", "", 0
}
