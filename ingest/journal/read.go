//go:build linux && cgo && !nojournal

package journal

import (
	"fmt"
	"time"
)

// readNext reads one record, or notes the journal's end.
func (f *follower) readNext() error {
	r, err := f.src.journal.nextRecord()
	if err == nil && r == nil {
		f.src.atEnd = true
		return nil
	}
	if err == nil && r.err == nil && f.skipRecord(r) {
		return nil
	}
	f.catchUp()
	if err != nil {
		f.src.failed = true
		f.log.Warn().Str("dir", f.src.dir).Err(err).Msg("the journal cannot be read on, opening it anew")
		return f.enterDir(f.src.dir)
	}
	if r.err != nil {
		return f.skipDamaged(r.err)
	}
	p, ok := parsePosition(string(r.cursor))
	if !ok {
		return f.skipDamaged(fmt.Errorf("cursor %q is of no known form", r.cursor))
	}
	if f.verifying && f.verifyResume(p) {
		return nil
	}
	return f.checkSequence(r, p)
}

// verifyResume looks at the first records after a seek to f.at, and reports whether p
// was read before. Only the record of f.at itself shows that nothing is
// missing, or the one that comes right after it.
func (f *follower) verifyResume(p position) (before bool) {
	before = p.sameRecord(f.at)
	if !before && p.id != f.at.id && p.boot == f.at.boot && p.mono == f.at.mono {
		return true // a copy under other numbers: some record of this microsecond is the one
	}
	f.verifying, f.seekedAt = false, time.Time{}
	started := f.out.cover.boot != ""
	switch {
	case before:
		f.numbers.noteRead(p)
	case p.number == f.at.number+1 && (p.id == f.at.id || p.boot == f.at.boot):
	case !f.read:
		f.noteGap("journal vacuumed past the saved position")
	default:
		f.noteGap("journal vacuumed past the last record read")
	}
	if !started && f.gap == nil {
		f.beginCoverage(f.at.boot, f.at.storedAt())
	}
	if before {
		f.at = p
	}
	return before
}

// beginCoverage starts the coverage of a boot of which an earlier part was read by
// somebody else, or by nobody.
func (f *follower) beginCoverage(boot string, from time.Time) {
	f.out.cover.beginBoot(boot, from)
	for i, spoke := range f.src.speakers(boot) {
		f.out.cover.speakers[i].spoke = spoke
	}
}

// checkSequence takes the record at p if it is the next one.
func (f *follower) checkSequence(r *raw, p position) error {
	step := f.numbers.judgeNext(p)
	switch {
	case step == repeated:
		return nil
	case step == jumps && !f.retried && f.gap == nil:
		// libsystemd passes over records of a file that it did not know yet, or
		// that came while it looked at the others. Placed anew, it finds them.
		f.retried = true
		_ = f.src.journal.waitChange(0) // it only takes note of new files; listen tells of an error
		f.log.Debug().Uint64("number", p.number).Uint64("after", f.at.number).
			Msg("journal records were passed over, looking again")
		return f.seekResume()
	case step == jumps:
		f.noteGap(fmt.Sprintf("journal records are missing before number %d: "+
			"vacuumed before they were read, or their file is damaged", p.number))
	}
	f.retried = false
	f.takeRecord(r, p, step == copied)
	return nil
}

// takeRecord hands out the record at p, unless it is a copy of the one before.
func (f *follower) takeRecord(r *raw, p position, copied bool) {
	f.health.noteRecord(p, f.src.dir)
	cover := &f.out.cover
	if cover.node == "" {
		cover.node = r.fieldValue("_HOSTNAME")
	}
	if cover.boot == "" {
		f.beginCoverage(p.boot, p.storedAt())
	}
	f.emitGap(p)
	foreign := p.boot != f.health.running && cover.boot == f.health.running
	if !foreign {
		cover.noteRecord(p.boot, p.storedAt())
	}
	f.numbers.noteRead(p)
	f.at, f.read, f.src.alive = p, true, time.Now()
	f.out.countRecord()
	if !copied {
		f.out.addRecord(r, p, foreign)
	}
}

// emitGap gives the gap that was noted: it ends with the record at p.
func (f *follower) emitGap(p position) {
	if f.gap != nil {
		f.out.addGap(f.gap.from, p.storedAt(), f.gap.why, p.boot)
		f.gap = nil
	}
}

// skipDamaged passes over a record that cannot be decoded, even on a second look.
func (f *follower) skipDamaged(why error) error {
	if !f.retried {
		f.retried = true
		return f.seekResume()
	}
	f.noteGap(fmt.Sprintf("a journal record cannot be decoded: %v", why))
	return nil
}
