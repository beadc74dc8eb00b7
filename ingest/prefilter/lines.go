// Package prefilter cuts a document into lines and tells, of most lines without
// reading them in full, that they are uninteresting and who wrote them when.
//
// Invariant: memory is bounded however long a line is. A line is uninteresting only
// if no text that is searched for is in it and cleaning would not change it; a
// known line says of its writer and its time what reading it in full would.
//
// Crash behaviour: the package holds no state outside the document being read.
package prefilter

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"coroner/ingest/logtext"
)

// MaxLine is the longest line that is kept while it is being read. journald
// splits at 48 KiB and containerd at 16 KiB; a byte array in journal JSON takes
// four bytes for one.
const MaxLine = 1 << 20

// Lines cuts a document into lines in bounded memory.
type Lines struct {
	r      *bufio.Reader
	long   []byte // a line that did not fit r
	Number int    // number of the line that was returned last
	Cut    int    // bytes of that line beyond maxLine

	canSkip   int // bytes behind that line that were searched and are uninteresting; below 0: the line itself was not
	printable int // the same of those that need no cleaning
}

// BufferSize is twice what is looked at before a document is read: reading goes
// past what the readers below hold.
const BufferSize = 128 << 10

func NewLines(r io.Reader) *Lines {
	l := &Lines{r: bufio.NewReaderSize(r, bufferFor(r))}
	if bom, _ := l.r.Peek(2); len(bom) == 2 && (bom[0]^bom[1]) == 0xFE^0xFF && bom[0]|bom[1] == 0xFF {
		l.r = bufio.NewReaderSize(&utf16Reader{r: l.r, big: bom[0] == 0xFE}, BufferSize)
	}
	return l
}

// bufferFor is how large a buffer a document needs: of many small ones each needs a small one.
func bufferFor(r io.Reader) int {
	if known, ok := r.(interface{ Len() int }); ok {
		return min(known.Len()+1, BufferSize)
	}
	return BufferSize
}

// Head returns the first n bytes of the document, which stay to be read.
func (l *Lines) Head(n int) ([]byte, error) { return l.r.Peek(min(n, l.r.Size())) }

// Next returns the next line without its end, valid until the next call. At
// the end of the document err is io.EOF. Of many empty lines behind each other,
// which say no more than one, it returns a few only.
func (l *Lines) Next() ([]byte, error) {
	l.Number++
	l.Cut = 0
	line, err := l.r.ReadSlice('\n')
	l.canSkip, l.printable = max(l.canSkip, 0)-len(line), max(l.printable, 0)-len(line)
	if err == bufio.ErrBufferFull {
		line, err = l.readLong(line)
		l.canSkip, l.printable = -1, -1
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	if len(line) == 1 && line[0] == '\n' {
		l.skipEmpty()
		return nil, nil
	}
	return TrimEOL(line), nil
}

// skipEmpty passes over the empty lines that follow, as far as they are buffered.
func (l *Lines) skipEmpty() {
	more, _ := l.r.Peek(l.r.Buffered()) // no error: it is there
	n := 0
	for n < len(more) && more[n] == '\n' {
		n++
	}
	_, _ = l.r.Discard(n) // no error: it is buffered
	l.Number += n
	l.canSkip, l.printable = max(l.canSkip, 0)-n, max(l.printable, 0)-n
}

// Uninteresting says whether next finds nothing in the line b and cleaning would
// not change it. b is the line that was returned last; what is buffered of the
// lines behind it is searched with it, once.
func (l *Lines) Uninteresting(b []byte, next func([]byte, int) int) bool {
	if l.Cut > 0 {
		return false
	}
	if l.canSkip >= 0 {
		return true
	}
	if l.printable < 0 && !logtext.Printable(b) || next(b, 0) >= 0 {
		return false
	}
	more, _ := l.r.Peek(l.r.Buffered()) // no error: it is there
	if l.printable <= 0 {
		l.printable = logtext.CleanTo(more)
	}
	if l.canSkip = next(more[:l.printable], 0); l.canSkip < 0 {
		l.canSkip = l.printable
	}
	return true
}

// readLong collects a long line and drops what exceeds maxLine.
func (l *Lines) readLong(part []byte) ([]byte, error) {
	l.long = l.long[:0]
	for {
		room := min(len(part), MaxLine-len(l.long))
		l.long = append(l.long, part[:room]...)
		l.Cut += len(part) - room
		var err error
		if part, err = l.r.ReadSlice('\n'); err != bufio.ErrBufferFull {
			room = min(len(part), MaxLine-len(l.long))
			l.Cut += len(part) - room
			return append(l.long, part[:room]...), err
		}
	}
}

func TrimEOL(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// Sized reads a value that the journal export format stores with its length:
// eight bytes little endian, the data, a newline. It keeps at most maxLine.
func (l *Lines) Sized() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(l.r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > 1<<40 {
		return nil, errors.New("journal export: absurd field size")
	}
	data, err := io.ReadAll(io.LimitReader(l.r, int64(min(size, MaxLine))))
	if err == nil && size > MaxLine {
		_, err = io.CopyN(io.Discard, l.r, int64(size-MaxLine))
	}
	if err == nil {
		_, err = l.r.Discard(1)
	}
	return data, err
}

// utf16Reader turns what PowerShell's `>` writes into UTF-8.
type utf16Reader struct {
	r    io.Reader
	big  bool
	rest []byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.rest) < len(p) {
		c, err := u.nextRune()
		if err != nil {
			break
		}
		u.rest = utf8.AppendRune(u.rest, c)
	}
	if len(u.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, u.rest)
	u.rest = append(u.rest[:0], u.rest[n:]...)
	return n, nil
}

func (u *utf16Reader) nextRune() (rune, error) {
	a, err := u.nextUnit()
	if err != nil || !utf16.IsSurrogate(a) {
		return a, err
	}
	b, err := u.nextUnit()
	return utf16.DecodeRune(a, b), err
}

func (u *utf16Reader) nextUnit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.r, b[:]); err != nil {
		return 0, err
	}
	if u.big {
		b[0], b[1] = b[1], b[0]
	}
	return rune(b[0]) | rune(b[1])<<8, nil
}
