package ingest

import (
	"bytes"
	"io"
)

// buffer is what lines are cut from, as a bufio.Reader is one.
type buffer interface {
	io.Reader
	Buffered() int
	Peek(n int) ([]byte, error)
	Discard(n int) (int, error)
	ReadSlice(end byte) ([]byte, error)
}

// Scouted is a document that somebody goes through with Points before it is
// read, so that its lines need not be looked at once more. It is read in place.
type Scouted interface {
	buffer

	// Dull returns how many of the bytes that are Buffered come before the first
	// point in them. It is asked at the begin of a line, and may end in one.
	Dull() int
}

// Points appends where in b, which holds whole lines, stands what Document.Next
// finds or a byte that cleaning may change. Of a line the first such place
// counts: lines without one are the dull ones.
func Points(b []byte, next func(b []byte, from int) int, points []int) []int {
	for from := 0; from < len(b); {
		odd := from + oddAt(b[from:])
		for at := next(b[:odd], from); at >= 0; at = next(b[:odd], from) {
			points = append(points, at)
			if from = lineAfter(b, at); from >= odd {
				break
			}
		}
		if odd == len(b) {
			break
		}
		if from <= odd {
			points = append(points, odd)
			from = lineAfter(b, odd)
		}
	}
	return points
}

// lineAfter is where the line behind the one at i begins.
func lineAfter(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(b)
}
