package document

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

func TestLongLines(t *testing.T) {
	doc := strings.Repeat("é", prefilter.MaxLine) + "\nshort\n"
	entries, _ := readAll(t, Document{}, doc)
	if len(entries) != 2 || entries[1].Text != "short" || entries[1].Line != 2 {
		t.Fatalf("%d entries", len(entries))
	}
	e := entries[0]
	if len(e.Text) > ingest.MaxText || !utf8.ValidString(e.Text) || e.Cut < prefilter.MaxLine ||
		len(e.Text)+e.Cut < 2*prefilter.MaxLine-8 ||
		len(e.Text)+e.Cut > 2*prefilter.MaxLine+8 {
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
	if len(entries) != 2 || entries[0].Source != ingest.Runner || entries[0].Text != "√ Connected to GitHub 😀" {
		t.Errorf("%+v", entries)
	}
}

func TestReadErrors(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("one\ntwo\n"), closed{})
	n := 0
	if err := (Document{}).Read(broken, func(ingest.Entry) bool { n++; return true }); err != io.ErrClosedPipe ||
		n != 2 {
		t.Errorf("error %v after %d entries", err, n)
	}
	n = 0
	err := Document{}.Read(strings.NewReader("one\ntwo\nthree\n"), func(ingest.Entry) bool { n++; return n < 2 })
	if err != nil || n != 2 {
		t.Errorf("stopped: %v after %d", err, n)
	}
}

type closed struct{}

func (closed) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestWrapped: lines that a mail program broke become one again.
func TestWrapped(t *testing.T) {
	doc := "May 04 10:00:00 node-a kernel: something was killed by somebody,\n" +
		"who had reasons of its own to do so and went on to explain them\nat length\nNext line\n" +
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
		"a={ ", "x a=b ", "\"terminated\":{\"a\":", "terminated:map[", "a  b  ", "{", "[", "{\"a\":[", "\\\"", "\x1b[",
		"#033[", "Warning ", "k: v: ",
		"{\"MESSAGE\":\"", "}\n", "{\n\"line\": {\n}\n", "Conditions:\n  a  True  ", "> ", "[pod/a/b] ", "a=\"",
		"2026-05-04T10:00:00Z ", "<6>", "__CURSOR=s=1\n", "May 04 10:00:00 ",
	} {
		doc := strings.Repeat(unit, (2<<20)/len(unit))
		n := 0
		err := Document{}.Read(strings.NewReader(doc), func(e ingest.Entry) bool {
			if n++; n%1000 == 1 {
				logtext.Message(&e, nil)
			}
			return true
		})
		if err != nil {
			t.Errorf("%q: %v", unit, err)
		}
	}
}

// A job's page on GitHub has a heading that is called like a part of a pod's text. Describe has the first
// annotation on the line of the title.
func TestHeadingOfAJobsPage(t *testing.T) {
	const lost = "The self-hosted runner: wharf-1 lost communication with the server."
	const described = "Name:  wharf-1\nNamespace:  ci\nAnnotations:  a: b\n              "
	for text, want := range map[string]bool{
		"Annotations:\n  Error: " + lost + "\n":               true,
		described + "Error: " + lost + "\nStatus:  Running\n": false,
	} {
		found := false
		for _, e := range read(t, text) {
			found = found || strings.Contains(e.Text, lost)
		}
		if found != want {
			t.Errorf("%q: read as a line of its own: %v", text, found)
		}
	}
}
