package sbom

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// document is a document as a scanner reads it.
type document struct {
	SPDXID            string
	DocumentNamespace string
	Packages          []struct {
		SPDXID, Name, VersionInfo, LicenseDeclared string
		ExternalRefs                               []struct{ ReferenceLocator string }
	}
	Files []struct {
		SPDXID, FileName string
		Checksums        []struct{ Algorithm, ChecksumValue string }
	}
	Relationships []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
}

func made(t *testing.T) []byte {
	t.Helper()
	program, err := os.Executable() // one of Go, which says what was linked into it
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	d := New("coroner", "0.2.0", "pkg:oci/coroner@0.2.0", "CONTAINER", map[string]string{"coroner": "Apache-2.0"})
	certificates := &Component{"Deb", "ca-certificates", "20250419", "pkg:deb/debian/ca-certificates@20250419"}
	for name, data := range map[string][]byte{"/etc/ssl/certs.pem": []byte("a"), "/etc/ssl/other.pem": []byte("b")} {
		if err := d.File(name, data, certificates, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.File("/usr/bin/coroner", data, nil, true); err != nil {
		t.Fatal(err)
	}
	out, err := d.Encode("1", time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every id is there once and is one, every relation leads from one to another, and each
// package and file hangs on the whole.
func TestDocumentIsWhole(t *testing.T) {
	var d document
	if err := json.Unmarshal(made(t), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{d.SPDXID: 1}
	for _, p := range d.Packages {
		ids[p.SPDXID]++
		if len(p.ExternalRefs) != 1 || !strings.HasPrefix(p.ExternalRefs[0].ReferenceLocator, "pkg:") {
			t.Errorf("%s: %+v", p.Name, p.ExternalRefs)
		}
		if declared := p.LicenseDeclared == "Apache-2.0"; declared != (p.Name == "coroner") {
			t.Errorf("%s is declared %s", p.Name, p.LicenseDeclared)
		}
	}
	for _, f := range d.Files {
		ids[f.SPDXID]++
		if len(f.Checksums) != 2 || !strings.HasPrefix(f.FileName, "./") {
			t.Errorf("%+v", f)
		}
	}
	form := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	for id, n := range ids {
		if n != 1 || !form.MatchString(id) {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	contained := map[string]bool{}
	linked := 0
	for _, r := range d.Relationships {
		if ids[r.SpdxElementID] == 0 || ids[r.RelatedSpdxElement] == 0 {
			t.Errorf("%+v leads nowhere", r)
		}
		contained[r.RelatedSpdxElement] = contained[r.RelatedSpdxElement] || r.RelationshipType == "CONTAINS"
		if r.RelationshipType == "STATIC_LINK" {
			linked++
		}
	}
	for _, p := range d.Packages[1:] {
		if !contained[p.SPDXID] {
			t.Errorf("%s hangs on nothing", p.Name)
		}
	}
	if len(d.Files) != 3 || linked == 0 || !strings.HasPrefix(d.DocumentNamespace,
		"https://spdx.org/spdxdocs/coroner-0.2.0-") {
		t.Errorf("%d files, %d linked modules, %s", len(d.Files), linked, d.DocumentNamespace)
	}
}

// The hash of a file is that of its bytes, and a program that Go did not link is an error.
func TestFiles(t *testing.T) {
	const sha1, sha256 = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
		"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of the letter a
	out := made(t)
	if !bytes.Contains(out, []byte(sha1)) || !bytes.Contains(out, []byte(sha256)) {
		t.Error("no hash of a file that holds the letter a")
	}
	if err := New("x", "1", "pkg:x", "ARCHIVE", nil).File("bin/x", []byte("#!/bin/sh"), nil, true); err == nil {
		t.Error("a script passes for a program of Go")
	}
}

// A time that is no time is refused, and says which variable it is.
func TestEpoch(t *testing.T) {
	if at, err := Created("86400"); err != nil || at.Format(time.RFC3339) != "1970-01-02T00:00:00Z" {
		t.Error(at, err)
	}
	if at, err := Created(""); err != nil || at.Unix() != 0 {
		t.Error(at, err)
	}
	if _, err := Created("yesterday"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
}
