// Package sbom says what is in an image or an archive, as an SPDX 2.3 document:
// its files with their hashes, the Go modules that its programs are linked from,
// and the packages that other files came from.
//
// Invariant: a document is a function of the files and of the time given; every
// id in it is there once, and every relation leads from one to another.
//
// Crash behaviour: it keeps no state.
package sbom

import (
	"bytes"
	"cmp"
	"crypto/sha1" // SPDX asks for it beside SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// Document is one in the making.
type Document struct {
	name            string
	licences        map[string]string // of Go modules, by path
	packages, files []object
	relations       []object
	known           map[string]bool
}

// Component is a package in SPDX's sense, known to scanners by its URL.
type Component struct{ Kind, Name, Version, URL string }

const root = "SPDXRef-Whole"

// New begins the document of a thing, whose purpose is SPDX's word for what it
// is. The licences are those of Go modules, by path; of others nothing is said.
func New(name, version, url, purpose string, licences map[string]string) *Document {
	d := &Document{name: name + ":" + version, licences: licences, known: map[string]bool{}}
	d.addRelation("SPDXRef-DOCUMENT", "DESCRIBES", root)
	d.packages = append(d.packages, d.describe(root, name, version, url, purpose))
	return d
}

// Created is the time that a document and what it describes bear: a fixed one, unless
// seconds are given, as SOURCE_DATE_EPOCH has them.
func Created(seconds string) (time.Time, error) {
	n, err := strconv.ParseInt(cmp.Or(seconds, "0"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %s: want seconds", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// Encode returns the document. The id tells it from all others of that name.
func (d *Document) Encode(id string, created time.Time) ([]byte, error) {
	data, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": d.name,
		"documentNamespace": "https://spdx.org/spdxdocs/" + notInID.ReplaceAllString(d.name, "-") + "-" + id,
		"creationInfo": object{
			"created":  created.Format(time.RFC3339),
			"creators": []string{"Tool: coroner deploy/sbom"},
		},
		"packages": d.packages, "files": d.files, "relationships": d.relations,
	}, "", " ")
	return append(data, '\n'), err
}

func (d *Document) describe(id, name, version, url, purpose string) object {
	licence := d.licences[name]
	if licence == "" {
		licence = "NOASSERTION"
	}
	return object{"SPDXID": id, "name": name, "versionInfo": version, "primaryPackagePurpose": purpose,
		"downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseConcluded": "NOASSERTION",
		"licenseDeclared": licence, "copyrightText": "NOASSERTION", "externalRefs": []object{
			{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}}}
}

func (d *Document) addRelation(from, how, to string) {
	d.relations = append(d.relations, object{"spdxElementId": from, "relationshipType": how, "relatedSpdxElement": to})
}

// File adds one file, the package that it came from, if any, and, if it is a
// program of ours, what was linked into it.
func (d *Document) File(name string, data []byte, from *Component, program bool) error {
	one, two := sha1.Sum(data), sha256.Sum256(data)
	id := spdxID("File", name)
	d.files = append(d.files, object{"SPDXID": id, "fileName": "./" + strings.TrimPrefix(path.Clean(name), "/"),
		"licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION", "checksums": []object{
			{"algorithm": "SHA1", "checksumValue": hex.EncodeToString(one[:])},
			{"algorithm": "SHA256", "checksumValue": hex.EncodeToString(two[:])}}})
	d.addRelation(root, "CONTAINS", id)
	if from != nil {
		d.addRelation(id, "GENERATED_FROM", d.component(*from))
	}
	if program {
		return d.addModules(id, data)
	}
	return nil
}

// addModules adds what the Go linker says that a program was made of.
func (d *Document) addModules(program string, data []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	d.addRelation(program, "GENERATED_FROM", d.component(goComponent(info.Main.Path, info.Main.Version)))
	d.addRelation(program, "STATIC_LINK", d.component(goComponent("stdlib", strings.TrimPrefix(info.GoVersion, "go"))))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.addRelation(program, "STATIC_LINK", d.component(goComponent(m.Path, m.Version)))
	}
	return nil
}

func goComponent(path, version string) Component {
	return Component{"Go", path, version, "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}
}

// component adds a package once, and returns its id.
func (d *Document) component(c Component) string {
	id := spdxID(c.Kind, c.Name+"-"+c.Version)
	if !d.known[id] {
		d.known[id] = true
		d.packages = append(d.packages, d.describe(id, c.Name, c.Version, c.URL, "LIBRARY"))
		d.addRelation(root, "CONTAINS", id)
	}
	return id
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdxID is an id of letters, digits, dots and dashes, which two names share
// only if their hashes do.
func spdxID(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return "SPDXRef-" + kind + "-" + strings.Trim(
		notInID.ReplaceAllString(name, "-"),
		"-",
	) + "-" + hex.EncodeToString(
		sum[:4],
	)
}
