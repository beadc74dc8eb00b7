package logtext

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// Clean says whether a line stays as it is when it is read: an entry's text
// then holds nothing that the line does not.
func Clean(line []byte) bool {
	return Printable(line) || isClean(unsafe.String(unsafe.SliceData(line), len(line)))
}

// Printable says whether every byte of b is a printable ASCII character that
// takes part in no escape, so that cleaning b would change nothing.
func Printable(b []byte) bool { return CleanTo(b) == len(b) && bytes.IndexByte(b, '\n') < 0 }

// CleanTo is how far all lines of b are Clean for sure, with or without their
// newlines: where the first byte stands that is neither a newline nor a
// printable ASCII character. A line that goes on behind it may still be clean.
func CleanTo(b []byte) int {
	i := 0
	for i+8 <= len(b) && wordNeedsCleaning(binary.LittleEndian.Uint64(b[i:]))&highBits == 0 {
		i += 8
	}
	for i < len(b) && !needsCleaning(b[i]) {
		i++
	}
	return i
}

// needsCleaning says whether cleaning may change a line that has the byte c.
func needsCleaning(c byte) bool { return c < ' ' && c != '\n' || c >= 0x7f || c == '#' }

const lowBits, highBits = 0x0101010101010101, 0x8080808080808080

// wordNeedsCleaning is needsCleaning for eight bytes at once: the high bit of a
// byte is set for the first that needs it, and perhaps for others. There is one:
// 0x7f, #, or one below a space that is no newline. What carries from byte to
// byte does so only in words that have such a byte.
func wordNeedsCleaning(w uint64) uint64 {
	return w | (w + lowBits) | ((w ^ '#'*lowBits) - lowBits) | ^(w+(0x80-' ')*lowBits)&((w^'\n'*lowBits)+0x7f*lowBits)
}
