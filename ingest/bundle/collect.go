package bundle

import (
	"bufio"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// collector walks the given paths. Symbolic links are followed last, so that a
// file that is also reached by its own name (/var/log/containers links to
// /var/log/pods) is read under that name.
type collector struct {
	bundle *Bundle
	inputs []input
	links  []found
	dirs   seen
	files  seen
	given  []string // the paths themselves, without links
	stdin  bool     // taken already
}

// found is a path, the name its document gets, and where it came from.
type found struct {
	path, name string
	root       int
}

func (c *collector) collectAll(paths []string) {
	for i, p := range paths {
		if to, err := filepath.EvalSymlinks(p); err == nil {
			c.given = append(c.given, to)
		}
		c.addGiven(found{p, docName(p), i})
	}
	for len(c.links) > 0 {
		l := c.links[0]
		c.links = c.links[1:]
		c.followLink(l)
	}
	for i := range paths {
		if dirs := c.dirs.roots[i]; dirs != "" &&
			!slices.ContainsFunc(c.inputs, func(in input) bool { return in.root == i }) {
			c.bundle.addProblem(dirs, "holds no files")
		}
	}
	slices.SortStableFunc(c.inputs, func(a, b input) int {
		return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.name, b.name))
	})
	c.distinct()
}

// addGiven takes one path from the command line.
func (c *collector) addGiven(f found) {
	switch {
	case f.path == "-" && c.stdin:
	case f.path == "-" && c.bundle.opts.Stdin == nil:
		c.bundle.addProblem("stdin", "is not there")
	case f.path == "-":
		f.name, c.stdin = "stdin", true
		c.addStream(f, bufio.NewReaderSize(c.bundle.opts.Stdin, headSize))
	case isStream(f.path):
		file, err := os.Open(f.path)
		if err != nil {
			c.bundle.failOn(f.name, err)
			return
		}
		c.addStream(f, bufio.NewReaderSize(file, headSize))
	default:
		c.addPath(f)
	}
}

// isStream says whether a path is what a shell passes for `<(command)`: already
// open, so that reading it cannot hang on a writer who never comes.
func isStream(path string) bool {
	if path != "/dev/stdin" && !strings.HasPrefix(path, "/dev/fd/") && !strings.HasPrefix(path, "/proc/self/fd/") {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0
}

// addStream takes what can be read only once. An archive is copied first.
func (c *collector) addStream(f found, r *bufio.Reader) {
	in := input{path: f.path, name: f.name, root: f.root, stream: r}
	head, _ := r.Peek(headSize)
	if k := kindOf("", head); k.unpack {
		file, size, err := spoolCopy(r, c.bundle.opts.MaxUnpacked)
		if err != nil {
			c.bundle.failOn(f.name, err)
			return
		}
		in.stream, in.spool, in.size = nil, file, size
	}
	c.inputs = append(c.inputs, in)
}

// followLink takes what a link in a folder leads to: a file, or a folder below one that
// was given. Whoever packed the folder chose where its links lead, and a link to / would
// have the whole machine read.
func (c *collector) followLink(f found) {
	if info, err := os.Stat(f.path); err == nil && info.IsDir() && !c.isBelowGiven(f.path) {
		c.bundle.addProblem(f.name, "is a link to a folder outside of what was given: skipped; give that folder, too")
		return
	}
	c.addPath(f)
}

// isBelowGiven says whether a path leads into one of the given folders, or to one.
func (c *collector) isBelowGiven(path string) bool {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.given, func(root string) bool {
		below, err := filepath.Rel(root, to)
		return err == nil && filepath.IsLocal(below)
	})
}

// addPath takes a path, following a symbolic link.
func (c *collector) addPath(f found) {
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		c.bundle.failOn(printable(f.path), err) // as it was typed
	case info.IsDir():
		c.walkDir(f, info)
	default:
		c.addFile(f, info)
	}
}

func (c *collector) addFile(f found, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		c.bundle.addProblem(f.name, "is a %s, not a file: skipped", specialKind(info.Mode()))
		return
	}
	if c.files.addFile(info) {
		c.inputs = append(
			c.inputs,
			input{path: f.path, name: f.name, root: f.root, size: info.Size(), mtime: info.ModTime()},
		)
	}
}

// walkDir walks a directory in the order of names; one that was walked already, by
// whatever path, is left out.
func (c *collector) walkDir(f found, info fs.FileInfo) {
	if !c.dirs.addFile(info) {
		return
	}
	c.dirs.addRoot(f)
	entries, err := os.ReadDir(f.path)
	if err != nil {
		c.bundle.failOn(f.name, err)
	}
	for _, e := range entries {
		in := found{filepath.Join(f.path, e.Name()), strings.TrimPrefix(f.name+"/"+printable(e.Name()), "/"), f.root}
		if e.Type()&fs.ModeSymlink != 0 {
			c.links = append(c.links, in)
			continue
		}
		c.addPath(in)
	}
}

// specialKind is what a file that is no file is called.
func specialKind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// podFolder is the folder of one pod below /var/log/pods, with its UID (32 hex
// digits without dashes for a static pod).
var podFolder = regexp.MustCompile(`^[^_/]+_[^_/]+_[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`)

// docName names the document at a given path: relative to the path's parent,
// but from the pod's folder on where the path lies inside one, because that
// folder says whose log it is.
func docName(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	parts := strings.Split(filepath.ToSlash(abs), "/")
	for i, p := range parts {
		if podFolder.MatchString(p) {
			return printable(strings.Join(parts[i:], "/"))
		}
	}
	return printable(parts[len(parts)-1])
}

// printable is a file's name fit to print. Whoever made the file chose the name.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(name, "?"))
}

// distinct gives inputs of the same name their paths as names: statements
// about a document are joined by its name.
func (c *collector) distinct() {
	count := map[string]int{}
	for _, in := range c.inputs {
		count[in.name]++
	}
	for i := range c.inputs {
		if in := &c.inputs[i]; count[in.name] > 1 {
			in.name = printable(filepath.ToSlash(filepath.Clean(in.path)))
		}
	}
}

// seen tells files apart by what they are instead of by path.
type seen struct {
	infos map[[2]int64][]fs.FileInfo
	roots map[int]string // directories that were given, by their place
}

// addFile reports whether info is new.
func (s *seen) addFile(info fs.FileInfo) bool {
	key := [2]int64{info.Size(), info.ModTime().UnixNano()}
	for _, other := range s.infos[key] {
		if os.SameFile(info, other) {
			return false
		}
	}
	if s.infos == nil {
		s.infos = map[[2]int64][]fs.FileInfo{}
	}
	s.infos[key] = append(s.infos[key], info)
	return true
}

func (s *seen) addRoot(f found) {
	if s.roots == nil {
		s.roots = map[int]string{}
	}
	if s.roots[f.root] == "" {
		s.roots[f.root] = f.name
	}
}

// mtimeOf is an archive member's time, or that of what holds it.
func mtimeOf(member, outer time.Time) time.Time {
	if member.Year() > 1980 {
		return member
	}
	return outer
}
