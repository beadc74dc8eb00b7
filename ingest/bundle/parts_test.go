package bundle

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"coroner/ingest"
)

// Several readers give what one gives, file by file, and the same problems.
func TestPartsGiveWhatEntriesGive(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		text := ""
		for n := range 50 * i {
			text += fmt.Sprintf("2026-05-04T10:00:%02d+0200 node-%d kubelet[1]: line %d\n", n%60, i, n)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.log", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.gz"), []byte("\x1f\x8b\x08no gzip"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *Bundle {
		b, err := Open([]string{dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, many := open(), open()
	want := slices.Collect(one.Entries(nil))
	var mu sync.Mutex
	parts, last := map[int][]ingest.Entry{}, Progress{}
	many.Parts(4, func(p Progress) { last = p }, func(i int, entries iter.Seq[ingest.Entry]) {
		list := slices.Collect(entries)
		mu.Lock()
		defer mu.Unlock()
		parts[i] = list
	})
	var got []ingest.Entry
	for i := range len(parts) {
		got = append(got, parts[i]...)
	}
	if !reflect.DeepEqual(got, want) || len(want) < 1000 {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	if !reflect.DeepEqual(many.Problems(), one.Problems()) {
		t.Errorf("problems %v, want %v", many.Problems(), one.Problems())
	}
	if last.Read != last.Total || last.Done < 29 {
		t.Errorf("progress ended at %+v", last)
	}
}

// Notes are no evidence, whatever they speak of; what stands between fences in
// them is read.
func TestNotesAreSkipped(t *testing.T) {
	const notes = "# Last night\n\nI think the pod was OOMKilled by the kernel: no space left on device.\n"
	for text, want := range map[string]bool{notes: true, notes + "```\nkubelet[1]: ready\n```\n": false} {
		b := Bytes("notes.md", []byte(text), Options{})
		read := 0
		for range b.Entries(nil) {
			read++
		}
		skipped := len(b.Problems()) == 1 && strings.Contains(b.Problems()[0].Text, "skipped")
		if skipped != want || want && read > 0 {
			t.Errorf("%q: %d entries, problems %v", text, read, b.Problems())
		}
	}
}

// YAML that is no object says what somebody wants, and is named as skipped; a piece
// of an object, and text in it, is read.
func TestSettingsAreSkipped(t *testing.T) {
	for text, want := range map[string]bool{
		"site: mill\ntasks:\n  - name: explain\n    text: the pod was OOMKilled with exit code 137\n": true,
		"lastState:\n  terminated:\n    exitCode: 137\n    reason: OOMKilled\n":                       false,
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: amber-1\n":                                     false,
		"pasted: |\n  kubelet[1]: ready\n  kubelet[1]: gone\n":                                        false,
		"kubelet[1]: ready\n": false,
	} {
		b := Bytes("note.yaml", []byte(text), Options{})
		for range b.Entries(nil) {
		}
		skipped := len(b.Problems()) == 1 && strings.Contains(b.Problems()[0].Text, "no Kubernetes object")
		if skipped != want {
			t.Errorf("%q: skipped %v, want %v; problems %v", text, skipped, want, b.Problems())
		}
	}
}

// What is piped in has no name: it is somebody's settings by its form alone, and a line of a
// log that happens to be a key and a value is read.
func TestSettingsWithoutAName(t *testing.T) {
	for text, want := range map[string]bool{
		"replicas: 2\nimage:\n  repository: registry.example/plum\n  tag: \"4\"\nlabels: [forge]\n": true,
		"error: the pod was OOMKilled\n":                               false,
		"level: error\nerror: the pod was OOMKilled\n":                 false,
		"State:\n  Reason: OOMKilled\nReady: False\n":                  false,
		"state:\n  terminated:\n    reason: OOMKilled\nready: false\n": false,
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: amber-1\n":      false,
	} {
		b, err := Open([]string{"-"}, Options{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		for range b.Entries(nil) {
		}
		skipped := len(b.Problems()) == 1 && strings.Contains(b.Problems()[0].Text, "no Kubernetes object")
		if skipped != want {
			t.Errorf("%q: skipped %v, want %v; problems %v", text, skipped, want, b.Problems())
		}
	}
}

// A guide and a difference are passed over whatever they are called; what a container
// printed is its log.
func TestGuidesAndDifferences(t *testing.T) {
	guide := "## Troubleshooting\n\n**The runner has received a shutdown signal**\n" +
		"If you see `143`, a node was drained.\n"
	change := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+The runner has received a shutdown signal.\n"
	for _, tt := range []struct {
		name, text string
		skipped    bool
	}{
		{"help.txt", guide, true}, {"my-controller.log", guide, true}, {"a.log", change, true},
		{"pods/ci_a_0a0b0c0d-1111-2222-3333-444455556666/runner/0.log", change, false},
		{"a.log", "$ git diff\n" + change, false},
	} {
		b := Bytes(tt.name, []byte(tt.text), Options{})
		for range b.Entries(nil) {
		}
		if skipped := len(b.Problems()) == 1; skipped != tt.skipped {
			t.Errorf("%s: skipped %v: %v", tt.name, skipped, b.Problems())
		}
	}
}

// Notes that are all that was given are what somebody asks about: the messages that they quote
// are read, and it is said. Beside a log they are passed over whole.
func TestNotesAloneAreQuoted(t *testing.T) {
	const notes = "# Last night\n\nAll end with `exec /run.sh: exec format error` since May.\n"
	beside := "-- notes.md --\n" + notes + "-- node.log --\nkubelet[1]: ready\n"
	for _, text := range []string{notes, beside} {
		name := "notes.md"
		if strings.HasPrefix(text, "--") {
			name = "all.txtar"
		}
		b := Bytes(name, []byte(text), Options{})
		var read []string
		for e := range b.Entries(nil) {
			if e.Text != "" {
				read = append(read, e.Text)
			}
		}
		quoted := len(read) == 1 && read[0] == "exec /run.sh: exec format error"
		if len(read) != 1 || quoted != (name == "notes.md") || len(b.Problems()) != 1 {
			t.Errorf("%s: %q, problems %v", name, read, b.Problems())
		}
	}
}
