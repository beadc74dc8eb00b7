package main

import (
	"fmt"
	"slices"
	"strings"

	"coroner/deploy/sbom"
)

// describe writes what is in the image, as SPDX 2.3.
func (i *Image) describe(digest, path string) error {
	purl := fmt.Sprintf(
		"pkg:oci/%s@%s?arch=%s&tag=%s",
		i.Name[strings.LastIndex(i.Name, "/")+1:],
		strings.Replace(digest, ":", "%3A", 1),
		i.Arch,
		i.Tag,
	)
	d := sbom.New(i.Name, i.Tag, purl, "CONTAINER", i.Licences)
	for _, f := range slices.Concat(i.Layers...) {
		if err := d.File(f.Path, f.Data, f.Owner.component(), strings.HasPrefix(f.Path, "/usr/bin/")); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	data, err := d.Encode(strings.TrimPrefix(digest, "sha256:"), i.Created)
	if err != nil {
		return err
	}
	return replaceFile(path, data)
}

// component is the package as the document has it; nil for none.
func (p *Package) component() *sbom.Component {
	if p == nil {
		return nil
	}
	return &sbom.Component{Kind: "Deb", Name: p.Name, Version: p.Version, URL: p.URL()}
}
