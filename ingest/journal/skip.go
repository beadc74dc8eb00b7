//go:build linux && cgo && !nojournal

package journal

import "time"

// skipRecord takes the record r as read without making an entry of it. It says false,
// and has noted nothing, if the record is wanted, if an entry must be made of it
// to see what it says, or if it does not plainly follow the one before: all that
// goes wrong with a journal is for checkSequence.
func (f *follower) skipRecord(r *raw) bool {
	if f.Wanted == nil || !f.canSkip() {
		return false
	}
	m, ok := f.at.plainlyNext(r.cursor)
	if !ok {
		return false
	}
	h := &r.head
	h.Real, h.Mono = m.real, m.mono
	class, ok := f.out.feed.Classify(h)
	if !ok || f.Wanted(class.Source, h.Message) {
		return false
	}
	f.out.feed.SkipRecord(class)
	// A boot that is over, or a container's, as in take.
	if cover := &f.out.cover; f.at.boot == f.health.running || cover.boot != f.health.running {
		cover.noteRecord(f.at.boot, time.UnixMicro(int64(m.real)).UTC())
		cover.noteSpeaker(class.Source, class.Trust, class.At)
	}
	f.advanceTo(m, r.cursor)
	return true
}

// canSkip reports whether a record which follows the one before needs nothing but what
// skip does: nothing is to be verified, no gap is open, and the journal is readable.
func (f *follower) canSkip() bool {
	return f.read && !f.verifying && !f.retried && f.gap == nil &&
		f.health.proven && f.health.running != "" && f.out.cover.boot != "" && f.out.cover.node != ""
}

// advanceTo notes that the record at cursor was read. What else is kept of a
// position is made by catchUp, once for many records.
func (f *follower) advanceTo(m moment, cursor []byte) {
	f.at.number, f.at.mono, f.at.real = m.number, m.mono, m.real
	f.skippedTo = append(f.skippedTo[:0], cursor...)
	f.src.alive = f.src.journal.fetched
	f.out.countRecord()
	f.out.Passed++
}

// catchUp makes `at` the position of the last record that was skipped.
func (f *follower) catchUp() {
	if len(f.skippedTo) == 0 {
		return
	}
	if p, ok := parsePosition(string(f.skippedTo)); ok { // position.plainlyNext has seen all its parts
		f.at = p
		f.numbers.noteRead(p)
	}
	f.skippedTo = f.skippedTo[:0]
}
