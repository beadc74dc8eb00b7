package podlog

import (
	"time"

	"coroner/ingest"
)

// mark is a mark about the stream.
func (r *Reader) mark(s *stream, m ingest.Mark) ingest.Entry {
	e := s.id
	e.Node, e.Mark = r.c.Node, &m
	if e.At = m.To; !e.At.IsZero() {
		e.Clock = ingest.WallClock
	}
	return e
}

// covered says how far the stream was read. Lines that were too old to be given
// count, but their time is not covered.
func (r *Reader) covered(s *stream) {
	from := s.at.first
	if from.IsZero() {
		from = s.at.last
	}
	r.out.Marks = append(r.out.Marks, r.mark(s, ingest.Mark{Kind: ingest.Covered, From: from, To: s.at.last, Lines: s.at.records}))
	s.changed, s.beat = false, r.now
}

// closeGap tells of a loss; at is when reading went on, zero if not known.
func (r *Reader) closeGap(s *stream, at time.Time) {
	if s.gap == nil {
		return
	}
	if at.IsZero() {
		at = r.c.Now()
	}
	r.out.Entries = append(r.out.Entries, r.mark(s, ingest.Mark{Kind: ingest.Gap, From: s.gap.from, To: at, Why: s.gap.why}))
	s.gap, s.at.first = nil, time.Time{}
}

// lastWords gives the records that were not given as context yet.
func (r *Reader) lastWords(s *stream) {
	if s.words.n == 0 {
		return
	}
	r.resolve(s)
	for i := range s.words.n {
		if e := s.words.at(i).entry; e != nil { // a line is one, see Feed.Alone; what is none must not stop the agent
			r.out.Context = append(r.out.Context, *e)
			r.bytes += len(e.Text)
		}
	}
	s.words = words{}
}

// end: the stream was read to its end. One that had ended long before the
// reader first came has nothing to say.
func (r *Reader) end(s *stream) {
	if old := !s.cutoff.IsZero() && s.relic && s.at.lines > 0; !old {
		r.closeGap(s, time.Time{})
		r.lastWords(s)
		r.covered(s)
		r.ended(s)
	}
	s.shut()
	s.ended, s.due, s.behind, s.feed = true, false, false, nil
}

// lost: the stream's files went before they were read to the end.
func (r *Reader) lost(s *stream) {
	s.gap = &loss{from: s.at.last, why: whyDeleted}
	r.lastWords(s)
	if s.at.lines > 0 {
		r.covered(s)
	}
	r.closeGap(s, time.Time{})
	r.ended(s)
	s.shut()
	s.ended, s.due, s.behind, s.feed = true, false, false, nil
}

func (r *Reader) ended(s *stream) {
	r.out.Marks = append(r.out.Marks, r.mark(s, ingest.Mark{Kind: ingest.Ended, From: s.at.last, To: s.at.last}))
}

// beats adds the marks of the streams that live. That a stream is empty can only
// be said when its end was seen.
func (r *Reader) beats() {
	now := r.c.Now()
	for _, s := range r.order {
		known := s.at.lines > 0 || s.atEnd() && s.seq.lines == 0
		if known && !s.ended && !s.failed && (s.changed || passed(s.beat, now, r.every.beat)) {
			r.covered(s)
		}
	}
}

// sendIfFull sends a batch in the middle of a turn. It holds more where there are
// many streams, for it tells of all of them.
func (r *Reader) sendIfFull() error {
	n := len(r.out.Entries) + len(r.out.Context)
	if n >= max(batchSize, len(r.order)) || r.bytes >= batchBytes || n+r.out.Lines > 0 && r.elapsed(r.sent, 2*r.every.tick) {
		return r.send()
	}
	return nil
}

// sendIfDue sends what a tick's turn found, and at times also nothing: Reached
// moves on. A batch that left in the middle of the turn before is no reason to wait.
func (r *Reader) sendIfDue() error {
	b := &r.out
	some := len(b.Entries)+len(b.Context)+len(b.Marks)+b.Lines > 0
	if some && r.elapsed(r.sent, r.every.tick/2) || r.elapsed(r.sent, r.every.idle) {
		return r.send()
	}
	return nil
}

// send emits a batch.
func (r *Reader) send() error {
	r.beats()
	b := &r.out
	for _, s := range r.order {
		if !s.ended || !s.noFiles {
			b.Positions = append(b.Positions, s.position())
		}
	}
	b.Reached = r.reached.Round(0)
	if err := r.emit(*b); err != nil {
		return err
	}
	*b = Batch{Entries: reuse(b.Entries), Context: reuse(b.Context), Marks: reuse(b.Marks), Positions: reuse(b.Positions)}
	r.bytes, r.sent = 0, r.c.Now()
	return nil
}

// reuse empties a slice so that it keeps nothing alive.
func reuse[T any](s []T) []T {
	if cap(s) > 8*batchSize {
		return nil
	}
	clear(s)
	return s[:0]
}
