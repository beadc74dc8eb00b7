package header

import (
	"strings"
	"testing"
)

const stamped = "2026-05-04T10:00:00.123456789Z std"

var lineSeeds = []string{
	stamped + "out F hello", stamped + "out P half", stamped + "err P:x y", stamped + "out P", stamped + "out",
	"2026-05-04T10:00:00+02:00 stdout F x",
	"2026-05-04T10:00:00Z  stdout F x", "2026-05-04 10:00:00Z stdout P x", "", " ", "{",
	`{"log":"x\n","stream":"stdout","time":"2026-05-04T10:00:00.5Z"}`,
	stamped + "out F 2026-05-04T10:00:00Z stdout P x", "\xff\x00\r", "9999-99-99T99:99:99Z stdout P x",
}

// FuzzReader: what the reader remembers of the line before makes no difference.
func FuzzReader(f *testing.F) {
	for _, s := range lineSeeds {
		f.Add([]byte(s), []byte(stamped+"out F "))
	}
	nothing := strings.Repeat("\x00", secondSize) + ".123456789Z stdout " // a reader of no line remembers zeros
	f.Add([]byte(nothing+"F text"), []byte(stamped+"out F "))
	f.Add([]byte(nothing+"P text"), []byte(stamped+"out F "))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var r Reader
		for _, line := range [][]byte{a, b, a} {
			sameHeader(t, line, r.Read(line))
		}
	})
}

// sameHeader: a header is read as Read reads it.
func sameHeader(t *testing.T, line []byte, got Header) {
	t.Helper()
	want := Read(line)
	if !got.At.Equal(want.At) || got.Whole != want.Whole || got.Split != want.Split {
		t.Errorf("%q: %+v, want %+v", line, got, want)
	}
}

// A header with any byte changed is read as Read reads it.
func TestHeaderByteByByte(t *testing.T) {
	var r Reader
	good := "2026-05-04T10:00:07.123456789Z stderr F text"
	size := len(good) - len("text")
	for i := range size {
		for b := range 256 {
			r.Read([]byte(good))
			line := []byte(good)
			line[i] = byte(b)
			got := r.Read(line)
			sameHeader(t, line, got)
			if string(line) == good && got.Size != size {
				t.Errorf("%q: %+v", line, got)
			}
		}
	}
}
