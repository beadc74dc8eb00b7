package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The pages in docs/verdicts are those of the built-in rulebook.
func TestVerdictPagesAreUpToDate(t *testing.T) {
	const kept, renew = "../../docs/verdicts",
		"go run ./cmd/coroner rules docs --incidents ../../fixtures/incidents docs/verdicts"
	fresh := t.TempDir()
	cmd := &rulesDocsCmd{Incidents: "../../fixtures/incidents", Dir: fresh}
	if err := cmd.Run(&program{out: io.Discard, err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if have, want := fileNames(t, kept), fileNames(t, fresh); !slices.Equal(have, want) {
		t.Errorf("docs/verdicts holds %v\nwant %v\nrenew it: %s", have, want, renew)
	}
	for _, name := range fileNames(t, fresh) {
		want, _ := os.ReadFile(filepath.Join(fresh, name))
		have, _ := os.ReadFile(filepath.Join(kept, name))
		if string(have) != string(want) {
			t.Errorf("docs/verdicts/%s is not what the rulebook says; renew it: %s", name, renew)
		}
	}
}

func fileNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
