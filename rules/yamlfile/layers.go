package yamlfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// File is one rulebook file. Its data end with a line's end.
type File struct {
	Name string
	Data []byte
}

// Layers are rulebook files in the order in which they are laid over each other.
type Layers [][]File

var errNoRules = errors.New("no rulebook files (*.yaml) found")

// testsSection begins a file of tests.
var testsSection = regexp.MustCompile(`(?m)^tests:`)

// hasTests says whether a file is one of tests, NAME_test.yaml beside NAME.yaml. One of such a name
// without that section is a rulebook file like any other.
func (f File) hasTests() bool {
	return strings.HasSuffix(f.Name, "_test.yaml") && testsSection.Match(f.Data)
}

// ReadLayers reads the *.yaml files of each file system, in the order of their names, but for
// files of tests: they are not of the rulebook.
func ReadLayers(systems []fs.FS) (all Layers, err error) {
	for _, system := range systems {
		layer, _, err := readFolder(system)
		if err != nil {
			return nil, err
		}
		if len(layer) == 0 {
			return nil, errNoRules
		}
		all = append(all, layer)
	}
	return all, nil
}

// ReadTests reads the files of tests of a file system, in the order of their names.
func ReadTests(system fs.FS) ([]File, error) {
	_, tests, err := readFolder(system)
	return tests, err
}

func readFolder(system fs.FS) (layer, tests []File, err error) {
	names, err := fs.Glob(system, "*.yaml") // sorted
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(system, name)
		if err != nil {
			return nil, nil, err
		}
		if n := len(data); n > 0 && data[n-1] != '\n' {
			data = append(data, '\n') // as Source gives it: the hash must survive the way to an agent
		}
		if f := (File{path.Base(name), data}); f.hasTests() {
			tests = append(tests, f)
		} else {
			layer = append(layer, f)
		}
	}
	return layer, tests, nil
}

// Hash is the first 12 hexadecimal digits of the SHA-256 of everything that was read.
func (l Layers) Hash() string {
	sum := sha256.New()
	for _, layer := range l {
		for _, f := range layer {
			sum.Write(f.Data)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Source is everything that was read, as one txtar archive: a folder for each layer.
func (l Layers) Source() []byte {
	var all txtar.Archive
	for i, layer := range l {
		for _, f := range layer {
			all.Files = append(all.Files, txtar.File{Name: fmt.Sprintf("%03d/%s", i, f.Name), Data: f.Data})
		}
	}
	return txtar.Format(&all)
}

// SplitSource splits an archive that Source gave into file systems for ReadLayers.
func SplitSource(source []byte) ([]fs.FS, error) {
	files, err := txtar.FS(txtar.Parse(source))
	if err != nil {
		return nil, err
	}
	dirs, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var systems []fs.FS
	for _, d := range dirs {
		one, err := fs.Sub(files, d.Name())
		if err != nil {
			return nil, err
		}
		systems = append(systems, one)
	}
	return systems, nil
}
