package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// opened is what the agent opens by name when it runs.
const opened = "libsystemd.so.0"

// compressors are what journald may have compressed values with. Where one is
// missing, libsystemd passes over such values without a word.
var compressors = []string{"liblz4.so.1", "liblzma.so.5", "libzstd.so.1"}

// linker holds where this machine keeps shared libraries.
type linker struct {
	dirs  []string
	found map[string]File // by soname
}

// libraries are the loader, libsystemd, and whatever they and the program load,
// or may open later.
func libraries(exe *elf.File) ([]File, error) {
	l := &linker{dirs: libraryDirs(exe.Machine), found: map[string]File{}}
	loader, err := interpreter(exe)
	if err != nil {
		return nil, err
	}
	if err := l.followNeeded(exe, opened); err != nil {
		return nil, err
	}
	for _, name := range compressors {
		if _, ok := l.found[name]; !ok {
			return nil, fmt.Errorf(
				"this machine's %s does not use %s: the agent could not read every journal",
				opened,
				name,
			)
		}
	}
	delete(l.found, filepath.Base(loader.Path)) // it has a place of its own
	files := []File{loader}
	for _, f := range l.found {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func libraryDirs(m elf.Machine) []string {
	triplet := map[elf.Machine]string{
		elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu", elf.EM_RISCV: "riscv64-linux-gnu",
		elf.EM_PPC64: "powerpc64le-linux-gnu", elf.EM_S390: "s390x-linux-gnu"}[m]
	return []string{"/usr/lib/" + triplet, "/lib/" + triplet}
}

// interpreter is the loader, at the path that the program asks for.
func interpreter(exe *elf.File) (File, error) {
	section := exe.Section(".interp")
	if section == nil {
		return File{}, fmt.Errorf("the program loads no libraries: it was built without cgo and cannot read a journal")
	}
	path, err := section.Data()
	if err != nil {
		return File{}, err
	}
	return readLibrary(strings.TrimRight(string(path), "\x00"), "")
}

// readLibrary reads a library; it is put under its soname in dir, or where it was.
func readLibrary(path, dir string) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return File{}, err
	}
	data, err := os.ReadFile(real)
	if err != nil {
		return File{}, err
	}
	if dir != "" {
		path = filepath.Join(dir, filepath.Base(path))
	}
	owner, err := packageOwning(real)
	return File{Path: path, Mode: 0o755, Data: data, From: real, Owner: owner}, err
}

// followNeeded finds the libraries that one loads, and more beside.
func (l *linker) followNeeded(of *elf.File, more ...string) error {
	names, err := of.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(names, more, dlopened(of)) {
		if _, known := l.found[name]; known {
			continue
		}
		f, err := l.findLibrary(name)
		if err != nil {
			return err
		}
		if f == nil && slices.Contains(dlopened(of), name) {
			continue // a feature that this machine does without; the compressors are asked for
		}
		if f == nil {
			return fmt.Errorf("%s is not on this machine", name)
		}
		l.found[name] = *f
		lib, err := elf.NewFile(bytes.NewReader(f.Data))
		if err == nil {
			err = l.followNeeded(lib)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// findLibrary looks for a library; nil where there is none.
func (l *linker) findLibrary(name string) (*File, error) {
	for _, dir := range l.dirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		f, err := readLibrary(path, l.dirs[0])
		return &f, err
	}
	return nil, nil
}

// dlopened are the libraries that one opens only when it needs them, as newer
// systemd says in a note for packagers.
func dlopened(of *elf.File) (names []string) {
	section := of.Section(".note.dlopen")
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return nil
	}
	return readNotes(data, of.ByteOrder)
}

// readNotes reads notes of the kind {"soname": [...]}: two sizes, a type, the
// owner's name, and JSON, each filled up to four bytes.
func readNotes(data []byte, order binary.ByteOrder) (names []string) {
	for len(data) >= 12 {
		owner, text := alignFour(order.Uint32(data)), order.Uint32(data[4:])
		data = data[12:]
		if uint64(len(data)) < uint64(owner)+uint64(alignFour(text)) {
			return names
		}
		var wanted []struct{ Soname []string }
		if json.Unmarshal(bytes.TrimRight(data[owner:owner+text], "\x00"), &wanted) == nil {
			for _, w := range wanted {
				names = append(names, w.Soname...)
			}
		}
		data = data[owner+alignFour(text):]
	}
	return names
}

func alignFour(n uint32) uint32 { return (n + 3) &^ 3 }
