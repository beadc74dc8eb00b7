package prefilter

import (
	"bytes"
	"encoding/binary"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Writer is what the words before a host's text say of who wrote it.
type Writer struct {
	Node, Unit string
	Source     ingest.Source
	Trust      ingest.Trust
}

// head is how the lines of one writer begin.
type head struct {
	key string // what stands between the time and the process id, see headKey
	Writer
}

// KnownLine is a line that begins like one that was read in full before.
type KnownLine struct {
	Writer
	At    time.Time
	Clock ingest.Clock
	Dated bool   // its time has the year
	Text  []byte // what follows the head
}

// Of a head that is remembered, so that identOf takes it with every process id.
const (
	maxDigits = 18
	maxKey    = 200
)

// Heads are those of the lines that were read in full, and the minute that these
// lines are in. A line of the same minute with a known head can be told without
// reading it in full.
type Heads struct {
	known  map[string]*head
	lately [1 << lateBits]*head // what the look-up in known found
	second int                  // where the second word begins
	minute minute
}

const lateBits = 8

// minute is the one that the lines are in, as they spell it.
type minute struct {
	text  string // up to its colon
	zone  string // what stands behind the second
	from  time.Time
	clock ingest.Clock
	dated bool           // the text has its year
	local *time.Location // the zone that was inferred when the minute was learnt
}

// maxHeads bounds how many heads are remembered.
const maxHeads = 4096

// learnMinute takes the minute from a line whose time is known. The text before the
// seconds has a fixed length in both forms that are read quickly.
func (m *minute) learnMinute(moment time.Time, clock ingest.Clock, st logtext.Stamp, s string) {
	*m = minute{}
	at := isoMinute
	if st.Year == 0 {
		at = syslogMinute
	}
	if len(s) < at+2 || s[at-1] != ':' || logtext.Number(s, at, 2) != st.Sec {
		return
	}
	end := at + 2
	if end < len(s) && s[end] == ',' { // dmesg's fraction
		return
	}
	if end < len(s) && s[end] == '.' {
		for end++; end < len(s) && logtext.IsDigit(s[end]); end++ {
		}
	}
	if end > st.Size {
		return
	}
	past := time.Duration(st.Sec)*time.Second + time.Duration(st.Nano)
	*m = minute{text: s[:at], zone: s[end : st.Size+1], from: moment.Add(-past), clock: clock, dated: st.Year != 0}
}

// `2026-05-04T10:00:` and `May 04 10:00:`
const (
	isoMinute    = 17
	syslogMinute = 13
)

// readTime reads how far in this minute a line was written; rest begins with the
// space behind its time.
func (m *minute) readTime(b []byte) (past time.Duration, rest []byte, ok bool) {
	i := len(m.text)
	if i == 0 || len(b) < i+3 || string(b[:i]) != m.text || !logtext.IsDigit(b[i]) || !logtext.IsDigit(b[i+1]) {
		return 0, nil, false
	}
	past = time.Duration(b[i]-'0')*10*time.Second + time.Duration(b[i+1]-'0')*time.Second
	i += 2
	if past >= time.Minute { // a leap second
		return 0, nil, false
	}
	if b[i] == '.' {
		if i+1 == len(b) || !logtext.IsDigit(b[i+1]) {
			return 0, nil, false
		}
		from, n := i+1, 0
		for i++; i < len(b) && logtext.IsDigit(b[i]); i++ {
			n = 10*n + int(b[i]-'0')
		}
		if i-from >= len(fractions) { // finer than peelSyslog takes
			return 0, nil, false
		}
		past += time.Duration(n) * fractions[i-from]
	}
	end := i + len(m.zone)
	if end > len(b) || string(b[i:end]) != m.zone {
		return 0, nil, false
	}
	return past, b[end-1:], true
}

// fractions are what the last of so many digits behind a point counts.
var fractions = [...]time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond,
	100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond}

// Match tells the line b if it begins like one that was read in full before.
func (n *Heads) Match(b []byte) (l KnownLine, ok bool) {
	past, rest, ok := n.minute.readTime(b)
	if !ok {
		return l, false
	}
	h, text := n.lookUp(rest)
	if h == nil {
		return l, false
	}
	m := &n.minute
	return KnownLine{Writer: h.Writer, At: m.from.Add(past), Clock: m.clock, Dated: m.dated, Text: text}, true
}

// Zone is the zone that was inferred for the document when the lines were learnt.
func (n *Heads) Zone() *time.Location { return n.minute.local }

// lookUp is the head of ` host ident[pid]: text`, nil if it is not known, and the text.
func (n *Heads) lookUp(s []byte) (*head, []byte) {
	slot := n.recentSlot(s)
	if h := *slot; h != nil {
		if text, ok := h.textBehind(s); ok {
			return h, text
		}
	}
	key, text, ok := headKey(s)
	if !ok {
		return nil, nil
	}
	h := n.known[string(key)]
	*slot = h
	return h, text
}

// recentSlot is where a head that was seen lately is looked for: by the first letters of
// the second word, where the host's name is as long as the last one was.
func (n *Heads) recentSlot(s []byte) **head {
	if n.second+4 > len(s) {
		return &n.lately[0]
	}
	return &n.lately[binary.LittleEndian.Uint32(s[n.second:])*0x9E3779B1>>(32-lateBits)]
}

// textBehind says whether s has this head, as headKey would, and what follows it.
func (h *head) textBehind(s []byte) (text []byte, ok bool) {
	i := len(h.key)
	if len(s) < i || string(s[:i]) != h.key {
		return nil, false
	}
	if s[i-1] == '[' {
		from := i
		if i = digitsEnd(s, i); i == from || i > from+maxDigits || i+2 > len(s) || s[i] != ']' || s[i+1] != ':' {
			return nil, false
		}
		i += 2
	}
	if i >= len(s) || s[i] != ' ' {
		return nil, false
	}
	return s[i+1:], true
}

// Learn remembers how a line that was read in full begins: s is all of it, st its
// time, at the moment that this means, rest what follows the time, and local the
// zone that was inferred for times that name none.
func (n *Heads) Learn(w Writer, at time.Time, clock ingest.Clock, st logtext.Stamp, s, rest string,
	local *time.Location) {
	key, _, ok := headKey([]byte(rest))
	if !ok {
		return
	}
	if n.minute.dated != (st.Year != 0) {
		*n = Heads{} // the two forms of time ask for different proofs of what follows
	}
	n.addHead(string(key), w)
	n.minute.learnMinute(at, clock, st, s)
	n.minute.local = local
}

// addHead remembers a head.
func (n *Heads) addHead(key string, w Writer) {
	if n.known == nil || len(n.known) > maxHeads {
		*n = Heads{known: map[string]*head{}, minute: n.minute}
	}
	if h := n.known[key]; h == nil || h.Writer != w {
		n.known[key] = &head{key, w}
		n.lately = [1 << lateBits]*head{}
	}
	n.second = wordEnd([]byte(key), 1) + 1
}

// headKey returns of ` host ident[pid]: text` what does not change with the
// process id, and the text. A first word that ends in a colon and has no process
// id can be either, so it says nothing.
func headKey(s []byte) (key, text []byte, ok bool) {
	end := wordEnd(s, 1)
	if end < 3 || s[end-1] == ':' && s[end-2] != ']' {
		return nil, nil, false
	}
	if s[end-1] != ':' {
		end = wordEnd(s, end+1)
	}
	if end < 3 || end >= len(s) || s[end-1] != ':' {
		return nil, nil, false
	}
	i := end - 1
	if s[i-1] != ']' {
		return s[:end], s[end+1:], true
	}
	for i -= 2; i > 0 && logtext.IsDigit(s[i]); i-- {
	}
	return s[:i+1], s[end+1:], s[i] == '[' && i < end-3 && i+3+maxDigits >= end && i < maxKey
}

// wordEnd is where the word at i ends: a space, or the end of s.
func wordEnd(s []byte, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if n := bytes.IndexByte(s[i:], ' '); n >= 0 {
		return i + n
	}
	return len(s)
}

// OnlyText says whether reading the line in full would tell no more of it than
// its head does.
func (l *KnownLine) OnlyText() bool {
	text := l.Text
	if len(text) < 2 {
		return false
	}
	switch c := text[0]; {
	case c <= ' ': // klog goes on
		return false
	case c == '[':
		return l.Source == ingest.Kernel && kernelSeconds(text)
	case logtext.IsDigit(c):
		return len(text) < 21 || text[19] != 'Z' // a runner's own prefix
	case c == 't' || c == '{':
		if l.Clock != ingest.WallClock { // it tells a better time
			return false
		}
	}
	if l.Source == ingest.Containerd {
		return !logtext.HasSource(text) // the kata shim
	}
	return !logtext.MayTellLoss(l.Source, l.Unit, text)
}

// kernelSeconds says whether text starts with `[  123.456789]`.
func kernelSeconds(text []byte) bool {
	i := 1
	for i < len(text) && text[i] == ' ' {
		i++
	}
	point := digitsEnd(text, i)
	if point == i || point > i+9 || point == len(text) || text[point] != '.' {
		return false
	}
	end := digitsEnd(text, point+1)
	return end > point+3 && end <= point+10 && end < 24 && end < len(text) && text[end] == ']'
}

// digitsEnd is where the digits at i end.
func digitsEnd(s []byte, i int) int {
	for i < len(s) && logtext.IsDigit(s[i]) {
		i++
	}
	return i
}
