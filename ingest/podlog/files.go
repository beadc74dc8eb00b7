package podlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Why lines are missing, in words for the reader of a Gap.
const (
	whyRotated = "log files were rotated away or replaced before they were read"
	whyShrunk  = "the log file was truncated"
	whyDeleted = "the log was deleted before it was read to its end"
	whyClosed  = "a rotated log file could not be opened"
	whyBroken  = "a compressed log file is damaged"
)

var errStale = errors.New("log files change while they are listed")

// fileSet is the files of one container instance, open and in the order in which
// they were written.
type fileSet struct {
	files   []*file
	current bool // the last of them is the one that is being written
}

// opener opens the files of tails, up to Config.MaxOpen.
type opener struct {
	env   *env
	tails *tails
}

// openAll opens all files of a tail. A rotation in the middle of that would hide a
// file, so the names must be the same before and after.
func (o *opener) openAll(t *tail) (s fileSet, err error) {
	for range 5 {
		if s, err = o.openOnce(t); !errors.Is(err, errStale) {
			break
		}
	}
	return s, err
}

func (o *opener) openOnce(t *tail) (s fileSet, err error) {
	before, err := o.listFiles(t)
	if err != nil {
		return s, err
	}
	names := before.fileNames(t.n)
	o.makeRoom(t, len(names))
	if err = o.openEach(&s, t, names); err == nil {
		var after listing
		if after, err = o.listFiles(t); err == nil && !slices.Equal(names, after.fileNames(t.n)) {
			err = errStale
		}
	}
	if err != nil {
		s.closeAllBut(nil)
		return fileSet{}, err
	}
	s.current = before.current != nil
	s.sortByTime()
	return s, nil
}

// listFiles is what files the tail has; fs.ErrNotExist if it has none.
func (o *opener) listFiles(t *tail) (listing, error) {
	all, err := listLogs(filepath.Join(o.env.c.Dir, t.path), func(string) {})
	if err != nil {
		return listing{}, err
	}
	l := all[t.n]
	if l.isEmpty() {
		return l, fs.ErrNotExist
	}
	return l, nil
}

// openEach opens the files. A rotated one that cannot be opened is a gap before
// the next; the one that is being written must be readable.
func (o *opener) openEach(s *fileSet, t *tail, names []logName) error {
	lost := ""
	for _, name := range names {
		path := filepath.Join(o.env.c.Dir, t.path, name.String())
		f, err := openLog(path, name.gz, &o.env.opened)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errStale
		case err != nil && name.stamp == "":
			return err
		case err != nil:
			o.env.problems.addUnread(path, err)
			lost = whyClosed
			continue
		}
		f.lost, lost = lost, ""
		s.files = append(s.files, f)
	}
	return nil
}

// isFull reports whether no more files may be open.
func (o *opener) isFull() bool { return int(o.env.opened.Load()) >= o.env.c.MaxOpen }

// makeRoom closes the tails that were read least recently until so many files can be
// opened.
func (o *opener) makeRoom(keep *tail, need int) {
	for int(o.env.opened.Load())+need > o.env.c.MaxOpen {
		var oldest *tail
		for _, t := range o.tails.order {
			candidate := t != keep && len(t.files) > 0 && t.fate != deleted
			if candidate && (oldest == nil || t.readAt.Before(oldest.readAt)) {
				oldest = t
			}
		}
		if oldest == nil {
			return
		}
		oldest.closeIdle()
	}
}

// sortByTime sorts the rotated files by the times of their first lines: the times in
// their names are local and repeat an hour in autumn.
func (s *fileSet) sortByTime() {
	rotated := s.files
	if s.current {
		rotated = s.files[:len(s.files)-1]
	}
	if slices.ContainsFunc(rotated, func(f *file) bool { return f.head.firstTime().IsZero() }) {
		return
	}
	slices.SortStableFunc(rotated, func(a, b *file) int { return a.head.firstTime().Compare(b.head.firstTime()) })
}

// indexOf is the index of the file that holds an offset, -1 if none does.
func (s fileSet) indexOf(o fileOffset) int {
	return slices.IndexFunc(s.files, func(f *file) bool { return f.contains(o) })
}

// closeAllBut closes all files but the last ones, those of rest.
func (s fileSet) closeAllBut(rest []*file) {
	for _, f := range s.files[:len(s.files)-len(rest)] {
		f.closeFile()
	}
}

// filesAfter is the files that follow the newest one that a tail has open. sure is false
// if that one is not among them, and so perhaps not all of its successors either.
func (s fileSet) filesAfter(t *tail) (rest []*file, sure bool) {
	f := t.newestFile()
	i := slices.IndexFunc(s.files, func(g *file) bool { return os.SameFile(f.info, g.info) })
	if i < 0 {
		_ = f.refreshHead() // what cannot be read tells nothing
		i = s.indexOf(f.offsetAt(0))
	}
	if i >= 0 {
		return s.files[i+1:], true
	}
	last := t.records.done.last
	for _, f := range t.files {
		if first := f.head.firstTime(); first.After(last) {
			last = first
		}
	}
	return s.filesNewer(last), len(f.head.text) == 0
}

// filesNewer is the files that begin later than a time. The one that is being
// written is always among them: better twice than never.
func (s fileSet) filesNewer(last time.Time) []*file {
	i := slices.IndexFunc(s.files, func(f *file) bool { return f.head.firstTime().After(last) })
	if i < 0 {
		if i = len(s.files); s.current {
			i--
		}
	}
	return s.files[i:]
}

// filesSince is the files that can hold lines from a time on.
func (s fileSet) filesSince(t time.Time) []*file {
	for i := len(s.files) - 1; i > 0; i-- {
		if first := s.files[i].head.firstTime(); !first.IsZero() && !first.After(t) {
			return s.files[i:]
		}
	}
	return s.files
}
