package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"coroner/deploy/chart"
	"coroner/deploy/licence"
	"coroner/deploy/sbom"
)

// target is a program for a platform.
type target struct{ program, os, arch, cgo string }

var targets = []target{
	{"coroner", "linux", "amd64", "0"}, {"coroner", "linux", "arm64", "0"},
	{"coroner", "darwin", "amd64", "0"}, {"coroner", "darwin", "arm64", "0"},
	{"coroner-agent", "linux", "amd64", "1"}, {"coroner-agent", "linux", "arm64", "1"},
}

// compilers are the C compilers for Linux, as Debian names them.
var compilers = map[string]string{"amd64": "x86_64-linux-gnu-gcc", "arm64": "aarch64-linux-gnu-gcc"}

// journalHeader declares libsystemd's functions; it is the same for every
// processor, and the library itself is opened when the agent runs.
const journalHeader = "/usr/include/systemd/sd-journal.h"

// whyMissing says why the program cannot be built here; "" where it can.
func (t *target) whyMissing() string {
	if t.cgo == "0" {
		return ""
	}
	if _, err := os.Stat(journalHeader); err != nil {
		return "there is no " + journalHeader + " (package libsystemd-dev)"
	}
	if _, err := exec.LookPath(t.compiler()); err != nil {
		return "there is no " + t.compiler()
	}
	return ""
}

func (t *target) compiler() string {
	if t.arch == runtime.GOARCH && t.os == runtime.GOOS {
		return "gcc"
	}
	return compilers[t.arch]
}

// archive is one that was made.
type archive struct {
	target
	name, sum string
	size      int
}

// packProgram builds the program and packs it with its licences; what is in the archive
// is written beside it.
func (t *target) packProgram(out string, created time.Time) (archive, error) {
	program, err := t.buildProgram()
	if err != nil {
		return archive{}, err
	}
	files, licences, err := licence.Files(t.program, t.os, t.arch, t.cgo)
	if err != nil {
		return archive{}, err
	}
	files[t.program] = program
	base := fmt.Sprintf("%s_%s_%s_%s", t.program, chart.Version, t.os, t.arch)
	data, err := packFiles(files, t.program, created)
	if err != nil {
		return archive{}, err
	}
	a := archive{*t, base + ".tar.gz", fmt.Sprintf("%x", sha256.Sum256(data)), len(data)}
	purl := fmt.Sprintf("pkg:generic/%s@%s?arch=%s&os=%s", t.program, chart.Version, t.arch, t.os)
	doc := sbom.New(t.program, chart.Version, purl, "ARCHIVE", licences)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := doc.File(name, files[name], nil, name == t.program); err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
	}
	contents, err := doc.Encode(a.sum, created)
	if err == nil {
		err = os.WriteFile(filepath.Join(out, base+".spdx.json"), contents, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(out, a.name), data, 0o644)
	}
	return a, err
}

// buildProgram compiles the program, as make build does.
func (t *target) buildProgram() ([]byte, error) {
	dir, err := os.MkdirTemp("", "coroner-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, t.program)
	// No tags, whatever GOFLAGS says: those of the Makefile are for its tests.
	cmd := exec.Command("go", "build", "-trimpath", "-tags=", "-ldflags=-s -w", "-o", file, "coroner/cmd/"+t.program)
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED="+t.cgo)
	if t.cgo == "1" {
		cmd.Env = append(
			cmd.Env,
			"CC="+t.compiler(),
			"CGO_CFLAGS=-O2 -idirafter "+filepath.Dir(filepath.Dir(journalHeader)),
		)
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said)
	}
	return os.ReadFile(file)
}

// packFiles is a tar through gzip of files, sorted, of root, of one time.
func packFiles(files map[string][]byte, program string, created time.Time) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if name == program {
			mode = 0o755
		}
		h := &tar.Header{
			Name:     name,
			Mode:     mode,
			Size:     int64(len(files[name])),
			ModTime:  created,
			Typeflag: tar.TypeReg,
			Format:   tar.FormatUSTAR,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = zip.Close() // it writes the end
	return out.Bytes(), err
}
