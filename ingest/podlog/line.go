package podlog

import (
	"bytes"
	"time"

	"coroner/ingest"
)

// line takes one line; size is what it takes in the file. The records that it
// completes go into the batch. A line that is dull nobody wants to see: where it
// means nothing for the others either, it only counts.
func (r *Reader) line(s *stream, f *file, line []byte, cut int, size int64, dull bool) {
	h := r.clock.header(line)
	if s.seq.lines > 0 && !h.whole && !h.split {
		r.flush(s, f) // what no runtime wrote does not go on with a split line
	}
	f.off += size
	s.count(h.at, size)
	if s.passes(h.at) {
		if !h.split || s.seq.bytes >= maxLine {
			r.commit(s, f, 1)
		}
		return
	}
	r.closeGap(s, h.at)
	line = bytes.TrimRight(line, "\r")
	read := h.size > 0 && cut == 0 && s.feed.Reads()
	alone := read && h.whole && s.seq.lines == 1 && len(line) <= dullSize && s.feed.Alone(h.output)
	if alone && dull && s.known && s.feed.Passes(line[h.size:]) {
		s.feed.Skip(h.at)
		r.rememberLine(s, s.at.spot, line, s.at.lines+1)
		r.out.Passed++
		r.commit(s, f, 1)
		return
	}
	got := s.entries(line, cut, h, read)
	for i := range got {
		r.give(s, &got[i], s.at.lines+s.seq.lines, line, alone)
	}
	switch {
	case !h.split || len(got) > 0:
		r.commit(s, f, len(got))
	case s.seq.bytes >= maxLine:
		r.flush(s, f)
	}
}

// entries are what the line is, or completes.
func (s *stream) entries(line []byte, cut int, h header, read bool) []ingest.Entry {
	if read {
		return s.feed.Record(h.at, h.output, line[h.size:], h.whole)
	}
	return s.feed.Line(line, cut)
}

// count adds a line to those that were read behind the stream's place.
func (s *stream) count(at time.Time, size int64) {
	s.seq.lines++
	s.seq.bytes += size
	if at.IsZero() {
		return
	}
	if s.seq.first.IsZero() {
		s.seq.first = at
	}
	if at.After(s.seq.last) {
		s.seq.last = at
	}
}

// passes says whether the line is too old to be given. The first one that is
// not ends that, so that a clock which was set back loses nothing.
func (s *stream) passes(at time.Time) bool {
	if s.cutoff.IsZero() {
		return false
	}
	if s.seq.lines == 1 && !at.IsZero() && !at.Before(s.cutoff) {
		s.cutoff = time.Time{}
		return false
	}
	return true
}

// commit moves the stream's place to where f stands: all before it was given,
// as so many records.
func (r *Reader) commit(s *stream, f *file, records int) {
	p := &s.at
	r.out.Lines += s.seq.lines
	p.lines += s.seq.lines
	p.records += records
	if s.cutoff.IsZero() && p.first.IsZero() {
		p.first = s.seq.first
	}
	if s.seq.last.After(p.last) {
		p.last = s.seq.last
	}
	p.spot = f.spot(f.off)
	s.seq, s.changed = parts{}, true
}

// flush gives a split line whose end did not come.
func (r *Reader) flush(s *stream, f *file) {
	got := s.feed.Flush()
	for i := range got {
		r.give(s, &got[i], s.at.lines+min(1, s.seq.lines), nil, false)
	}
	if s.seq.lines > 0 {
		r.commit(s, f, len(got))
	}
	s.words.own()
}

// give puts one record into the batch and among the last words. Of one that is
// alone its line is kept, that is less.
func (r *Reader) give(s *stream, e *ingest.Entry, number int, line []byte, alone bool) {
	s.own(e, r.c.Node, number)
	s.known = true
	r.out.Entries = append(r.out.Entries, *e)
	r.bytes += len(e.Text)
	if alone {
		r.rememberLine(s, s.at.spot, line, number)
	} else {
		r.remember(s, s.at.spot, &r.out.Entries[len(r.out.Entries)-1])
	}
}

// own completes a record. A stream that once turned out to be a runner's or a
// listener's stays theirs when it is read on after a restart.
func (s *stream) own(e *ingest.Entry, node string, line int) {
	e.Node = node
	if e.Mark != nil {
		return
	}
	e.Line = line
	if e.Source == ingest.Job && s.id.Source != ingest.Job {
		e.Source, e.Trust = s.id.Source, s.id.Trust
	}
	s.id.Source, s.id.Trust = e.Source, e.Trust
}
