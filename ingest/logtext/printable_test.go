package logtext

import (
	"bytes"
	"strings"
	"testing"
)

// Each byte that needs cleaning is seen wherever it stands, and no other is.
func TestCleanTo(t *testing.T) {
	for c := range 256 {
		want := c < ' ' && c != '\n' || c >= 0x7f || c == '#'
		for size := range 75 {
			b := bytes.Repeat([]byte{'a', '\n', '~', ' '}, 20)[:size+1]
			for at := range b {
				old := b[at]
				b[at] = byte(c)
				place := at
				if !want {
					place = len(b)
				}
				if got := CleanTo(b); got != place {
					t.Fatalf("%#x at %d of %d: %d", c, at, len(b), got)
				}
				b[at] = old
			}
		}
	}
}

// printable agrees with clean.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "#033[1m", "\x1b[1mred", "täglich", "\x7f", "a\tb",
		strings.Repeat("x", 31) + "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Printable([]byte(s)) && Cleaned(s) != s {
			t.Fatalf("%q is not printable", s)
		}
		cleaned := strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c >= 0x7f || c == '#' })
		if !cleaned && !Printable([]byte(s)) {
			t.Fatalf("%q is printable", s)
		}
	})
}

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
		if got := Cleaned(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestScanObject(t *testing.T) {
	o, _ := ScanObject(
		[]byte(` {"a":"x\"y", "b" : [1,"]"], "c":{"d":"}"},"e":-1.5,"f":null,"g":"` + `\u00e9\ud83d\ude00"} rest`),
	)
	want := []string{`a=x"y`, "b=\x01]", `c={"d":"}"}`, "e=-1.5", "f=", "g=é😀"}
	for _, w := range want {
		k, v, ok := o.Next()
		if got := string(k) + "=" + v.Text(); !ok || got != w && w[0] != 'b' {
			t.Errorf("%q, want %q", got, w)
		}
	}
	if _, _, ok := o.Next(); ok || o.Torn || string(o.b[o.i:]) != " rest" {
		t.Errorf("end: torn %v rest %q", o.Torn, o.b[o.i:])
	}
	for _, s := range []string{`{"a`, `{"a"`, `{"a":`, `{"a":"b`, `{"a":{"b"`, `{"a":1`, `{`, `{"a":1,`} {
		o, _ := ScanObject([]byte(s))
		for {
			if _, _, ok := o.Next(); !ok {
				break
			}
		}
		if !o.Torn {
			t.Errorf("%q is not torn", s)
		}
	}
}
