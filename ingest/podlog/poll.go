package podlog

import "time"

// pollOnce reads what was written since the last poll. more says that there is something
// left to read at once.
func (r *Reader) pollOnce() (more bool, err error) {
	r.updateTree()
	for i := 0; i < len(r.tails.order); i++ {
		if t := r.tails.order[i]; t.state.canProgress() {
			if err := r.read.readSome(t); err != nil {
				return false, err
			}
			r.updateIfWoken()
		}
	}
	if err := r.settleTails(); err != nil {
		return false, err
	}
	more = r.tails.anyTail(func(t *tail) bool { return t.state.canProgress() && !t.state.waitsForPoll() })
	return more, r.out.sendIfDue()
}

// updateTree takes in what changed in the tree and which files were written to, and begins a
// round where one is due.
func (r *Reader) updateTree() {
	now := r.env.c.Now()
	r.env.now = now
	due := !r.tracker.listed || hasElapsed(r.round.checked, now, r.env.every.round)
	seen := r.watch.takeChanges()
	r.tree.dirChanged = r.tree.dirChanged || len(seen.dirs) > 0
	listed := true
	if seen.lost || due && r.tree.mustRescan(now) {
		due, listed = true, r.tree.fullRescan(now)
	} else {
		for _, dir := range seen.dirs {
			r.tree.rescanDir(dir)
		}
	}
	for _, c := range seen.caught {
		r.tracker.adoptCaught(c)
	}
	r.pollFiles(now, due)
	if due {
		r.round.checked = now
	}
	if due && listed {
		r.beginRound(now)
	}
}

// updateIfWoken takes in what appeared or went while tails were read: a pod may be gone
// when the others have been read.
func (r *Reader) updateIfWoken() {
	select {
	case <-r.watch.wake:
		r.updateTree()
	default:
	}
}

// pollFiles looks for files that were written to, unless it just did. A round needs to
// know of what was written until it begins.
func (r *Reader) pollFiles(now time.Time, round bool) {
	if !round && !hasElapsed(r.polled, now, r.env.every.poll/2) {
		return
	}
	r.polled = now
	for _, t := range r.tails.order {
		t.pollFile(r.env.c.Dir, now)
	}
}

// beginRound begins a round, unless one is active. All that was written before now is
// known.
func (r *Reader) beginRound(now time.Time) {
	r.tracker.listedAt = now
	if r.round.active {
		return
	}
	r.round.active, r.round.began = true, now
	for _, t := range r.tails.order {
		t.setTarget()
	}
}

// settleTails gives the last lines of tails to which nothing is written any more, ends the
// round where all of it was read, and forgets what is gone.
func (r *Reader) settleTails() error {
	behind, talking := false, 0
	for _, t := range r.tails.order {
		behind = behind || t.behind && t.state != ended
		if t.records.last.n == 0 {
			continue
		}
		talking++
		if t.state.isRead() && r.env.now.Sub(t.fresh) >= r.env.c.Quiet {
			t.records.giveLastLines()
			if err := r.out.sendIfFull(); err != nil {
				return err
			}
		}
	}
	r.env.talking = talking
	if r.round.active && !behind {
		r.endRound()
	}
	r.tails.dropWhere(func(t *tail) bool { return t.state == ended && t.noFiles })
	return nil
}

// endRound: everything was read that had been written when the round began.
func (r *Reader) endRound() {
	r.round.active = false
	if t := r.round.began.Add(-r.env.c.Quiet); t.After(r.round.reached) {
		r.round.reached = t
		r.out.Reached = t.Round(0)
	}
}

// readToEnd reads everything to where it stands now, even if it is still written to.
func (r *Reader) readToEnd() error {
	r.env.stopping = true
	r.round = round{reached: r.round.reached} // a new one is due
	r.updateTree()
	if !r.round.active { // the tree cannot be listed, but what is open can be read
		for _, t := range r.tails.order {
			t.setTarget()
		}
	}
	for i := 0; i < len(r.tails.order); i++ {
		for t := r.tails.order[i]; t.behind && t.state != ended; {
			if err := r.read.readSome(t); err != nil {
				return err
			}
			if t.state.waitsForPoll() || !t.state.canProgress() {
				break
			}
		}
	}
	if err := r.settleTails(); err != nil {
		return err
	}
	for _, t := range r.tails.order {
		t.records.giveLastLines()
		if err := r.out.sendIfFull(); err != nil {
			return err
		}
	}
	return r.out.sendBatch()
}
