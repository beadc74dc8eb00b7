package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

func TestMixed(t *testing.T) {
	const (
		kernel  = "May 04 10:00:00 n kernel: oom\n"
		journal = `{"__CURSOR":"s=1","_BOOT_ID":"b","_TRANSPORT":"kernel","MESSAGE":"oom"}` + "\n"
		runner  = "√ Connected to GitHub\n"
		plain   = "npm install\n"
		row     = "pool-runner-a   0/1   OOMKilled   0   15m\n"
		zap     = "2026-05-04T10:00:00Z\tINFO\tEphemeralRunner\tgone\n"
	)
	for _, tt := range []struct {
		what, name, doc string
		mixed           bool
	}{
		{"a journal", "j", journal + journal, false},
		{"a journal as text", "j", "-- Logs begin at x --\n" + kernel + "May 04 10:00:00 n sshd[1]: x\n\n" + kernel,
			false},
		{"runner first", "x", runner + kernel, true},
		{"runner last", "x", kernel + runner, true},
		{"job output that holds a journal line", "x", plain + journal, true},
		{"job output around dmesg", "x", "[   1.500000] a\n" + plain, true},
		{"a prompt around dmesg", "x", "$ dmesg\n[   1.500000] a\n---\n", false},
		{"table and runner", "x", row + runner, true},
		{"table and words", "x", row + plain, false},
		{"controller log", "controller.log", zap + plain, false},
		{"controller log with runner lines", "controller.log", zap + runner, true},
		{"other pods by prefix", "x", "[pod/arc-controller-1/manager] " + zap + "[pod/pool-runner-a/runner] " + runner,
			false},
		{"prefix that a runner may have printed", "x", "[pod/arc-controller-1/manager] " + zap + runner, true},
		{"a pod's own log", runPath, kernel + runner + journal, false},
		{"runner alone", "x", runner + plain, false},
		{"job log", "x", "2026-05-04T10:00:00.1234567Z hi\n" + kernel, true},
	} {
		entries, marks := readAll(t, Document{Name: tt.name, Ref: at("2026-06-01T00:00:00Z")}, tt.doc)
		if got := has(marks, ingest.Mixed, ingest.Unknown) != nil; got != tt.mixed {
			t.Errorf("%s: mixed %v, want %v; %+v", tt.what, got, tt.mixed, entries)
		}
	}
}

func TestProgramDocument(t *testing.T) {
	doc := "2026-05-04T10:00:00Z\tERROR\tEphemeralRunner\tno\ngithub.com/a/b.c\n\t/x/y.go:1\n" +
		"2026-05-04T10:00:05Z\tINFO\tsetup\tyes\n"
	entries, marks := readAll(t, Document{Name: "arc/controller.log"}, doc)
	for _, e := range entries {
		if e.Source != ingest.Controller || e.Trust != ingest.Attested {
			t.Errorf("%q: %q %d", e.Text, e.Source, e.Trust)
		}
	}
	if c := has(marks, ingest.Covered, ingest.Controller); c == nil || !c.Mark.To.Equal(at("2026-05-04T10:00:05Z")) {
		t.Errorf("%+v", marks)
	}
	// a name alone proves nothing
	for _, text := range []string{"oom-kill:constraint=X", "Internal error occurred"} {
		if e := one(t, "17-controller-oom.log", text); e.Source != ingest.Unknown {
			t.Errorf("%q: source %q", text, e.Source)
		}
	}
}

func TestSample(t *testing.T) {
	h := Sample([]byte("May 04 12:00:00 n containerd[1]: time=\"2026-05-04T10:00:00Z\" level=info msg=x\n"))
	if !h.Latest.Equal(at("2026-05-04T10:00:00Z")) || h.Zone == nil || h.Binary || h.Objects {
		t.Errorf("%+v", h)
	}
	if _, off := at("2026-05-04T10:00:00Z").In(h.Zone).Zone(); off != 7200 {
		t.Errorf("offset %d", off)
	}
	for text, want := range map[string]Hints{
		"":                                  {},
		"hello":                             {},
		"\x1f\x8b\x08\x00":                  {Binary: true},
		"LPKSHHRH\x00\x00":                  {Binary: true},
		"a\x00\x00\x00\x00\x00b\n":          {},
		`{"apiVersion":"v1","kind":"Pod"}`:  {Objects: true},
		"apiVersion: v1\nkind: Pod\n":       {Objects: true},
		"- apiVersion: v1\n  kind: Pod\n":   {},
		`{"_BOOT_ID":"x","MESSAGE":"kind"}`: {},
	} {
		h := Sample([]byte(text))
		if h.Binary != want.Binary || h.Objects != want.Objects {
			t.Errorf("%q: %+v", text, h)
		}
	}
}

// A log of which lines may be missing, or that may be of another hour, was read, and proves no silence.
func TestPartly(t *testing.T) {
	const (
		line  = "May 04 10:00:0%d n kubelet[52]: I0504 10:00:01.000000      52 a.go:1] \"%s\"\n"
		zoned = "2026-05-04T10:00:0%d+00:00 n kubelet[52]: I0504 10:00:01.000000      52 a.go:1] \"%s\"\n"
		named = "pod ci/spool-runner-4kx2m"
	)
	text := func(form string, words ...string) (out string) {
		for i, w := range words {
			out += fmt.Sprintf(form, i, w)
		}
		return out
	}
	for what, c := range map[string]struct {
		doc, want string
		zone      *time.Location
		alone     bool
	}{
		"whole": {doc: text(zoned, named, "a", "b", "c")},
		"no zone": {doc: text(line, named, "a", "b", "c"),
			want: "its times name no zone (--zone says which)"},
		"no zone, and alone": {doc: text(line, named, "a", "b", "c"), alone: true},
		"a zone was given":   {doc: text(line, named, "a", "b", "c"), zone: time.UTC},
		"a pod's lines": {doc: text(zoned, named, named+" a", "b "+named, named+" c"),
			want: `only lines with "spool-runner-4kx2m" were saved`},
		"warnings alone": {doc: strings.ReplaceAll(text(zoned, "a", "b", "c", "d"), "I0504", "W0504"),
			want: "only lines of some severities were saved"},
		"grep's blocks": {doc: text(zoned, named, "a") + "--\n" + text(zoned, named, "b"),
			want: "only blocks of lines were saved, with -- between them as grep has it"},
		"two dashes in a line": {doc: text(zoned, named, "a", "-- b", "--")},
	} {
		for _, next := range []func([]byte, int) int{nil, func([]byte, int) int { return -1 }} {
			_, marks := readAll(t, Document{Name: "node.log", Ref: at("2026-06-01T00:00:00Z"), Zone: c.zone,
				Alone: c.alone, Next: next}, c.doc)
			if m := has(marks, ingest.Covered, ingest.Kubelet); m == nil || m.Mark.Partly != c.want {
				t.Errorf("%s: %+v, want %q", what, m, c.want)
			}
		}
	}
}
