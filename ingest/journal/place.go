//go:build linux && cgo && !nojournal

package journal

import (
	"fmt"
	"time"
)

// openFirst opens the first folder that has files, if there is one, and places itself there.
func (f *follower) openFirst() error {
	dir, err := f.src.findDir()
	if err != nil || dir == "" {
		return err
	}
	if err := f.enterDir(dir); err != nil {
		return err
	}
	return f.checkReadable()
}

// enterDir opens dir and places itself after the last record read.
func (f *follower) enterDir(dir string) error {
	if err := f.src.openDir(dir, f.at.cursor); err != nil {
		return err
	}
	f.out.log = f.log.With().Str("dir", dir).Logger()
	return f.seekResume()
}

// seekResume places the journal after the last record read or, without one, at the
// oldest record of the time that a first start looks back.
func (f *follower) seekResume() error {
	if f.at.cursor == "" {
		return f.seekTime()
	}
	f.verifying, f.seekedAt = true, time.Now()
	if err := f.src.journal.seekCursor(f.at.cursor); err != nil {
		f.gap = nil
		f.noteGap(fmt.Sprintf("the saved position is not a journal cursor: %v", err))
		return f.seekTime()
	}
	return nil
}

// seekTime places the journal at the saved position's time, which is all that
// is left of it, or as far back as a first start looks.
func (f *follower) seekTime() error {
	f.verifying, f.seekedAt = false, time.Time{}
	from := f.Now().Add(-f.MaxAge)
	if f.gap != nil && f.gap.from.After(from) && f.gap.from.Before(f.Now()) {
		from = f.gap.from
	}
	if err := f.src.journal.seekTime(from); err != nil {
		return fmt.Errorf("journal in %s: %w", f.src.dir, err)
	}
	return nil
}

// checkEnd is for the journal's end: it reports whether that end is really all
// that journald stored, and if not, does something about it.
func (f *follower) checkEnd() (whole bool, err error) {
	if err := f.checkReadable(); err != nil {
		return false, err
	}
	dir, stale, err := f.src.currentDir()
	switch {
	case err != nil:
		return false, err
	case dir != f.src.dir:
		f.log.Info().Str("from", f.src.dir).Str("to", dir).Msg("journald writes to another folder")
		return false, f.enterDir(dir)
	case f.verifying && time.Since(f.seekedAt) > f.SelfCheck && f.health.proven:
		// A clock that was set back hides what comes after the position.
		f.gap = nil
		f.noteGap("the saved position is not in the journal, nor anything later")
		f.at = position{}
		return false, f.seekTime()
	}
	whole = !f.verifying && f.health.proven
	if stale {
		err = f.enterDir(f.src.dir)
	}
	return whole, err
}

// checkReadable looks for a record of the running boot until one was found.
func (f *follower) checkReadable() error {
	if f.health.proven {
		return nil
	}
	found, err := f.src.hasRecord(f.health.running)
	if err != nil {
		return err
	}
	if found {
		f.health.markReadable(f.src.dir)
		return nil
	}
	if !f.health.doubtful(f.SelfCheck) {
		return nil
	}
	now, first := f.Now(), f.Since
	if first.IsZero() {
		first = f.health.started.Add(-f.MaxAge)
	}
	if from, due := f.health.reportUnreadable(f.src.dir, first, now); due {
		f.out.addGap(from, now, whyUnreadable, f.health.running)
	}
	return nil
}
