package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The programs do not depend on where they are built, and so neither do the
// images: built from a copy in another folder they are the same.
func TestProgramsAreTheSameElsewhere(t *testing.T) {
	programs(t, "that the programs are the same wherever they are built")
	copied := filepath.Join(t.TempDir(), "else", "where")
	copyModule(t, "../..", copied)
	for program, cgo := range map[string]string{"coroner": "0", "coroner-agent": "1"} {
		here, there := built(t, "../..", program, cgo), built(t, copied, program, cgo)
		if !bytes.Equal(here, there) {
			t.Errorf("%s: another program, of %d bytes and %d", program, len(here), len(there))
		}
	}
}

// copyModule copies what the programs are built of.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	skip := []string{"bin", "dist", ".git"}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || d.IsDir() {
			if slices.Contains(skip, rel) {
				return fs.SkipDir
			}
			return err
		}
		if !d.Type().IsRegular() || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, rel), data, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// built is a program as make builds it.
func built(t *testing.T, dir, program, cgo string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), program)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./cmd/"+program)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED="+cgo)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
