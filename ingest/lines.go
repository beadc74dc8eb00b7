package ingest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLine is the longest line that is kept while it is being read. journald
// splits at 48 KiB and containerd at 16 KiB; a byte array in journal JSON takes
// four bytes for one.
const maxLine = 1 << 20

// lines cuts a document into lines in bounded memory.
type lines struct {
	r    *bufio.Reader
	long []byte // a line that did not fit r
	n    int    // number of the line last returned
	cut  int    // bytes of that line beyond maxLine

	canSkip   int // bytes behind that line that were searched and are uninteresting; below 0: the line itself was not
	printable int // the same of those that need no cleaning
}

// lineBuffer is twice what the readers below hold: reading goes past them.
const lineBuffer = 2 * headSize

func newLines(r io.Reader) *lines {
	l := &lines{r: bufio.NewReaderSize(r, lineBuffer)}
	if bom, _ := l.r.Peek(2); len(bom) == 2 && (bom[0]^bom[1]) == 0xFE^0xFF && bom[0]|bom[1] == 0xFF {
		l.r = bufio.NewReaderSize(&utf16Reader{r: l.r, big: bom[0] == 0xFE}, lineBuffer)
	}
	return l
}

// next returns the next line without its end, valid until the next call. At
// the end of the document err is io.EOF.
func (l *lines) next() ([]byte, error) {
	l.n++
	l.cut = 0
	line, err := l.r.ReadSlice('\n')
	l.canSkip, l.printable = max(l.canSkip, 0)-len(line), max(l.printable, 0)-len(line)
	if err == bufio.ErrBufferFull {
		line, err = l.spill(line)
		l.canSkip, l.printable = -1, -1
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	return trimEOL(line), nil
}

// uninteresting says whether next finds nothing in the line b and cleaning would
// not change it. b is the line that was returned last; what is buffered of the
// lines behind it is searched with it, once.
func (l *lines) uninteresting(b []byte, next func([]byte, int) int) bool {
	if l.cut > 0 {
		return false
	}
	if l.canSkip >= 0 {
		return true
	}
	if l.printable < 0 && !printable(b) || next(b, 0) >= 0 {
		return false
	}
	more, _ := l.r.Peek(l.r.Buffered()) // no error: it is there
	if l.printable <= 0 {
		l.printable = CleanTo(more)
	}
	if l.canSkip = next(more[:l.printable], 0); l.canSkip < 0 {
		l.canSkip = l.printable
	}
	return true
}

// spill collects a long line and drops what exceeds maxLine.
func (l *lines) spill(part []byte) ([]byte, error) {
	l.long = l.long[:0]
	for {
		room := min(len(part), maxLine-len(l.long))
		l.long = append(l.long, part[:room]...)
		l.cut += len(part) - room
		var err error
		if part, err = l.r.ReadSlice('\n'); err != bufio.ErrBufferFull {
			room = min(len(part), maxLine-len(l.long))
			l.cut += len(part) - room
			return append(l.long, part[:room]...), err
		}
	}
}

func trimEOL(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// sized reads a value that the journal export format stores with its length:
// eight bytes little endian, the data, a newline. It keeps at most maxLine.
func (l *lines) sized() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(l.r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > 1<<40 {
		return nil, errors.New("journal export: absurd field size")
	}
	data, err := io.ReadAll(io.LimitReader(l.r, int64(min(size, maxLine))))
	if err == nil && size > maxLine {
		_, err = io.CopyN(io.Discard, l.r, int64(size-maxLine))
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
		c, err := u.rune()
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

func (u *utf16Reader) rune() (rune, error) {
	a, err := u.unit()
	if err != nil || !utf16.IsSurrogate(a) {
		return a, err
	}
	b, err := u.unit()
	return utf16.DecodeRune(a, b), err
}

func (u *utf16Reader) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.r, b[:]); err != nil {
		return 0, err
	}
	if u.big {
		b[0], b[1] = b[1], b[0]
	}
	return rune(b[0]) | rune(b[1])<<8, nil
}
