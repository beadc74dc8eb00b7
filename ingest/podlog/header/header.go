// Package header reads what a container runtime writes before the text of a line.
//
// Invariant: Reader.Read and Read find the same in every line.
//
// Crash behaviour: nothing is kept.
package header

import (
	"bytes"
	"time"

	"coroner/ingest/document"
)

// Header is what a container runtime writes before the text of a line, as in
// `2026-05-04T10:00:00.123456789Z stdout F `.
type Header struct {
	At     time.Time // zero where the line has none
	Whole  bool      // F: the text ends with the line
	Split  bool      // P: the next line goes on with this one's text
	Output document.Output
	Size   int // where the text begins, set by Reader only; 0 for a line of another shape
}

// Read reads the header of a line.
func Read(line []byte) (h Header) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(stamp) < len("2006-01-02T15:04:05Z") || len(stamp) > len(time.RFC3339Nano) {
		return h
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil || stamp[len("2006-01-02T15")] != ':' || at.Year() < 1970 {
		return h // package time also reads an hour of one digit, document.Feed does not
	}
	h.At = at
	if bytes.HasPrefix(rest, []byte("stdout ")) || bytes.HasPrefix(rest, []byte("stderr ")) {
		tag, _, _ := bytes.Cut(rest[len("stdout "):], []byte(" "))
		tag, _, _ = bytes.Cut(tag, []byte(":"))
		h.Whole, h.Split = string(tag) == "F", string(tag) == "P"
	}
	return h
}

// FirstTime is the time of the first line of a file that begins with head.
func FirstTime(head []byte) time.Time {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return Read(line).At
}

const (
	secondSize = len("2006-01-02T15:04:05")
	tagSize    = len("Z stdout F ")
)

// Reader reads headers. Lines come in the order of their times, many in each
// second, so the second of the line before is remembered.
type Reader struct {
	second [secondSize]byte // as it is written
	at     time.Time        // what it means; zero if nothing was read yet
}

// Read is the function Read. It is fast for lines as containerd writes them on a node whose
// clock is UTC, and for those it also says where the text begins.
func (r *Reader) Read(line []byte) Header {
	n := secondSize + fraction(line)
	if n == secondSize || len(line) < n+tagSize {
		return Read(line)
	}
	h := Header{Size: n + tagSize}
	switch string(line[n:h.Size]) {
	case "Z stdout F ":
		h.Whole = true
	case "Z stderr F ":
		h.Whole, h.Output = true, document.Stderr
	case "Z stdout P ":
		h.Split = true
	case "Z stderr P ":
		h.Split, h.Output = true, document.Stderr
	default:
		return Read(line)
	}
	nanos, ok := nanoseconds(line[secondSize:n])
	if !ok || !r.sameSecond(line) && !r.readSecond(line) {
		return Read(line)
	}
	h.At = r.at.Add(nanos)
	return h
}

// sameSecond reports whether a line was written in the second of the one before.
func (r *Reader) sameSecond(line []byte) bool {
	return !r.at.IsZero() && string(line[:secondSize]) == string(r.second[:])
}

// readSecond reads a line's second. Only one that has a single way to be written
// will do, and only a year whose nanoseconds can be counted.
func (r *Reader) readSecond(line []byte) bool {
	const layout = "2006-01-02T15:04:05"
	at, err := time.Parse(layout, string(line[:secondSize]))
	if err != nil || at.Year() < 1970 || at.Year() > 2261 || at.Format(layout) != string(line[:secondSize]) {
		return false
	}
	copy(r.second[:], line[:secondSize])
	r.at = at
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
