package podlog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coroner/ingest/document"
)

// key names one instance of one container.
type key struct {
	path string // "NAMESPACE_POD_UID/CONTAINER"
	n    int    // of N.log
}

// tail follows the log of one container instance: a sequence of files, the newest of
// which may grow.
type tail struct {
	key
	records *records
	files   []*file // open, oldest first

	state   state
	fate    fate
	history history
	absent  int  // listings in a row that held no file of it
	noFiles bool // nothing of it is left on the disk
	behind  bool // it is not yet read to where the round wants it

	startedSuperseded bool        // there was a newer instance when it was found
	closedInfo        fs.FileInfo // of the file that was closed in closedIdle

	emptyAt time.Time // when nothing was left to read last
	fresh   time.Time // the last bytes that were read were written after this
	readAt  time.Time // when bytes were read last
}

// state is what a tail does. It changes in the methods of tail in this file only.
type state uint8

const (
	unopened   state = iota // its files are to be opened at the next poll
	reading                 // its files are open and may hold something to read
	resting                 // a rotated file was read and may still be written to for a moment
	retrying                // its files changed while they were listed: unopened at the next poll
	atEnd                   // its files are open and were read to the end
	closedIdle              // the same, but closed to make room for others
	missing                 // it had no files when they were listed; the next rescan tells
	failed                  // its files could not be read; the next rescan tries again
	ended                   // it was read to its end for good
)

// canProgress reports whether there is something to do for it at a poll.
func (s state) canProgress() bool { return s <= retrying }

// waitsForPoll reports whether that is to be done at the next poll, not at once.
func (s state) waitsForPoll() bool { return s == resting || s == retrying }

// isRead reports whether nothing was left to read when it was looked at last.
func (s state) isRead() bool { return s == atEnd || s == closedIdle }

// fate is why no more is going to be written to a log.
type fate uint8

const (
	growing    fate = iota
	superseded      // there is a newer instance of the container
	deleted         // its files were deleted
)

// history is what is known of a log's files from before.
type history uint8

const (
	discovered history = iota // none was open yet
	resumed                   // a position of an earlier run, and none was open yet
	opened                    // some were open
)

func newTail(k key, env *env, out *batcher) (*tail, error) {
	if _, err := identify(k.path); err != nil {
		return nil, err
	}
	d := document.Document{Name: fmt.Sprintf("%s/%d.log", k.path, k.n), Controller: env.c.Controller}
	return &tail{key: k, records: newRecords(env, out, d)}, nil
}

// docName is the path of N.log below Config.Dir.
func (t *tail) docName() string { return t.records.id.Doc }

// newestFile is the file that may still grow, nil if none is open.
func (t *tail) newestFile() *file {
	if len(t.files) == 0 {
		return nil
	}
	return t.files[len(t.files)-1]
}

// addFiles makes open files the next to be read.
func (t *tail) addFiles(files []*file) {
	t.files = append(t.files, files...)
	t.history, t.closedInfo = opened, nil
	if t.state != resting {
		t.state = reading
	}
}

// resumeReading ends a wait that was until the next poll.
func (t *tail) resumeReading() {
	switch t.state {
	case resting:
		t.state = reading
	case retrying:
		t.state = unopened
	}
}

// waitForWriter waits for the writer of a rotated file.
func (t *tail) waitForWriter() { t.state = resting }

// retryListing waits for a moment in which the files do not change.
func (t *tail) retryListing() { t.state = retrying }

// waitForFiles waits for the next rescan: there are no files now.
func (t *tail) waitForFiles() { t.state = missing }

// reachEnd takes note that everything was read.
func (t *tail) reachEnd(now time.Time) { t.state, t.emptyAt = atEnd, now }

// lookAgain has a tail that does nothing look at its files again.
func (t *tail) lookAgain() {
	switch t.state {
	case atEnd:
		t.state = reading
	case closedIdle, missing, failed:
		t.state = unopened
	}
}

// supersede takes note of a newer instance of the container.
func (t *tail) supersede() { t.fate = max(t.fate, superseded) }

// markDeleted takes note that the files were deleted. What is open is still read.
func (t *tail) markDeleted() {
	t.fate = deleted
	t.lookAgain()
}

// failReading closes files that cannot be read.
func (t *tail) failReading() {
	t.closeFiles()
	t.state, t.behind = failed, false
}

// endForGood is for good.
func (t *tail) endForGood() {
	t.closeFiles()
	t.state, t.behind, t.records.feed = ended, false, nil
}

// closeIdle closes the files to make room for others. Reading goes on from where it
// was, which is at once unless everything was read.
func (t *tail) closeIdle() {
	t.closedInfo = nil
	next := unopened
	if f := t.newestFile(); t.state == atEnd && len(t.files) == 1 {
		if info, err := f.f.Stat(); err == nil && info.Size() == f.readTo {
			t.closedInfo, next = info, closedIdle
		}
	}
	t.closeFiles()
	t.state = next
}

// closeFiles closes the files and forgets what was read and not given.
func (t *tail) closeFiles() {
	for _, f := range t.files {
		f.closeFile()
	}
	t.files = nil
	t.records.forgetSplit()
}

// pollFile notices that the newest file was written to since its end was seen.
func (t *tail) pollFile(dir string, now time.Time) {
	switch t.state {
	case atEnd:
		if t.newestFile().hasChanged() {
			t.lookAgain()
			return
		}
	case closedIdle:
		if info, err := os.Lstat(filepath.Join(dir, t.docName())); err != nil || t.closedFileChanged(info) {
			t.lookAgain()
			return
		}
	default:
		return
	}
	t.emptyAt = now
}

// closedFileChanged reports whether the file of a closed tail is not what it was.
func (t *tail) closedFileChanged(now fs.FileInfo) bool {
	was := t.closedInfo
	return !os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())
}

// setTarget makes what the files hold now the target of a round.
func (t *tail) setTarget() {
	t.behind = !t.state.isRead() && t.state != ended && t.state != failed
	if !t.behind {
		return
	}
	for _, f := range t.files {
		f.target = f.currentSize()
	}
}

// reachedTarget reports whether the round's target was read. Exactly at the target the
// end must have been seen, too.
func (t *tail) reachedTarget() bool {
	switch t.state {
	case atEnd, closedIdle, ended, failed:
		return true
	}
	return len(t.files) == 1 && t.files[0].readTo > t.files[0].target
}
