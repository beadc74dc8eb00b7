package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coroner/deploy/licence"
)

// File is one file of an image.
type File struct {
	Path  string // in the image, absolute
	Mode  int64
	Data  []byte
	From  string   // where it was read; "" for what is written here
	Owner *Package // the Debian package that it came from, nil for none
}

const (
	authorities = "/usr/share/ca-certificates/mozilla"
	bundle      = "/etc/ssl/certs/ca-certificates.crt" // where Go looks for them
	passwd      = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	group       = "root:x:0:\nnonroot:x:65532:\n"
)

// baseFiles is what both images begin with: who may run, and whom to trust.
func baseFiles() ([]File, error) {
	certs, err := trustedRoots()
	return []File{
		{Path: "/etc/group", Mode: 0o644, Data: []byte(group)},
		{Path: "/etc/passwd", Mode: 0o644, Data: []byte(passwd)},
		certs,
	}, err
}

// licensed adds to an image's last layer the licences of its program.
func (i *Image) licensed(program, cgo string) (err error) {
	texts, licences, err := licence.Files(program, "linux", i.Arch, cgo)
	last := len(i.Layers) - 1
	for name, text := range texts {
		i.Layers[last] = append(
			i.Layers[last],
			File{Path: "/usr/share/doc/" + program + "/" + name, Mode: 0o644, Data: text},
		)
	}
	slices.SortFunc(i.Layers[last], func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	i.Licences = licences
	return err
}

// trustedRoots is the bundle of certificate authorities, made of the package's files
// only: an authority that somebody added to this machine stays out.
func trustedRoots() (File, error) {
	names, err := filepath.Glob(authorities + "/*.crt")
	if err != nil || len(names) == 0 {
		return File{}, errors.New("the package ca-certificates is not installed")
	}
	var all bytes.Buffer
	for _, name := range names { // Glob sorts
		data, err := os.ReadFile(name)
		if err != nil {
			return File{}, err
		}
		all.Write(bytes.TrimSpace(data))
		all.WriteByte('\n')
	}
	owner, err := packageOwning(names[0])
	return File{Path: bundle, Mode: 0o644, Data: all.Bytes(), From: authorities, Owner: owner}, err
}

// serverImage is the image of bin/coroner, which needs no library.
func serverImage(program string) (*Image, error) {
	below, main, exe, err := baseAndProgram(program)
	if err != nil {
		return nil, err
	}
	if libs, _ := exe.ImportedLibraries(); len(libs) > 0 {
		return nil, fmt.Errorf("%s needs %v: build it with CGO_ENABLED=0", program, libs)
	}
	img := &Image{
		Arch:   archOf(exe),
		User:   "65532:65532",
		Entry:  []string{main.Path},
		Cmd:    []string{"serve"},
		Layers: [][]File{below, {main}},
	}
	return img, img.licensed("coroner", "0")
}

// agentImage is the image of bin/coroner-agent, which loads libsystemd when it runs.
func agentImage(program string) (*Image, error) {
	below, main, exe, err := baseAndProgram(program)
	if err != nil {
		return nil, err
	}
	libs, err := libraries(exe)
	if err != nil {
		return nil, err
	}
	rights, err := copyrights(libs)
	if err != nil {
		return nil, err
	}
	below = slices.Concat(below, libs, rights)
	img := &Image{Arch: archOf(exe), User: "0:0", Entry: []string{main.Path}, Layers: [][]File{below, {main}}}
	return img, img.licensed("coroner-agent", "1")
}

// baseAndProgram are the files below a program in its image, and the program.
func baseAndProgram(program string) (below []File, main File, exe *elf.File, err error) {
	if below, err = baseFiles(); err == nil {
		main, exe, err = executable(program)
	}
	return below, main, exe, err
}

// executable reads a program, which goes to /usr/bin.
func executable(path string) (File, *elf.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, nil, fmt.Errorf("%w; make build makes it", err)
	}
	exe, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return File{}, nil, fmt.Errorf("%s is no Linux program: %w", path, err)
	}
	return File{Path: "/usr/bin/" + filepath.Base(path), Mode: 0o755, Data: data, From: path}, exe, nil
}

// archOf is a program's machine as images have it.
func archOf(exe *elf.File) string {
	names := map[elf.Machine]string{
		elf.EM_X86_64:  "amd64",
		elf.EM_AARCH64: "arm64",
		elf.EM_RISCV:   "riscv64",
		elf.EM_PPC64:   "ppc64le",
		elf.EM_S390:    "s390x",
	}
	if name, ok := names[exe.Machine]; ok {
		return name
	}
	return strings.ToLower(strings.TrimPrefix(exe.Machine.String(), "EM_"))
}
