package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type document struct {
	SPDXVersion string
	Packages    []struct {
		SPDXID, Name, VersionInfo string
		ExternalRefs              []struct{ ReferenceLocator string }
	}
	Files []struct {
		SPDXID, FileName string
		Checksums        []struct{ Algorithm, ChecksumValue string }
	}
	Relationships []struct{ SPDXElementID, RelationshipType, RelatedSpdxElement string }
}

func describes(t *testing.T, path string) (d document) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, data, &d)
	return d
}

// has says whether the document names a package with that version.
func (d *document) has(name, version string) bool {
	for _, p := range d.Packages {
		if p.Name == name && p.VersionInfo == version && strings.HasPrefix(p.ExternalRefs[0].ReferenceLocator, "pkg:") {
			return true
		}
	}
	return false
}

// The SPDX document names every module that the program was linked from.
func TestEveryModuleIsNamed(t *testing.T) {
	out := packs(t, "that every module is named")
	for _, program := range []string{"coroner", "coroner-agent"} {
		d := describes(t, filepath.Join(out, program+".spdx.json"))
		info, err := buildinfo.ReadFile(filepath.Join(programs(t, "it"), program))
		if err != nil || len(info.Deps) < 10 || d.SPDXVersion != "SPDX-2.3" {
			t.Fatal(err, d.SPDXVersion)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !d.has(m.Path, m.Version) {
				t.Errorf("%s: %s %s is missing", program, m.Path, m.Version)
			}
		}
		if !d.has("stdlib", strings.TrimPrefix(info.GoVersion, "go")) {
			t.Errorf("%s: the Go release is missing", program)
		}
	}
}

// Every file of the image stands in the document with its hash, every library
// with its Debian package, and no id is there twice or leads nowhere.
func TestEveryFileIsNamed(t *testing.T) {
	out, root := packs(t, "that every file is named"), t.TempDir()
	unpack(t, filepath.Join(out, "coroner-agent.tar"), root)
	d := describes(t, filepath.Join(out, "coroner-agent.spdx.json"))
	ids, from := map[string]bool{"SPDXRef-DOCUMENT": true}, map[string]string{}
	for _, p := range d.Packages {
		if ids[p.SPDXID] {
			t.Errorf("%s twice", p.SPDXID)
		}
		ids[p.SPDXID] = true
	}
	for _, f := range d.Files {
		ids[f.SPDXID] = true
	}
	for _, r := range d.Relationships {
		if !ids[r.SPDXElementID] || !ids[r.RelatedSpdxElement] {
			t.Errorf("%+v leads nowhere", r)
		}
		if r.RelationshipType == "GENERATED_FROM" {
			from[r.SPDXElementID] = r.RelatedSpdxElement
		}
	}
	for _, f := range d.Files {
		data, err := os.ReadFile(filepath.Join(root, f.FileName))
		sum := sha256.Sum256(data)
		if err != nil || f.Checksums[1].ChecksumValue != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %v, not the hash of the file", f.FileName, err)
		}
		if strings.Contains(f.FileName, ".so") && !strings.Contains(from[f.SPDXID], "SPDXRef-Deb-") {
			t.Errorf("%s comes from %q", f.FileName, from[f.SPDXID])
		}
		if err := os.Remove(filepath.Join(root, f.FileName)); err != nil {
			t.Error(err)
		}
	}
	left, _ := filepath.Glob(root + "/*/*/*/*")
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			t.Errorf("%s is not named", path)
		}
	}
}

// What newer systemd opens only when it needs it is read from its notes.
func TestNotesOfLibrariesOpenedLater(t *testing.T) {
	text := []byte(`[{"feature":"lz4","priority":"suggested","soname":["liblz4.so.1"]}]`)
	var section bytes.Buffer
	for range 2 { // two notes, one after the other
		for _, n := range []uint32{4, uint32(len(text)) + 1, 0x407c0c0a} {
			_ = binary.Write(&section, binary.LittleEndian, n)
		}
		section.WriteString("FDO\x00")
		section.Write(text)
		section.Write(make([]byte, int(alignFour(uint32(len(text))+1))-len(text)))
	}
	if got := readNotes(section.Bytes(), binary.LittleEndian); !slices.Equal(got,
		[]string{"liblz4.so.1", "liblz4.so.1"}) {
		t.Errorf("%q", got)
	}
	for n := range section.Len() { // cut anywhere it neither fails nor invents
		if got := readNotes(section.Bytes()[:n], binary.LittleEndian); len(got) > 1 {
			t.Errorf("cut at %d: %q", n, got)
		}
	}
}
