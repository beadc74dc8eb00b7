package podlog

import (
	"bytes"
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
	size   int // where the text begins; 0 where that takes a closer look
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
)

// clock reads headers. Lines come in the order of their times, many in each
// second: what the last one's second was need not be found out again.
type clock struct {
	second [secondSize]byte // as it is written
	at     time.Time
}

// header is readHeader. It is quick with lines as containerd writes them on a node
// whose clock is UTC, and of whole ones it also says where the text begins.
func (c *clock) header(line []byte) header {
	n := secondSize + 10 // nine times in ten, the fraction has nine digits
	if len(line) < n+tagSize || line[n] != 'Z' {
		n = secondSize + fraction(line)
	}
	if n == secondSize || len(line) < n+tagSize {
		return readHeader(line)
	}
	h := header{whole: true, size: n + tagSize}
	switch string(line[n:h.size]) {
	case "Z stdout F ":
	case "Z stderr F ":
		h.output = ingest.Stderr
	case "Z stdout P ", "Z stderr P ":
		h = header{split: true}
	default:
		return readHeader(line)
	}
	nanos, ok := nanoseconds(line[secondSize:n])
	if !ok || string(line[:secondSize]) != string(c.second[:]) && !c.read(line) {
		return readHeader(line)
	}
	h.at = c.at.Add(nanos)
	return h
}

// read takes a line's second, if it is one that every reader understands alike.
func (c *clock) read(line []byte) bool {
	at, err := time.Parse("2006-01-02T15:04:05", string(line[:secondSize]))
	if err != nil || at.Year() < 1970 || at.Format("2006-01-02T15:04:05") != string(line[:secondSize]) {
		return false
	}
	copy(c.second[:], line)
	c.at = at
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
