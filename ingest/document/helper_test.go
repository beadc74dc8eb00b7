package document

import (
	"io"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// readAll reads text as a document and splits what comes out of it.
func readAll(t testing.TB, d Document, text string) (entries, marks []ingest.Entry) {
	t.Helper()
	return readFrom(t, d, strings.NewReader(text))
}

func readFrom(t testing.TB, d Document, in io.Reader) (entries, marks []ingest.Entry) {
	t.Helper()
	err := d.Read(in, func(e ingest.Entry) bool {
		if e.Mark != nil {
			marks = append(marks, e)
		} else {
			entries = append(entries, e)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, marks
}

func one(t testing.TB, name, text string) ingest.Entry {
	t.Helper()
	entries, _ := readAll(t, Document{Name: name, Ref: at("2026-06-01T00:00:00Z")}, text)
	if len(entries) != 1 {
		t.Fatalf("%q: %d entries, want 1: %+v", text, len(entries), entries)
	}
	return entries[0]
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// wanted is what a test says about an entry; empty fields are not compared,
// "-" wants an empty one.
type wanted struct {
	line   string
	src    ingest.Source
	trust  ingest.Trust
	at     string
	node   string
	pod    string // namespace/pod/container
	text   string
	fields map[string]string
}

func (w wanted) check(t *testing.T, e ingest.Entry) {
	t.Helper()
	if e.Source != w.src || e.Trust != w.trust {
		t.Errorf("%.90q: source %q trust %d, want %q %d", w.line, e.Source, e.Trust, w.src, w.trust)
	}
	got := ""
	if !e.At.IsZero() {
		got = e.At.UTC().Format(time.RFC3339Nano)
	}
	for _, c := range []struct{ what, got, want string }{
		{"at", got, w.at}, {"node", e.Node, w.node}, {"text", e.Text, w.text},
		{"pod", e.Namespace + "/" + e.Pod + "/" + e.Container, w.pod},
	} {
		if c.want == "-" {
			c.want = ""
		} else if c.want == "" {
			continue
		}
		if c.got != c.want {
			t.Errorf("%.90q: %s = %q, want %q", w.line, c.what, c.got, c.want)
		}
	}
	for k, v := range w.fields {
		if e.Fields[k] != v {
			t.Errorf("%.90q: field %s = %q, want %q", w.line, k, e.Fields[k], v)
		}
	}
}

func checkLines(t *testing.T, name string, tests []wanted) {
	t.Helper()
	for _, w := range tests {
		w.check(t, one(t, name, w.line))
	}
}

// has finds a mark of a kind and a source.
func has(marks []ingest.Entry, kind ingest.MarkKind, src ingest.Source) *ingest.Entry {
	for i := range marks {
		if marks[i].Mark.Kind == kind && marks[i].Source == src {
			return &marks[i]
		}
	}
	return nil
}
