package prefilter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// all reads a document's lines, each with how much of it was cut.
func all(t *testing.T, r io.Reader) (lines []string, cut int) {
	t.Helper()
	l := NewLines(r)
	for {
		b, err := l.Next()
		if err == io.EOF {
			return lines, cut
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, string(b)); l.Number != len(lines) {
			t.Fatalf("line %d has the number %d", len(lines), l.Number)
		}
		cut += l.Cut
	}
}

// Empty lines say no more than one, and lines keep their numbers behind any number of them.
func TestManyEmptyLines(t *testing.T) {
	const many = 1 << 20
	l, calls := NewLines(strings.NewReader("a\n"+strings.Repeat("\n", many)+"b\n")), 0
	last := ""
	for ; ; calls++ {
		b, err := l.Next()
		if err == io.EOF {
			break
		}
		if len(b) > 0 {
			last = string(b)
		}
	}
	if last != "b" || l.Number-1 != many+2 || calls > 100 {
		t.Errorf("the last line is %q, number %d, after %d calls", last, l.Number-1, calls)
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "a\n": "a", "a\nb": "a|b", "a\r\nb\r\n": "a|b", "a\n\nb": "a||b", "\n": "",
	} {
		if got, _ := all(t, strings.NewReader(text)); strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A line of any length takes bounded memory, what was cut is counted, and the next line
// begins where it does.
func TestALongLineIsCut(t *testing.T) {
	for _, size := range []int{BufferSize - 1, BufferSize, BufferSize + 1, MaxLine, MaxLine + 1, 2*MaxLine + 77} {
		got, cut := all(t, strings.NewReader("before\n"+strings.Repeat("x", size)+"\nafter\n"))
		if len(got) != 3 || got[0] != "before" || got[2] != "after" {
			t.Fatalf("%d: %d lines", size, len(got))
		}
		// the line's end is one of the bytes
		if whole := len(got[1]) + cut; len(got[1]) > MaxLine || whole < size || whole > size+1 {
			t.Errorf("a line of %d bytes: %d kept, %d cut", size, len(got[1]), cut)
		}
	}
}

// What PowerShell's > writes is read as what it means, in either order of bytes; a text
// that only begins like it is not.
func TestUTF16(t *testing.T) {
	const text = "one é\ntwo 😀\n"
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		doc := order.AppendUint16(nil, 0xFEFF)
		for _, unit := range utf16.Encode([]rune(text)) {
			doc = order.AppendUint16(doc, unit)
		}
		if got, _ := all(t, bytes.NewReader(doc)); strings.TrimPrefix(strings.Join(got, "\n")+"\n", "\ufeff") != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, _ := all(t, strings.NewReader("\xfe\xfe a\n")); len(got) != 1 || got[0] != "\xfe\xfe a" {
		t.Errorf("no mark: %q", got)
	}
}

// A line is uninteresting only where nothing that is searched for is in it and cleaning
// would leave it as it is; which lines are does not depend on what was buffered with them.
func TestUninteresting(t *testing.T) {
	next := func(b []byte, from int) int {
		if i := bytes.Index(b[from:], []byte("Killed")); i >= 0 {
			return from + i
		}
		return -1
	}
	lines := []string{
		"nothing", "Killed process 1", "nothing more", "\x1b[31mred\x1b[0m", "plain", "a Killed",
		strings.Repeat("y", BufferSize/3), "end", strings.Repeat("z", MaxLine+1), "after the cut",
	}
	for _, size := range []int{1 << 20, 7} { // bytes that one read gives
		l := NewLines(&limited{strings.NewReader(strings.Join(lines, "\n") + "\n"), size})
		for i := range lines {
			b, err := l.Next()
			if err != nil {
				t.Fatal(err)
			}
			wanted := strings.Contains(lines[i], "Killed") || strings.Contains(lines[i], "\x1b") ||
				len(lines[i]) > MaxLine
			if got := l.Uninteresting(b, next); got && wanted {
				t.Errorf("%.20q is uninteresting, %d bytes a read", lines[i], size)
			} else if !got && !wanted {
				t.Errorf("%.20q is not uninteresting, %d bytes a read", lines[i], size)
			}
		}
	}
}

// limited gives a few bytes at a time.
type limited struct {
	r io.Reader
	n int
}

func (l *limited) Read(p []byte) (int, error) { return l.r.Read(p[:min(len(p), l.n)]) }

// A value of the export format has its length in front: any bytes, and what stands behind
// it is read from its beginning. A length that nobody means is an error, not an allocation.
func TestSized(t *testing.T) {
	value := func(size uint64, data string) string {
		return string(binary.LittleEndian.AppendUint64(nil, size)) + data
	}
	for _, data := range []string{"", "one", "two\nlines\n", strings.Repeat("m", MaxLine),
		strings.Repeat("l", MaxLine+9)} {
		l := NewLines(strings.NewReader(value(uint64(len(data)), data) + "\nNEXT=1\n"))
		got, err := l.Sized()
		if err != nil || string(got) != data[:min(len(data), MaxLine)] {
			t.Fatalf("%d bytes: %d, %v", len(data), len(got), err)
		}
		if b, err := l.Next(); err != nil || string(b) != "NEXT=1" {
			t.Errorf("behind %d bytes: %q, %v", len(data), b, err)
		}
	}
	for name, doc := range map[string]string{"torn": value(9, "four"), "no length": "\x01\x00",
		"absurd": value(1<<60, "x")} {
		if got, err := NewLines(strings.NewReader(doc)).Sized(); err == nil {
			t.Errorf("%s: %q without an error", name, got)
		}
	}
	if _, err := NewLines(strings.NewReader("")).Next(); !errors.Is(err, io.EOF) {
		t.Errorf("an empty document ends with %v", err)
	}
}
