// Package licence lists the modules that a program is linked from, and the
// licences that they are under.
//
// Invariant: a licence is known only by its text. A module without a licence
// file, and a file whose text is not known, are errors: nobody guesses.
//
// Crash behaviour: it keeps no state.
package licence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Linked is a module that a program is linked from.
type Linked struct {
	Module, Version string
	Licences        []string // SPDX identifiers, sorted; several where parts of it differ
	Files           []string // the licence files and notices of the packages that are linked
}

// Of lists what a program of this module is linked from on a platform, sorted
// by module. It is to be called somewhere in the module.
func Of(program, goos, goarch, cgo string) ([]Linked, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", "coroner/cmd/"+program)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED="+cgo)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", program, err)
	}
	modules := map[string]*Linked{}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		if err := p.addTo(modules); err != nil {
			return nil, err
		}
	}
	return sortedModules(modules), nil
}

func sortedModules(modules map[string]*Linked) (out []Linked) {
	for _, m := range modules {
		slices.Sort(m.Licences)
		slices.Sort(m.Files)
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b Linked) int { return strings.Compare(a.Module, b.Module) })
	return out
}

// listed is a package as go list has it.
type listed struct {
	Dir      string
	Standard bool
	Module   *module
}

type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// addTo adds the package's licence to those of its module.
func (p *listed) addTo(modules map[string]*Linked) error {
	name, version := p.Module.Path, p.Module.Version
	if r := p.Module.Replace; r != nil {
		name, version = r.Path, r.Version
	}
	m := modules[name]
	if m == nil {
		m = &Linked{Module: name, Version: version}
		modules[name] = m
	}
	files, err := nearestLicence(p.Dir, p.Module.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, file := range files {
		if slices.Contains(m.Files, file) {
			continue
		}
		m.Files = append(m.Files, file)
		if isNotice(file) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found := Identify(string(data))
		if len(found) == 0 {
			return fmt.Errorf("%s: the licence in %s is not known", name, file)
		}
		m.Licences = append(m.Licences, found...)
		slices.Sort(m.Licences)
		m.Licences = slices.Compact(m.Licences)
	}
	return nil
}

// licenceFile is the name of a file with a licence; of the folders between a
// package and its module's root the nearest one that has some counts. A file
// such as LICENSE_list is of one file beside it and says nothing of the rest.
var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-_.]\w+)*$`)
	otherFile   = regexp.MustCompile(`(?i)(\.go|-logo)$`)
	partialFile = regexp.MustCompile(`(?i)_list$`)
)

func isNotice(path string) bool { return strings.HasPrefix(filepath.Base(path), "NOTICE") }

func nearestLicence(dir, root string) (partial []string, err error) {
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		var licences, notices []string
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.IsDir():
			case isNotice(path):
				notices = append(notices, path)
			case !licenceFile.MatchString(e.Name()) || otherFile.MatchString(e.Name()):
			case partialFile.MatchString(e.Name()):
				partial = append(partial, path)
			default:
				licences = append(licences, path)
			}
		}
		if len(licences) > 0 {
			return slices.Concat(licences, partial, notices), nil
		}
		if dir == root {
			return nil, errors.New("no licence file")
		}
		dir = filepath.Dir(dir)
	}
}
