package main

import (
	"bytes"
	"crypto/sha1" // SPDX asks for it beside SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sbom is an SPDX 2.3 document in the making.
type sbom struct {
	packages, files []object
	relations       []object
	known           map[string]bool
}

const root = "SPDXRef-Image"

// describe writes what is in the image, as SPDX 2.3.
func (i *Image) describe(digest, path string) error {
	s := &sbom{known: map[string]bool{}}
	s.relate("SPDXRef-DOCUMENT", "DESCRIBES", root)
	purl := fmt.Sprintf("pkg:oci/%s@%s?arch=%s&tag=%s", i.Name[strings.LastIndex(i.Name, "/")+1:], strings.Replace(digest, ":", "%3A", 1), i.Arch, i.Tag)
	s.packages = append(s.packages, component(root, i.Name, i.Tag, purl, "CONTAINER"))
	for _, f := range slices.Concat(i.Layers...) {
		if err := s.file(f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	data, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": i.Name + ":" + i.Tag,
		"documentNamespace": "https://spdx.org/spdxdocs/" + strings.ReplaceAll(i.Name, "/", "-") + "-" + strings.TrimPrefix(digest, "sha256:"),
		"creationInfo":      object{"created": i.Created.Format(time.RFC3339), "creators": []string{"Tool: coroner deploy/image"}},
		"packages":          s.packages, "files": s.files, "relationships": s.relations,
	}, "", " ")
	if err != nil {
		return err
	}
	return replace(path, append(data, '\n'))
}

// component is a package in SPDX's sense, known to scanners by its URL.
func component(id, name, version, purl, purpose string) object {
	return object{"SPDXID": id, "name": name, "versionInfo": version, "primaryPackagePurpose": purpose, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
		"licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
		"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}}}
}

func (s *sbom) relate(from, how, to string) {
	s.relations = append(s.relations, object{"spdxElementId": from, "relationshipType": how, "relatedSpdxElement": to})
}

// file adds one file, its package, and what was linked into it.
func (s *sbom) file(f File) error {
	one, two := sha1.Sum(f.Data), sha256.Sum256(f.Data)
	id := spdxID("File", f.Path)
	file := object{"SPDXID": id, "fileName": "." + f.Path, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
		"checksums": []object{{"algorithm": "SHA1", "checksumValue": hex.EncodeToString(one[:])}, {"algorithm": "SHA256", "checksumValue": hex.EncodeToString(two[:])}}}
	s.files = append(s.files, file)
	s.relate(root, "CONTAINS", id)
	if f.Owner != nil {
		s.relate(id, "GENERATED_FROM", s.component("Deb", f.Owner.Name, f.Owner.Version, f.Owner.URL()))
	}
	if strings.HasPrefix(f.Path, "/usr/bin/") {
		return s.modules(id, f.Data)
	}
	return nil
}

// modules adds what the Go linker says that a program was made of.
func (s *sbom) modules(program string, data []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	s.relate(program, "GENERATED_FROM", s.component("Go", info.Main.Path, info.Main.Version, golang(info.Main.Path, info.Main.Version)))
	s.relate(program, "STATIC_LINK", s.component("Go", "stdlib", version, golang("stdlib", version)))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		s.relate(program, "STATIC_LINK", s.component("Go", m.Path, m.Version, golang(m.Path, m.Version)))
	}
	return nil
}

func golang(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// component adds a package to the image once, and returns its id.
func (s *sbom) component(kind, name, version, purl string) string {
	id := spdxID(kind, name+"-"+version)
	if !s.known[id] {
		s.known[id] = true
		s.packages = append(s.packages, component(id, name, version, purl, "LIBRARY"))
		s.relate(root, "CONTAINS", id)
	}
	return id
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdxID is an id of letters, digits, dots and dashes, which two names share
// only if their hashes do.
func spdxID(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return "SPDXRef-" + kind + "-" + strings.Trim(notInID.ReplaceAllString(name, "-"), "-") + "-" + hex.EncodeToString(sum[:4])
}
