package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"coroner/deploy/chart"
)

const sumsFile = "SHA256SUMS"

// checksums writes the checksums of all files of the release, as sha256sum -c
// takes them.
func checksums(out string) error {
	entries, err := os.ReadDir(out) // sorted
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		if e.IsDir() || e.Name() == sumsFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(out, sumsFile), sums.Bytes(), 0o644)
}

// krewManifest is the manifest by which kubectl krew installs kubectl coroner.
func krewManifest(made []archive, at addresses) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: coroner
spec:
  version: v%s
  homepage: %s
  shortDescription: Name the cause of death of a CI runner
  description: |
    coroner joins what the node, the runner and its controller wrote, and says in
    one labelled verdict why a CI runner died, with its evidence. "kubectl coroner
    NAME" asks a running coroner server; "kubectl coroner explain" reads files.
  platforms:
`, chart.Version, at.home)
	for _, a := range made {
		if a.program != "coroner" {
			continue
		}
		fmt.Fprintf(&out, `  - selector: {matchLabels: {os: %s, arch: %s}}
    uri: %s/%s
    sha256: %s
    bin: coroner
    files:
      - {from: coroner, to: .}
      - {from: LICENSE, to: .}
      - {from: LICENSING.md, to: .}
      - {from: THIRD-PARTY.txt, to: .}
`, a.os, a.arch, at.url, a.name, a.sum)
	}
	return out.Bytes()
}
