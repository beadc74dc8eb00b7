package signal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/ingest"
)

// No line that Scan recognises, of whatever source, is one that is not wanted.
func TestWantedIsWhatScanCanFind(t *testing.T) {
	b := defaultBook(t)
	lines := []string{"eth0: up"}
	for _, d := range b.Signals {
		for _, test := range d.Tests {
			lines = append(lines, test.Line)
		}
	}
	files, _ := filepath.Glob("../../fixtures/incidents/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(string(data), "\n")...)
	}
	found, unwanted := 0, 0
	for _, line := range lines {
		for _, by := range append([]ingest.Source{ingest.Unknown}, ingest.Sources...) {
			switch wanted := b.Wanted(by, []byte("x"+line+"x")); {
			case len(b.Scan(&ingest.Entry{Source: by, Text: line})) > 0:
				found++
				if !wanted {
					t.Errorf("by %q: %q is recognised", by, line)
				}
			case !wanted:
				unwanted++
			}
		}
	}
	if found < 500 || unwanted < 10000 {
		t.Errorf("%d lines, %d times recognised, %d times not wanted", len(lines), found, unwanted)
	}
}
