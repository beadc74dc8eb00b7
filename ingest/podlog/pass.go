package podlog

import (
	"bytes"

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
	quiet, begin, end := see.quiet(), s.at.spot, f.spot(f.off)
	for {
		i := bytes.IndexByte(quiet[s.seq.bytes:], '\n')
		if i < 0 || i > dullSize {
			break
		}
		line := quiet[s.seq.bytes:][:i]
		h := r.clock.header(line)
		if h.size == 0 || !s.feed.Passes(line[h.size:]) {
			break
		}
		s.count(h.at, int64(i+1))
		s.feed.Skip(h.at)
		r.rememberLine(s, begin, line, s.at.lines+s.seq.lines)
		end.offset += int64(i + 1)
		begin = end
	}
	return r.passed(s, f, see)
}

// passed moves the stream's place behind the lines that were passed over.
func (r *Reader) passed(s *stream, f *file, see *glance) int {
	n := int(s.seq.bytes)
	if n > 0 {
		f.off += s.seq.bytes
		see.end += n
		r.out.Passed += s.seq.lines
		r.commit(s, f, s.seq.lines)
	}
	return n
}
