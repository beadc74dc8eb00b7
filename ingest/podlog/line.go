package podlog

import (
	"bytes"
	"time"

	"coroner/ingest"
)

// header is what a container runtime writes before the text of a line, as in
// `2026-05-04T10:00:00.123456789Z stdout F `.
type header struct {
	at    time.Time // zero where the line has none
	whole bool      // F: the text ends with the line
	split bool      // P: the next line goes on with this one's text
}

func readHeader(line []byte) (h header) {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(stamp) < len("2006-01-02T15:04:05Z") || len(stamp) > len(time.RFC3339Nano) {
		return h
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return h
	}
	h.at = at
	if bytes.HasPrefix(rest, []byte("stdout ")) || bytes.HasPrefix(rest, []byte("stderr ")) {
		tag, _, _ := bytes.Cut(rest[len("stdout "):], []byte(" "))
		tag, _, _ = bytes.Cut(tag, []byte(":"))
		h.whole, h.split = string(tag) == "F", string(tag) == "P"
	}
	return h
}

// firstTime is the time of the first line of a file that begins with head.
func firstTime(head []byte) time.Time {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return readHeader(line).at
}

// line takes one line; size is what it takes in the file. The records that it
// completes go into the batch.
func (r *Reader) line(s *stream, f *file, line []byte, cut int, size int64) {
	h := readHeader(line)
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
	got := s.feed.Line(bytes.TrimRight(line, "\r"), cut)
	for i := range got {
		r.give(s, got[i], s.at.lines+s.seq.lines)
	}
	switch {
	case !h.split || len(got) > 0:
		r.commit(s, f, len(got))
	case s.seq.bytes >= maxLine:
		r.flush(s, f)
	}
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
	r.out.Lines += s.seq.lines
	p := place{spot: f.spot(f.off), first: s.at.first, last: s.at.last}
	p.lines, p.records = s.at.lines+s.seq.lines, s.at.records+records
	if s.cutoff.IsZero() && p.first.IsZero() {
		p.first = s.seq.first
	}
	if s.seq.last.After(p.last) {
		p.last = s.seq.last
	}
	s.at, s.seq, s.changed = p, parts{}, true
}

// flush gives a split line whose end did not come.
func (r *Reader) flush(s *stream, f *file) {
	got := s.feed.Flush()
	for i := range got {
		r.give(s, got[i], s.at.lines+min(1, s.seq.lines))
	}
	if s.seq.lines > 0 {
		r.commit(s, f, len(got))
	}
}

// give puts one record into the batch and among the last words.
func (r *Reader) give(s *stream, e ingest.Entry, line int) {
	s.own(&e, r.c.Node, line)
	r.out.Entries = append(r.out.Entries, e)
	s.remember(r.c.LastLines, word{s.at.spot, e})
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

// remember keeps the last records, and of their text not more than wordsBytes.
func (s *stream) remember(most int, w word) {
	s.words = append(s.words, w)
	s.kept += len(w.entry.Text)
	drop := 0
	for len(s.words)-drop > most || s.kept > wordsBytes && len(s.words)-drop > 1 {
		s.kept -= len(s.words[drop].entry.Text)
		drop++
	}
	if drop > 0 {
		n := copy(s.words, s.words[drop:])
		clear(s.words[n:])
		s.words = s.words[:n]
	}
}
