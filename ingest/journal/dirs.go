package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// needsAccess is what to do about a journal that may not be read.
const needsAccess = "mount the host's journal folder read-only and run as root or in the group systemd-journal"

// newestFile is when the newest journal file of dir, or of a subfolder named by a
// machine id, was written; ok is false if there is none. It looks where
// libsystemd looks, so the journals of namespaces and remote hosts do not
// count. A folder that may not be listed is an error, one that is not there is
// not.
func newestFile(dir string) (newest time.Time, ok bool, err error) {
	entries, err := listDir(dir)
	if err != nil {
		return newest, false, err
	}
	newest, ok = newestOf(dir, entries, newest, ok)
	for _, e := range entries {
		if !machineID(e.Name()) || e.Type().IsRegular() {
			continue
		}
		sub := filepath.Join(dir, e.Name())
		files, err := listDir(sub)
		if err != nil {
			return newest, false, err
		}
		newest, ok = newestOf(sub, files, newest, ok)
	}
	return newest, ok, nil
}

// listDir is what is in dir.
func listDir(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return entries, nil
	}
	return nil, fmt.Errorf("journal in %s: %w; %s", dir, err, needsAccess)
}

// newestOf is the newest of the journal files of dir and what was found before.
func newestOf(dir string, entries []os.DirEntry, newest time.Time, ok bool) (time.Time, bool) {
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".journal") && !strings.HasSuffix(e.Name(), ".journal~") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if ok = true; info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, ok
}

// machineID says whether name is 128 bits in hex, with or without dashes.
func machineID(name string) bool {
	digits := strings.ReplaceAll(name, "-", "")
	return len(digits) == 32 && strings.Trim(strings.ToLower(digits), "0123456789abcdef") == ""
}

// firstDir is the first of dirs that holds journal files, "" if none does.
func firstDir(dirs []string) (string, error) {
	for _, dir := range dirs {
		if _, ok, err := newestFile(dir); ok || err != nil {
			return dir, err
		}
	}
	return "", nil
}

// settled is how much newer the files on disk must be than those in memory
// before the latter count as left behind: while journald copies them to disk,
// it still needs them.
const settled = 10 * time.Second

// folder is where journald was found to write.
type folder struct {
	dir     string    // where to read on
	written time.Time // its newest file
}

// findWritten says where journald writes now, given that it was read to its end. The
// folder stays unless it lost its files or another one has newer ones.
func findWritten(dirs []string, current string) (folder, error) {
	here, ok, err := newestFile(current)
	if err != nil {
		return folder{}, err
	}
	best, passed := folder{current, here}, false
	for _, dir := range dirs {
		if dir == current {
			passed = true
			continue
		}
		there, found, err := newestFile(dir)
		if err != nil || !found {
			continue // it cannot be read: no reason to leave what can be
		}
		if !ok || passed && there.After(here) || !passed && there.Sub(here) > settled {
			return folder{dir, there}, nil
		}
	}
	return best, nil
}
