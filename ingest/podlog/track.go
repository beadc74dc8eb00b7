package podlog

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

var errMany = errors.New("too many log files")

// tracker brings the tails in line with the files that were found.
type tracker struct {
	env   *env
	tails *tails
	read  *tailReader

	listed   bool      // the whole tree was listed once; only what that first finds can be old
	listedAt time.Time // when the directories were last listed; a file first seen later was created after it
}

// containerGone: the directory that held the logs is gone.
func (k *tracker) containerGone(pod, container string) {
	for _, t := range k.tails.byPod[pod][container] {
		t.markDeleted()
		t.noFiles = true
	}
}

// containerListed compares what is known of a container with its files.
func (k *tracker) containerListed(pod, container string, all map[int]listing) {
	path := pod + "/" + container
	numbers := slices.Sorted(maps.Keys(all))
	if n := len(numbers) - maxInstances; n > 0 {
		dir := filepath.Join(k.env.c.Dir, path)
		k.env.problems.warnOnce(dir, errMany, "of very many instances of a container the latest are followed")
		numbers = numbers[n:]
	}
	newest := -1
	if len(numbers) > 0 {
		newest = numbers[len(numbers)-1]
	}
	for _, n := range numbers {
		if id := (key{path, n}); k.tails.byKey[id] == nil {
			k.addFound(id, n < newest)
		}
	}
	for _, t := range k.tails.byPod[pod][container] {
		if t.n < newest {
			t.supersede()
		}
		k.compareFiles(t, all[t.n])
	}
}

// addFound makes a new tail known, nil if there are too many.
func (k *tracker) addFound(id key, superseded bool) *tail {
	t, err := newTail(id, k.env, k.read.out)
	if err == nil {
		err = k.tails.addTail(t)
	}
	if err != nil {
		k.env.problems.tooMany(id.path, err)
		return nil
	}
	t.emptyAt = k.listedAt
	if !k.listed {
		t.records.cutoff, t.startedSuperseded = k.env.now.Add(-k.env.c.MaxAge), superseded
	}
	return t
}

// compareFiles brings a tail in line with the files that it has now.
func (k *tracker) compareFiles(t *tail, l listing) {
	t.noFiles = l.isEmpty()
	if t.state == ended {
		return
	}
	if t.fate != growing {
		t.lookAgain()
	}
	switch {
	case t.noFiles && len(t.files) > 0:
		if t.newestFile().unlinked() { // a rename can hide a file from one listing
			t.markDeleted()
		}
	case t.noFiles:
		if t.absent++; t.absent > 1 {
			t.markDeleted()
		}
	case len(t.files) > 0:
		k.findNewer(t, l)
	default:
		t.absent = 0
		k.openAgain(t, l)
	}
}

// openAgain opens a tail that has no open files, unless it was closed as it still is.
func (k *tracker) openAgain(t *tail, l listing) {
	if t.state == closedIdle && l.current != nil {
		if info, err := l.current.Info(); err == nil && !t.closedFileChanged(info) {
			return
		}
	}
	t.lookAgain()
	if t.state.canProgress() && !k.read.files.isFull() {
		k.read.openTail(t)
	}
}

// findNewer finds the files that came after the newest one that is open.
func (k *tracker) findNewer(t *tail, l listing) {
	f := t.newestFile()
	if l.current != nil {
		if info, err := l.current.Info(); err != nil || os.SameFile(info, f.info) {
			return
		}
	} else if !f.unlinked() {
		return // it was renamed, and its successor is yet to come
	}
	s, err := k.read.files.openAll(t)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errStale) {
			k.env.problems.addUnread(filepath.Join(k.env.c.Dir, t.docName()), err)
		}
		return
	}
	rest, sure := s.filesAfter(t)
	s.closeAllBut(rest)
	if len(rest) == 0 {
		if !s.current {
			t.markDeleted()
		}
		t.lookAgain()
		return
	}
	if !sure {
		rest[0].lost = whyRotated
	}
	k.addNewer(t, rest)
}

// addNewer puts newer files after those that are open. The runtime may still write a
// few lines to a file after it has made the next.
func (k *tracker) addNewer(t *tail, rest []*file) {
	for _, f := range append([]*file{t.newestFile()}, rest[:len(rest)-1]...) {
		f.replaced = k.env.now
	}
	t.addFiles(rest)
}

// adoptCaught takes over a file that was opened the moment it appeared. Where its
// directory is still there the rescan has found it, too.
func (k *tracker) adoptCaught(c caughtFile) {
	t := k.tails.byKey[c.key]
	if t == nil {
		if t = k.addFound(c.key, false); t == nil {
			c.file.closeFile()
			return
		}
		t.records.cutoff, t.startedSuperseded = time.Time{}, false
	}
	isOpen := func(f *file) bool { return os.SameFile(f.info, c.file.info) }
	switch {
	case t.state == ended || t.history == resumed || slices.ContainsFunc(t.files, isOpen):
		c.file.closeFile()
	case t.history == discovered:
		t.addFiles([]*file{c.file})
	case len(t.files) > 0 && k.cameAndWent(t, c.file):
		k.addNewer(t, []*file{c.file})
	default:
		c.file.closeFile()
	}
	if _, err := os.Lstat(filepath.Join(k.env.c.Dir, t.path)); errors.Is(err, fs.ErrNotExist) {
		t.markDeleted()
		t.noFiles = true
	}
}

// cameAndWent reports whether f came and went while nobody looked: it is newer than all
// that was read and all that is open, and the log has no file any more. As long as it has
// one, its files are listed, f among them under another name or compressed, and so is what
// came between the newest that is open and f.
func (k *tracker) cameAndWent(t *tail, f *file) bool {
	newest := t.newestFile()
	if f.refreshHead() != nil || newest.refreshHead() != nil {
		return false
	}
	_, err := k.read.files.listFiles(t)
	first := f.head.firstTime()
	return errors.Is(err, fs.ErrNotExist) && first.After(t.records.done.last) && first.After(newest.head.firstTime())
}
