package podlog

import (
	"bytes"
	"time"

	"coroner/ingest"
)

// calm says whether the next lines are read alike, whatever stood before them:
// nothing of the stream is left out, owed, or waiting to be completed.
func (s *stream) calm() bool {
	return s.known && s.seq.lines == 0 && s.gap == nil && s.feed.Alone(ingest.Stdout) && s.feed.Alone(ingest.Stderr)
}

// pass is line for the dull lines that a calm stream's chunk goes on with: each is
// a record that is not given, but may turn out to be one of the last words. It
// returns how many bytes they are.
func (r *Reader) pass(s *stream, f *file, see *glance) int {
	quiet, most, last, n := see.quiet(), int64(0), int64(0), 0
	ends := r.ends[:0]
	for {
		i := bytes.IndexByte(quiet[n:], '\n')
		if i < 0 || i > dullSize {
			break
		}
		at, size := r.clock.whole(quiet[n : n+i])
		if size == 0 || !s.feed.Passes(quiet[n+size:n+i]) {
			break
		}
		if len(ends) == 0 {
			s.seq.first = time.Unix(0, at).UTC()
		}
		most, last = max(most, at), at
		n += i + 1
		ends = append(ends, n)
	}
	if r.ends = ends; n > 0 {
		s.seq.lines, s.seq.bytes, s.seq.last = len(ends), int64(n), time.Unix(0, most).UTC()
		s.feed.Skip(s.seq.last)
		s.feed.Skip(time.Unix(0, last).UTC())
		r.passed(s, f, see, quiet)
	}
	return n
}

// passed keeps the last of the lines that were passed over, which end there, and
// moves the stream's place behind them.
func (r *Reader) passed(s *stream, f *file, see *glance, quiet []byte) {
	for i := max(0, len(r.ends)-r.c.LastLines); i < len(r.ends); i++ {
		begin, at := 0, s.at.spot
		if i > 0 {
			begin = r.ends[i-1]
			at = f.spot(f.off + int64(begin))
		}
		r.rememberLine(s, at, quiet[begin:r.ends[i]-1], s.at.lines+i+1)
	}
	f.off += s.seq.bytes
	see.end += int(s.seq.bytes)
	r.out.Passed += s.seq.lines
	r.commit(s, f, s.seq.lines)
}
