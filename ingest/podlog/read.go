package podlog

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// tailReader reads tails on from where they are.
type tailReader struct {
	env   *env
	files opener
	lines lineReader
	out   *batcher
	buf   []byte
}

// readSome reads a tail on, but not so much that others have to wait for long.
func (r *tailReader) readSome(t *tail) error {
	t.resumeReading()
	if len(t.files) == 0 && !r.openTail(t) {
		return nil
	}
	for left := pollBytes; left > 0 && len(t.files) > 0; {
		f := t.files[0]
		if f.lost != "" {
			t.records.noteLost(f.lost)
			f.lost = ""
		}
		n, err := f.readInto(r.buf)
		left -= n
		if n > 0 {
			t.readAt, t.fresh = r.env.now, t.emptyAt
			r.lines.readChunk(t.records, f, r.buf[:n])
		}
		more := err == nil || r.nextFile(t, f, err)
		if err := r.out.sendIfFull(); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if t.reachedTarget() {
		t.behind = false
	}
	return nil
}

// openTail opens a tail's files and reports whether there are some to read.
func (r *tailReader) openTail(t *tail) bool {
	err := r.openRest(t)
	switch {
	case err == nil && len(t.files) > 0:
		return true
	case t.fate == deleted:
		r.endUnread(t)
	case errors.Is(err, errStale):
		t.retryListing()
	case errors.Is(err, fs.ErrNotExist):
		t.waitForFiles()
	default:
		r.env.problems.addUnread(filepath.Join(r.env.c.Dir, t.docName()), err)
		t.failReading()
	}
	return false
}

// openRest opens what of the tail is still to be read.
func (r *tailReader) openRest(t *tail) error {
	s, err := r.files.openAll(t)
	if err != nil {
		return err
	}
	rest := s.files
	switch {
	case t.records.done.hashed > 0:
		rest = r.findPlace(t, s)
	case !t.records.cutoff.IsZero():
		rest = s.filesSince(t.records.cutoff)
	}
	s.closeAllBut(rest)
	for _, f := range rest {
		f.target = f.currentSize()
	}
	t.addFiles(rest)
	t.records.pending = nil
	if len(rest) == 0 {
		t.markDeleted()
	}
	return nil
}

// findPlace finds the file and the offset where reading goes on, whatever the file's name is
// now.
func (r *tailReader) findPlace(t *tail, s fileSet) (rest []*file) {
	i := s.indexOf(t.records.done.fileOffset)
	why := whyRotated
	switch {
	case i < 0:
		rest = s.filesNewer(t.records.done.last)
	case s.files[i].currentSize() < t.records.done.bytes:
		rest, why = s.files[i:], whyShrunk
	default:
		s.files[i].lost = ""
		err := rereadLastLines(t.records, s, i, r.buf)
		if err == nil {
			return s.files[i:]
		}
		r.env.problems.addUnread(filepath.Join(r.env.c.Dir, t.docName()), err)
		rest, why = s.files[i+1:], whyBroken
	}
	if len(rest) > 0 {
		rest[0].lost = why
	}
	return rest
}

// nextFile decides what the end of a file means. It is false where there is nothing to
// read on now.
func (r *tailReader) nextFile(t *tail, f *file, err error) bool {
	switch {
	case err != io.EOF:
		return r.unreadable(t, f, err)
	case f.hasShrunk():
		t.records.flushSplit(f.offsetAt(f.taken))
		t.records.noteLost(whyShrunk)
		f.startOver()
		return true
	case len(t.files) > 1 && !r.isSettled(f):
		t.waitForWriter()
		return false
	case len(t.files) > 1:
		r.leaveFile(t, f)
		return true
	case t.fate != growing:
		r.leaveFile(t, f)
		r.endTail(t)
		return false
	}
	t.reachEnd(r.env.now)
	return false
}

// isSettled reports whether nobody writes to a rotated file any more.
func (r *tailReader) isSettled(f *file) bool {
	return f.replaced.IsZero() || r.env.stopping || r.env.c.Now().Sub(f.replaced) >= r.env.every.linger
}

// leaveFile ends a file. What comes after its last newline is a line, too. After the last
// file nothing will complete a split line.
func (r *tailReader) leaveFile(t *tail, f *file) {
	r.lines.readRest(t.records, f)
	if len(t.files) == 1 {
		t.records.flushSplit(f.offsetAt(f.taken))
	}
	f.closeFile()
	t.files = t.files[1:]
}

// unreadable deals with a file that cannot be read on. Damage in a compressed one is
// for good; anything else may pass. It reports whether there is something to read on.
func (r *tailReader) unreadable(t *tail, f *file, err error) bool {
	r.env.problems.addUnread(filepath.Join(r.env.c.Dir, t.docName()), err)
	if f.damaged == nil {
		t.failReading()
		return false
	}
	r.leaveFile(t, f)
	t.records.noteLost(whyBroken)
	if len(t.files) == 0 { // only a log that is being deleted has nothing newer
		t.markDeleted()
		r.endTail(t)
	}
	return t.state != ended
}

// endTail ends a tail that was read to its end. One that had ended long before it was found
// has nothing to say.
func (r *tailReader) endTail(t *tail) {
	rec := t.records
	if tooOld := !rec.cutoff.IsZero() && t.startedSuperseded && rec.done.lines > 0; !tooOld {
		rec.giveGap(time.Time{})
		rec.giveLastLines()
		rec.giveCovered()
		rec.giveEnded()
	}
	t.endForGood()
}

// endUnread ends a tail whose files were deleted before they were read to the end.
func (r *tailReader) endUnread(t *tail) {
	rec := t.records
	rec.noteLost(whyDeleted)
	rec.giveLastLines()
	if rec.done.lines > 0 {
		rec.giveCovered()
	}
	rec.giveGap(time.Time{})
	rec.giveEnded()
	t.endForGood()
}
