package ingest

import (
	"bytes"
	"encoding/binary"
)

// dull says whether nobody asks for the line b and cleaning would not change
// it. b was the last that was returned; what is read already of the lines after
// it is looked at with it, once.
func (l *lines) dull(b []byte, next func([]byte, int) int) bool {
	if l.cut > 0 {
		return false
	}
	if l.ahead >= 0 {
		return true
	}
	if l.even < 0 && !plain(b) || next(b, 0) >= 0 {
		return false
	}
	if l.scout != nil {
		l.ahead = l.scout.Dull()
		return true
	}
	more, _ := l.r.Peek(l.r.Buffered()) // no error: it is there
	if l.even <= 0 {
		l.even = oddAt(more)
	}
	if l.ahead = next(more[:l.even], 0); l.ahead < 0 {
		l.ahead = l.even
	}
	return true
}

// plain says whether every byte of b is a printable ASCII character that takes
// part in no escape, so that cleaning b would change nothing.
func plain(b []byte) bool { return oddAt(b) == len(b) && bytes.IndexByte(b, '\n') < 0 }

// oddAt is where the first byte of b stands that is neither a newline nor such a
// character; the length of b if there is none.
func oddAt(b []byte) int { return oddFrom(b, oddBlock(b)) }

func oddFrom(b []byte, i int) int {
	for i < len(b) && !oddByte(b[i]) {
		i++
	}
	return i
}

func oddByte(c byte) bool { return c < ' ' && c != '\n' || c >= 0x7f || c == '#' }

// oddWords is how far b is not odd, up to seven bytes before the first that is or
// before its end.
func oddWords(b []byte) int {
	i := 0
	for ; i+32 <= len(b); i += 32 {
		c := b[i : i+32 : i+32]
		w, x := odd(binary.LittleEndian.Uint64(c)), odd(binary.LittleEndian.Uint64(c[8:]))
		y, z := odd(binary.LittleEndian.Uint64(c[16:])), odd(binary.LittleEndian.Uint64(c[24:]))
		if (w|x|y|z)&tops != 0 {
			break
		}
	}
	for i+8 <= len(b) && odd(binary.LittleEndian.Uint64(b[i:]))&tops == 0 {
		i += 8
	}
	return i
}

const ones, tops = 0x0101010101010101, 0x8080808080808080

// odd has a top bit, perhaps not only its own, for every byte of w that is odd: one
// that has its own, 0x7f, #, or one below a space that is no newline. What carries
// from byte to byte does so only in words that have an odd one.
func odd(w uint64) uint64 {
	return w | (w + ones) | ((w ^ '#'*ones) - ones) | ^(w+(0x80-' ')*ones)&((w^'\n'*ones)+0x7f*ones)
}
