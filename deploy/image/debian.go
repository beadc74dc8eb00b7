package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Package is a Debian package that files came from.
type Package struct{ Name, Version, Arch, Distro string }

// packageOwning asks dpkg whose a file is. A path may be known by its old place, from
// before /lib was a link to /usr/lib.
func packageOwning(path string) (*Package, error) {
	out, err := exec.Command("dpkg-query", "--search", path).Output()
	if err != nil {
		out, err = exec.Command("dpkg-query", "--search", strings.TrimPrefix(path, "/usr")).Output()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is of no Debian package: %w", path, err)
	}
	name, _, _ := strings.Cut(string(out), ": ")
	const format = "${Package}\t${Version}\t${Architecture}"
	out, err = exec.Command("dpkg-query", "--show", "--showformat", format, strings.TrimSpace(name)).Output()
	fields := strings.Split(string(out), "\t")
	if err != nil || len(fields) != 3 {
		return nil, errors.Join(err, fmt.Errorf("%s: dpkg-query says %q", path, out))
	}
	return &Package{fields[0], fields[1], fields[2], distroName()}, nil
}

// distroName is this machine's, as package URLs name it: debian-12.
func distroName() string {
	data, _ := os.ReadFile("/etc/os-release") // without it the URL says less
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		fields[key] = strings.Trim(value, `"`)
	}
	return fields["ID"] + "-" + fields["VERSION_ID"]
}

// URL is the package's in the form that scanners read.
func (p *Package) URL() string {
	vendor, _, _ := strings.Cut(p.Distro, "-")
	return fmt.Sprintf(
		"pkg:deb/%s/%s@%s?arch=%s&distro=%s",
		vendor,
		p.Name,
		strings.ReplaceAll(p.Version, "+", "%2B"),
		p.Arch,
		p.Distro,
	)
}

// copyrights are what the libraries' packages say of their licences.
func copyrights(libs []File) (out []File, err error) {
	seen := map[string]bool{}
	for _, f := range libs {
		path := "/usr/share/doc/" + f.Owner.Name + "/copyright"
		if seen[path] {
			continue
		}
		seen[path] = true
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, File{Path: path, Mode: 0o644, Data: data, From: path, Owner: f.Owner})
	}
	return out, nil
}
