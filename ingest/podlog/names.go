package podlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"coroner/ingest"
	"coroner/ingest/document"
)

var errName = errors.New("not the name of a container's log directory")

// identify is the container whose logs are in the directory path, which is
// "NAMESPACE_POD_UID/CONTAINER".
func identify(path string) (ingest.Entry, error) {
	pod, container, ok := strings.Cut(path, "/")
	if !ok || container == "" || container == "." || container == ".." {
		return ingest.Entry{}, errName
	}
	id, ok := document.Document{Name: path + "/0.log"}.Identity()
	if !ok || id.Container != container || id.Namespace+"_"+id.Pod+"_"+id.PodUID != pod {
		return ingest.Entry{}, errName
	}
	return id, nil
}

// isPod reports whether a directory's name is one that the kubelet gives.
func isPod(name string) bool {
	_, err := identify(name + "/c")
	return err == nil
}

// logName is the name of a log file: N.log is being written, N.log.TIME and
// N.log.TIME.gz were rotated.
type logName struct {
	n     int
	stamp string // "" for N.log
	gz    bool
}

func (l logName) String() string {
	s := strconv.Itoa(l.n) + ".log"
	if l.stamp != "" {
		s += "." + l.stamp
	}
	if l.gz {
		s += ".gz"
	}
	return s
}

// parseLogName reads the name of a log file. A compressed file that is still
// being written, .tmp, is none.
func parseLogName(name string) (l logName, ok bool) {
	digits, rest, ok := strings.Cut(name, ".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || strconv.Itoa(n) != digits {
		return l, false
	}
	l.n = n
	if rest == "log" {
		return l, true
	}
	rest, ok = strings.CutPrefix(rest, "log.")
	l.stamp, l.gz = strings.CutSuffix(rest, ".gz")
	return l, ok && isRotation(l.stamp)
}

// isRotation reports whether s is a time like 20060102-150405.
func isRotation(s string) bool {
	if len(s) != 15 || s[8] != '-' {
		return false
	}
	return strings.Trim(s[:8], "0123456789") == "" && strings.Trim(s[9:], "0123456789") == ""
}

// listing is the names of one container instance's log files.
type listing struct {
	current fs.DirEntry // of N.log, nil if there is none
	rotated []logName   // oldest first as their names have it
}

func (l listing) isEmpty() bool { return l.current == nil && len(l.rotated) == 0 }

// fileNames is the names of the files of N.log, oldest first.
func (l listing) fileNames(n int) []logName {
	if l.current == nil {
		return l.rotated
	}
	return append(slices.Clone(l.rotated), logName{n: n})
}

// listLogs reads a container's directory. The result is by the N of N.log. notRegular
// is told of what has a log's name and is no regular file.
func listLogs(dir string, notRegular func(name string)) (map[int]listing, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	sets := make(map[int]listing)
	for _, e := range entries {
		l, ok := parseLogName(e.Name())
		if !ok {
			continue
		}
		if !e.Type().IsRegular() {
			notRegular(e.Name())
			continue
		}
		set := sets[l.n]
		if l.stamp == "" {
			set.current = e
		} else {
			set.rotated = append(set.rotated, l)
		}
		sets[l.n] = set
	}
	for n, set := range sets {
		set.rotated = oneEach(set.rotated)
		sets[n] = set
	}
	return sets, nil
}

// oneEach sorts rotated files and drops the compressed one where the plain one
// is still there: the kubelet removes that last.
func oneEach(rotated []logName) []logName {
	slices.SortFunc(rotated, func(a, b logName) int {
		if c := strings.Compare(a.stamp, b.stamp); c != 0 || a.gz == b.gz {
			return c
		}
		return cmp.Compare(len(a.String()), len(b.String()))
	})
	return slices.CompactFunc(rotated, func(a, b logName) bool { return a.stamp == b.stamp })
}
