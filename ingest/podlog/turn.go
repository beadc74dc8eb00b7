package podlog

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// turn is one pass over what changed. more says that there is something left to
// read at once.
func (r *Reader) turn() (more bool, err error) {
	r.now = r.c.Now()
	r.look()
	for i := 0; i < len(r.order); i++ {
		if s := r.order[i]; s.due && !s.ended {
			if err := r.visit(s); err != nil {
				return false, err
			}
			r.glance()
		}
	}
	if err := r.settle(); err != nil {
		return false, err
	}
	more = slices.ContainsFunc(r.order, func(s *stream) bool { return s.due && !s.waiting && !s.ended })
	return more, r.sendIfDue()
}

// look takes in what the watcher noticed, and begins a round where one is due: with a
// walk over the whole tree where one is due.
func (r *Reader) look() {
	began := r.c.Now()
	round := !r.walked || r.elapsed(r.swept, r.every.sweep)
	r.watch.drain()
	seen := r.watch.take()
	r.stirred = r.stirred || len(seen.changed) > 0
	parked := func(s *stream) bool { return s.parked != nil }
	walk := seen.lost || round && r.mustWalk() || seen.flood && slices.ContainsFunc(r.order, parked)
	if walk {
		r.sweep()
		seen.changed = nil // it has seen them
	}
	r.takeIn(seen)
	if round && !walk {
		r.listen(began)
	}
}

// takeIn makes what was noticed known.
func (r *Reader) takeIn(seen sight) {
	for _, path := range seen.changed {
		r.scanPath(path)
	}
	for _, path := range seen.written {
		r.touch(path)
	}
	if seen.flood {
		r.touchAll()
	}
	for _, c := range seen.caught {
		r.adopt(c)
	}
}

// mustWalk says whether notifications are not enough: not all of them come, names
// changed lately, a stream is not as it should be, or it was long ago.
func (r *Reader) mustWalk() bool {
	return !r.walked || r.stirred || r.troubled || !r.watch.hears() || r.elapsed(r.surveyed, r.every.survey) ||
		slices.ContainsFunc(r.order, func(s *stream) bool { return s.failed || s.absent > 0 || s.gone || s.resumed || s.waiting })
}

// listen begins a round without a walk: what nobody wrote to is where it was.
func (r *Reader) listen(began time.Time) {
	r.swept, r.known = began, began
	if r.rounding {
		return
	}
	r.rounding, r.round = true, began
	for _, s := range r.order {
		switch {
		case s.ended:
		case s.due:
			s.aim()
		case s.idle:
			s.emptyAt = began
		}
	}
}

// glance takes in what appeared or went while streams were read: a pod may be
// gone when the others have had their turn.
func (r *Reader) glance() {
	select {
	case <-r.watch.wake:
		r.look()
	default:
	}
}

// touch: the logs of a container were written to.
func (r *Reader) touch(path string) {
	pod, container := splitPath(path)
	for _, s := range r.tree[pod][container] {
		s.due = true
	}
}

// touchAll: any log may have been written to. Those that are closed the walk has
// looked at.
func (r *Reader) touchAll() {
	for _, s := range r.order {
		s.due = s.due || s.parked == nil
	}
}

// sweep walks the tree and begins a round, unless one is under way.
func (r *Reader) sweep() {
	r.now = r.c.Now()
	began := r.now
	r.swept, r.surveyed, r.stirred = began, began, false
	r.troubled = false
	if !r.walk() {
		return
	}
	r.walked, r.known = true, began
	if r.rounding {
		return
	}
	r.rounding, r.round = true, began
	for _, s := range r.order {
		if !s.ended {
			r.unheard(s)
			s.aim()
		}
	}
}

// unheard notices a stream that grows without notifications, as some network
// file systems have it: one can be under way, but hardly at two walks in a row.
func (r *Reader) unheard(s *stream) {
	if s.due || !s.idle || !r.watch.hears() || s.newest().size() <= s.newest().got {
		s.grew = 0
	} else if s.grew++; s.grew > 1 {
		r.watch.complain(errDeaf)
	}
}

// visit reads a stream on, but not so much that others must wait for long.
func (r *Reader) visit(s *stream) error {
	s.waiting = false
	if len(s.queue) == 0 && !r.ready(s) {
		return nil
	}
	for left := visitBytes; left > 0 && len(s.queue) > 0; {
		f := s.queue[0]
		if f.gap != "" {
			s.gap, f.gap = &loss{from: s.at.last, why: f.gap}, ""
		}
		f.most = r.share(partBytes, leastPart)
		n, err := f.read(r.buf)
		left -= n
		if n > 0 {
			r.take(s, f, r.buf[:n])
		}
		goOn := err == nil || r.advance(s, f, err)
		if err := r.sendIfFull(); err != nil {
			return err
		}
		if !goOn {
			break
		}
	}
	if s.arrived() {
		s.behind = false
	}
	return nil
}

// take hands on what was read, and keeps how old it can be: it was written after
// the stream was empty last.
func (r *Reader) take(s *stream, f *file, chunk []byte) {
	s.idle, s.wrote, s.fresh = false, r.now, s.emptyAt
	see := r.glanceAt(f, chunk)
	one := func(line []byte, cut int, size int64) {
		whole := see.end >= 0
		r.line(s, f, line, cut, size, see.dull(line, cut, size))
		if !whole { // it lies where the begin of the chunk's last line is kept
			s.words.own()
		}
	}
	for len(chunk) > 0 {
		if s.calm() {
			chunk = chunk[r.pass(s, f, &see):]
		}
		chunk = f.next(chunk, one)
	}
	s.words.own()
}

// ready opens a stream's files. Where that is not possible now, the next walk
// or the next round tries again.
func (r *Reader) ready(s *stream) bool {
	err := r.attach(s)
	switch {
	case err == nil && len(s.queue) > 0:
		return true
	case s.gone:
		r.lost(s)
	case errors.Is(err, errStale):
		s.waiting = true
	case errors.Is(err, fs.ErrNotExist):
		s.due = false
	default:
		r.trouble(filepath.Join(r.c.Dir, s.doc), err)
		s.due, s.behind, s.failed = false, false, true
	}
	return false
}

// advance decides what the end of a file means. It is false where there is
// nothing to go on with.
func (r *Reader) advance(s *stream, f *file, err error) bool {
	switch {
	case err != io.EOF:
		return r.broken(s, f, err)
	case f.shrunk():
		r.rewind(s, f)
		return true
	case len(s.queue) > 1:
		if s.waiting = !r.rested(f); s.waiting {
			return false
		}
		r.leave(s, f)
		return true
	case s.gone || s.superseded:
		r.leave(s, f)
		r.end(s)
		return false
	}
	s.idle, s.due, s.emptyAt = true, false, r.now
	return false
}

// rested says whether nobody writes to a rotated file any more.
func (r *Reader) rested(f *file) bool {
	return f.left.IsZero() || r.stopping || r.c.Now().Sub(f.left) >= r.every.linger
}

// leave ends a file: what stands behind its last newline is a line too. After
// the last file nothing will complete a split line.
func (r *Reader) leave(s *stream, f *file) {
	f.rest(func(line []byte, cut int, size int64) { r.line(s, f, line, cut, size, false) })
	if len(s.queue) == 1 {
		r.flush(s, f)
	}
	s.words.own()
	f.close()
	s.queue = s.queue[1:]
}

// rewind begins again with a file that was cut short.
func (r *Reader) rewind(s *stream, f *file) {
	r.flush(s, f)
	s.gap = &loss{from: s.at.last, why: whyShrunk}
	f.again()
}

// broken deals with a file that cannot be read on. Damage in a compressed one
// is for good; anything else may pass.
func (r *Reader) broken(s *stream, f *file, err error) bool {
	r.trouble(filepath.Join(r.c.Dir, s.doc), err)
	if f.bad == nil {
		s.shut()
		s.due, s.behind, s.failed = false, false, true
		return false
	}
	r.leave(s, f)
	s.gap = &loss{from: s.at.last, why: whyBroken}
	if len(s.queue) == 0 { // only a log that is being deleted has nothing newer
		s.gone = true
		r.end(s)
	}
	return !s.ended
}

// settle gives the last words of streams that went quiet, sees whether the
// round is over, and forgets what is gone.
func (r *Reader) settle() error {
	behind, speaking := false, 0
	for _, s := range r.order {
		behind = behind || s.behind && !s.ended
		if s.words.n > 0 {
			speaking++
		}
		if s.atEnd() && s.words.n > 0 && r.now.Sub(s.fresh) >= r.c.Quiet {
			r.lastWords(s)
			if err := r.sendIfFull(); err != nil {
				return err
			}
		}
	}
	r.speaking = speaking
	if r.rounding && !behind {
		r.rounding = false
		if t := r.round.Add(-r.c.Quiet); t.After(r.reached) {
			r.reached = t
		}
	}
	r.drop(func(s *stream) bool { return s.ended && s.noFiles })
	return nil
}

// makeRoom parks the streams that were written to least recently until so many
// files can be opened.
func (r *Reader) makeRoom(keep *stream, need int) {
	for r.Open()+need > r.c.MaxOpen {
		var oldest *stream
		for _, s := range r.order {
			if s != keep && len(s.queue) > 0 && !s.gone && (oldest == nil || s.wrote.Before(oldest.wrote)) {
				oldest = s
			}
		}
		if oldest == nil {
			return
		}
		oldest.park()
	}
}

// park closes a stream's files. Its place is kept, and so is what its file
// looked like if all of it was read.
func (s *stream) park() {
	s.parked = nil
	if f := s.newest(); s.idle && len(s.queue) == 1 {
		if info, err := f.f.Stat(); err == nil && info.Size() == f.got {
			s.parked = info
		}
	}
	s.shut()
	s.due = s.due || s.parked == nil
}

// last reads everything to where it stands now, whoever writes on.
func (r *Reader) last() error {
	r.stopping, r.rounding = true, false
	if r.look(); !r.rounding {
		r.sweep()
	}
	if !r.rounding { // the tree cannot be listed, but what is open can be read
		for _, s := range r.order {
			s.aim()
		}
	}
	for i := 0; i < len(r.order); i++ {
		for s := r.order[i]; s.behind && !s.ended; {
			if err := r.visit(s); err != nil {
				return err
			}
			if s.waiting || !s.due {
				break
			}
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	for _, s := range r.order {
		r.lastWords(s)
		if err := r.sendIfFull(); err != nil {
			return err
		}
	}
	return r.send()
}

// elapsed says whether d has passed since t, also after the clock was set back.
func (r *Reader) elapsed(t time.Time, d time.Duration) bool { return passed(t, r.c.Now(), d) }

func passed(t, now time.Time, d time.Duration) bool {
	p := now.Sub(t)
	return p >= d || p < 0
}
