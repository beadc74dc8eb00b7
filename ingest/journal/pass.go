//go:build linux && cgo && !nojournal

package journal

import "time"

// pass takes the record r as read without making an entry of it. It says false,
// and has noted nothing, if the record is wanted, if an entry must be made of it
// to see what it says, or if it does not plainly follow the one before: all that
// goes wrong with a journal is weighed in one place, by weigh.
func (f *follower) pass(r *raw) bool {
	if f.Wanted == nil || !f.calm() {
		return false
	}
	m, ok := f.at.next(r.cursor)
	if !ok {
		return false
	}
	g := &r.glance
	g.Real, g.Mono = m.real, m.mono
	seen, ok := f.feed.Look(g)
	if !ok || f.Wanted(seen.Source, g.Message) {
		return false
	}
	f.feed.Pass(seen)
	// A boot that is over, or a container's, as in take.
	if f.at.boot == f.running || f.cover.boot != f.running {
		f.cover.record(f.at.boot, time.UnixMicro(int64(m.real)).UTC())
		f.cover.spoke(seen.Source, seen.Trust, seen.At)
	}
	f.move(m, r.cursor)
	return true
}

// calm says that a record which follows the one before needs no thought but
// what pass gives it: nothing is sought or owed, and the journal is proven.
func (f *follower) calm() bool {
	return f.taken && f.proven && !f.seeking && !f.again && f.owed == nil && f.running != "" && f.cover.boot != "" && f.cover.node != ""
}

// move notes that the record at cursor was read. What else is kept of a
// position is made by catchUp, once for many records.
func (f *follower) move(m moment, cursor []byte) {
	f.at.number, f.at.mono, f.at.real = m.number, m.mono, m.real
	f.ran = append(f.ran[:0], cursor...)
	f.opened = f.journal.records.at
	f.batch.Lines++
	f.batch.Passed++
	if f.began.IsZero() {
		f.began = time.Now()
	}
}

// catchUp makes `at` the position of the last record that was passed by.
func (f *follower) catchUp() {
	if len(f.ran) == 0 {
		return
	}
	if p, ok := parsePosition(string(f.ran)); ok { // position.next has seen all its parts
		f.at = p
		f.numbers.take(p)
	}
	f.ran = f.ran[:0]
}
