package podlog

import (
	"bytes"
	"encoding/binary"
	"time"

	"coroner/ingest"
)

// header is what a container runtime writes before the text of a line, as in
// `2026-05-04T10:00:00.123456789Z stdout F `.
type header struct {
	at     time.Time // zero where the line has none
	whole  bool      // F: the text ends with the line
	split  bool      // P: the next line goes on with this one's text
	output ingest.Output
	size   int // where the text begins, of these two; 0 where that takes a closer look
}

func readHeader(line []byte) (h header) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(stamp) < len("2006-01-02T15:04:05Z") || len(stamp) > len(time.RFC3339Nano) {
		return h
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return h
	}
	h.at = at
	if bytes.HasPrefix(rest, []byte("stdout ")) || bytes.HasPrefix(rest, []byte("stderr ")) {
		tag, _, _ := bytes.Cut(rest[len("stdout "):], []byte(" "))
		tag, _, _ = bytes.Cut(tag, []byte(":"))
		h.whole, h.split = string(tag) == "F", string(tag) == "P"
	}
	return h
}

// firstTime is the time of the first line of a file that begins with head.
func firstTime(head []byte) time.Time {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return readHeader(line).at
}

const (
	secondSize = len("2006-01-02T15:04:05")
	tagSize    = len("Z stdout F ")
	usualSize  = secondSize + len(".123456789") + tagSize // nine times in ten
)

// clock reads headers. Lines come in the order of their times, many in each
// second: what the last one's second was need not be found out again.
type clock struct {
	second [secondSize + 1]byte // as it is written, with the point behind it
	at     time.Time
	unix   int64 // at, in nanoseconds since 1970
}

// header is readHeader. It is quick with lines as containerd writes them on a node
// whose clock is UTC, and of those it also says where the text begins.
func (c *clock) header(line []byte) header {
	n := secondSize + fraction(line)
	if n == secondSize || len(line) < n+tagSize {
		return readHeader(line)
	}
	h := header{size: n + tagSize}
	switch string(line[n:h.size]) {
	case "Z stdout F ":
		h.whole = true
	case "Z stderr F ":
		h.whole, h.output = true, ingest.Stderr
	case "Z stdout P ":
		h.split = true
	case "Z stderr P ":
		h.split, h.output = true, ingest.Stderr
	default:
		return readHeader(line)
	}
	nanos, ok := nanoseconds(line[secondSize:n])
	if !ok || !c.same(line) && !c.read(line) {
		return readHeader(line)
	}
	h.at = c.at.Add(nanos)
	return h
}

// whole is header for a whole line: when it was written, in nanoseconds since 1970,
// and where its text begins; 0 where that takes a closer look.
func (c *clock) whole(line []byte) (at int64, size int) {
	if at, ok := c.usual(line); ok {
		return at, usualSize
	}
	if h := c.header(line); h.whole && h.size > 0 {
		return h.at.UnixNano(), h.size
	}
	return 0, 0
}

// usual is whole for a line of the second of the one before, with nine digits. It
// looks at eight bytes at a time.
func (c *clock) usual(line []byte) (at int64, ok bool) {
	if len(line) < usualSize {
		return 0, false
	}
	b, s, little := (*[usualSize]byte)(line), &c.second, binary.LittleEndian
	if little.Uint64(b[:]) != little.Uint64(s[:]) || little.Uint64(b[8:]) != little.Uint64(s[8:]) ||
		little.Uint32(b[16:]) != little.Uint32(s[16:]) || b[secondSize] != '.' {
		return 0, false
	}
	if tag := little.Uint64(b[29:]); tag != zStdout && tag != zStderr || little.Uint32(b[36:])>>8 != spaceF {
		return 0, false
	}
	nanos, ok := eightDigits(little.Uint64(b[20:]))
	last := b[28] - '0'
	return c.unix + int64(10*nanos) + int64(last), ok && last <= 9
}

// The tags, as they are read.
var (
	zStdout = binary.LittleEndian.Uint64([]byte("Z stdout"))
	zStderr = binary.LittleEndian.Uint64([]byte("Z stderr"))
	spaceF  = binary.LittleEndian.Uint32([]byte(" F \x00"))
)

// eightDigits is the number that eight bytes of text are, the first being the
// lowest of v: digits become pairs, pairs fours, and fours the number.
func eightDigits(v uint64) (n uint64, ok bool) {
	const sixes, high, zeros = 0x0606060606060606, 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	ok = v&high == zeros && (v+sixes)&high == zeros
	v -= zeros
	v = 10*v + v>>8
	const pair = 0x000000ff000000ff
	return (v&pair*(100+1000000<<32) + v>>16&pair*(1+10000<<32)) >> 32, ok
}

// same says whether a line was written in the second of the one before. The point
// says that there was one.
func (c *clock) same(line []byte) bool {
	return c.second[secondSize] == '.' && string(line[:secondSize]) == string(c.second[:secondSize])
}

// read takes a line's second, if it is one that every reader understands alike and
// that its nanoseconds can be counted in.
func (c *clock) read(line []byte) bool {
	at, err := time.Parse("2006-01-02T15:04:05", string(line[:secondSize]))
	if err != nil || at.Year() < 1970 || at.Year() > 2261 || at.Format("2006-01-02T15:04:05") != string(line[:secondSize]) {
		return false
	}
	copy(c.second[:], line[:secondSize])
	c.second[secondSize] = '.'
	c.at, c.unix = at, at.UnixNano()
	return true
}

// fraction is how long the fraction of a second is, with its point; 0 if there
// is none that can be a number of nanoseconds.
func fraction(line []byte) int {
	n := secondSize
	for n < len(line) && line[n] != 'Z' && n <= secondSize+10 {
		n++
	}
	if n -= secondSize; n < 2 || n > 10 {
		return 0
	}
	return n
}

// nanoseconds reads a fraction with its point.
func nanoseconds(b []byte) (time.Duration, bool) {
	n, bad := uint32(0), b[0]^'.'
	for _, c := range b[1:] {
		if c -= '0'; c > 9 {
			bad = 1
		}
		n = 10*n + uint32(c)
	}
	for range 10 - len(b) {
		n *= 10
	}
	return time.Duration(n), bad == 0
}
