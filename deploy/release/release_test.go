package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/deploy/chart"

	"go.yaml.in/yaml/v4"
)

// The same files give the same archive, the program in it can be run, and
// nothing else in it can.
func TestPacked(t *testing.T) {
	files := map[string][]byte{"coroner": []byte("program"), "LICENSE": []byte("text"), "a": []byte("b")}
	one, err := packFiles(files, "coroner", time.Unix(0, 0))
	two, err2 := packFiles(files, "coroner", time.Unix(0, 0))
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
		t.Fatalf("two archives of the same files: %v", err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if runs := h.Mode&0o111 != 0; runs != (h.Name == "coroner") {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
	}
	if want := []string{"LICENSE", "a", "coroner"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// krew finds an archive of coroner for each platform, under its checksum, and
// never the agent's.
func TestKrew(t *testing.T) {
	made := []archive{
		{target: targets[0], name: "coroner_linux.tar.gz", sum: "12ab"},
		{target: targets[4], name: "agent.tar.gz", sum: "34cd"},
	}
	var m struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				URI, SHA256, Bin string
				Selector         struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				}
			}
		}
	}
	at := addresses{"https://example.com/v", "https://example.com"}
	if err := yaml.Unmarshal(krewManifest(made, at), &m); err != nil {
		t.Fatal(err)
	}
	if m.Metadata.Name != "coroner" || m.Spec.Version != "v"+chart.Version || len(m.Spec.Platforms) != 1 {
		t.Fatalf("%+v", m)
	}
	p := m.Spec.Platforms[0]
	if p.URI != "https://example.com/v/coroner_linux.tar.gz" || p.SHA256 != "12ab" || p.Bin != "coroner" ||
		p.Selector.MatchLabels["os"] != "linux" {
		t.Errorf("%+v", p)
	}
}

// Every file of the release has its checksum, the list of them has none.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.tgz": "b", "a.tar.gz": "a", sumsFile: "old"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := checksums(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumsFile))
	want := fmt.Sprintf("%x  a.tar.gz\n%x  b.tgz\n", sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b")))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// What cannot be built here is said, with the reason.
func TestMissingCompilerIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	agent := target{"coroner-agent", "linux", "riscv64", "1"}
	if why := agent.whyMissing(); why == "" {
		t.Error("an agent for a machine without a compiler can be built")
	}
	if server := targets[3]; server.whyMissing() != "" {
		t.Errorf("the server needs no compiler: %s", server.whyMissing())
	}
	if !strings.HasSuffix(compilers["arm64"], "-gcc") {
		t.Error(compilers)
	}
}

// No release is made for an owner that nobody named: its manifest would lead to a page
// that is not there, or to somebody else's.
func TestOwnerIsSaid(t *testing.T) {
	for _, c := range []struct {
		owner, url, home string
		want             addresses
	}{
		{"", "", "", addresses{}},
		{"OWNER", "", "", addresses{}},
		{"a/b", "", "", addresses{}},
		{"", "https://example.com/v", "", addresses{}},
		{"", "", "https://example.com", addresses{}},
		{"", "https://github.com/OWNER/coroner/v", "https://example.com", addresses{}},
		{"", "https://example.com/v", "https://example.com", addresses{"https://example.com/v", "https://example.com"}},
		{"mills", "", "", addresses{"https://github.com/mills/coroner/releases/download/v" + chart.Version,
			"https://github.com/mills/coroner"}},
		{"mills", "https://example.com/v", "", addresses{"https://example.com/v", "https://github.com/mills/coroner"}},
	} {
		got, err := addressesOf(c.owner, c.url, c.home)
		if got != c.want || (err != nil) != (c.want == addresses{}) {
			t.Errorf("owner %q, %q, %q: %+v, %v", c.owner, c.url, c.home, got, err)
		}
	}
}
