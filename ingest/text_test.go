package ingest

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"tab\there":                "tab\there",
		"√ ünï":                    "√ ünï",
		"\x1b[1;31mred\x1b[0m":     "red",
		"\x1b]8;;http://x\x07link": "link",
		"#033[31mred#033[0m":       "red",
		"é#033[31mred":             "éred",
		"#0334":                    "#0334",
		"a\x00b\x07c\x7f":          "abc",
		"a\nb\r\nc":                "a b  c",
		"\xff\xfea":                "\uFFFD\uFFFDa",
		"\ufeffa\u202eb":           "ab",
		"\u0085x\u2028y":           " x y",
		"cut \x1b[3":               "cut ",
		"\x1b":                     "",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLongLines(t *testing.T) {
	doc := strings.Repeat("é", maxLine) + "\nshort\n"
	entries, _ := readAll(t, Document{}, doc)
	if len(entries) != 2 || entries[1].Text != "short" || entries[1].Line != 2 {
		t.Fatalf("%d entries", len(entries))
	}
	e := entries[0]
	if len(e.Text) > MaxText || !utf8.ValidString(e.Text) || e.Cut < maxLine || len(e.Text)+e.Cut < 2*maxLine-8 || len(e.Text)+e.Cut > 2*maxLine+8 {
		t.Errorf("text %d, cut %d", len(e.Text), e.Cut)
	}
}

func TestUTF16(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune("√ Connected to GitHub 😀\r\nsecond\r\n")) {
		doc.WriteByte(byte(u))
		doc.WriteByte(byte(u >> 8))
	}
	entries, _ := readAll(t, Document{}, doc.String())
	if len(entries) != 2 || entries[0].Source != Runner || entries[0].Text != "√ Connected to GitHub 😀" {
		t.Errorf("%+v", entries)
	}
}

func TestReadErrors(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("one\ntwo\n"), closed{})
	n := 0
	if err := (Document{}).Read(broken, func(Entry) bool { n++; return true }); err != io.ErrClosedPipe || n != 2 {
		t.Errorf("error %v after %d entries", err, n)
	}
	n = 0
	err := Document{}.Read(strings.NewReader("one\ntwo\nthree\n"), func(Entry) bool { n++; return n < 2 })
	if err != nil || n != 2 {
		t.Errorf("stopped: %v after %d", err, n)
	}
}

type closed struct{}

func (closed) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestScanObject(t *testing.T) {
	o, _ := scanObject([]byte(` {"a":"x\"y", "b" : [1,"]"], "c":{"d":"}"},"e":-1.5,"f":null,"g":"` + `\u00e9\ud83d\ude00"} rest`))
	want := []string{`a=x"y`, "b=\x01]", `c={"d":"}"}`, "e=-1.5", "f=", "g=é😀"}
	for _, w := range want {
		k, v, ok := o.next()
		if got := string(k) + "=" + v.text(); !ok || got != w && w[0] != 'b' {
			t.Errorf("%q, want %q", got, w)
		}
	}
	if _, _, ok := o.next(); ok || o.torn || string(o.b[o.i:]) != " rest" {
		t.Errorf("end: torn %v rest %q", o.torn, o.b[o.i:])
	}
	for _, s := range []string{`{"a`, `{"a"`, `{"a":`, `{"a":"b`, `{"a":{"b"`, `{"a":1`, `{`, `{"a":1,`} {
		o, _ := scanObject([]byte(s))
		for {
			if _, _, ok := o.next(); !ok {
				break
			}
		}
		if !o.torn {
			t.Errorf("%q is not torn", s)
		}
	}
}

// TestWrapped: lines that a mail program broke become one again.
func TestWrapped(t *testing.T) {
	doc := "May 04 10:00:00 node-a kernel: something was killed by somebody,\nwho had reasons of its own to do so and went on to explain them\nat length\nNext line\n" +
		"> ERROR: Job failed: prepare environment: waiting for pod: no\n> such image\nshort\nmay not join\n"
	entries, _ := readAll(t, Document{}, doc)
	want := []string{
		"something was killed by somebody, who had reasons of its own to do so and went on to explain them at length",
		"Next line", "ERROR: Job failed: prepare environment: waiting for pod: no such image", "short", "may not join",
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	for i, e := range entries {
		if e.Text != want[i] {
			t.Errorf("%q, want %q", e.Text, want[i])
		}
	}
}

// TestHostileLines: text made to be expensive is not.
func TestHostileLines(t *testing.T) {
	for _, unit := range []string{
		"a={ ", "x a=b ", "\"terminated\":{\"a\":", "terminated:map[", "a  b  ", "{", "[", "{\"a\":[", "\\\"", "\x1b[", "#033[", "Warning ", "k: v: ",
		"{\"MESSAGE\":\"", "}\n", "{\n\"line\": {\n}\n", "Conditions:\n  a  True  ", "> ", "[pod/a/b] ", "a=\"", "2026-05-04T10:00:00Z ", "<6>", "__CURSOR=s=1\n", "May 04 10:00:00 ",
	} {
		doc := strings.Repeat(unit, (2<<20)/len(unit))
		n := 0
		err := Document{}.Read(strings.NewReader(doc), func(e Entry) bool {
			if n++; n%1000 == 1 {
				Message(&e, nil)
			}
			return true
		})
		if err != nil {
			t.Errorf("%q: %v", unit, err)
		}
	}
}
