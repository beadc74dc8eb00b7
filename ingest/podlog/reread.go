package podlog

import "io"

// seek goes to the stream's place, which is in the file i of c. On the way it
// reads again the last words that an earlier run still owed.
func (r *Reader) seek(s *stream, c chain, i int) error {
	f := c.files[i]
	if s.owed == nil {
		return f.skip(s.at.offset, f.zip != nil)
	}
	from := spot{s.owed.Print, s.owed.Hashed, s.owed.Offset}
	j := c.find(from)
	if j < 0 || j > i || j == i && from.offset > s.at.offset {
		j, from.offset = i, 0 // it began in a file that is gone
	}
	again := rereading{r: r, s: s}
	for ; j < i; j++ {
		_ = again.file(c.files[j], from.offset, -1) // what an earlier file lost is no loss here
		from.offset = 0
	}
	err := again.file(f, from.offset, s.at.offset)
	again.finish()
	return err
}

// rereading reads records again that were given as entries, to have them as last
// words. They do not count.
type rereading struct {
	r     *Reader
	s     *stream
	start spot // of the record that is being read
	lines int
}

// file reads a file from one offset to another, or to its end if that is
// negative.
func (a *rereading) file(f *file, from, to int64) error {
	if err := f.skip(from, f.zip != nil); err != nil {
		return err
	}
	if a.lines == 0 {
		a.start = f.spot(from)
	}
	take := func(b []byte, cut int, size int64) {
		f.off += size
		a.line(b, cut, f.spot(f.off))
	}
	for buf := a.r.buf; to < 0 || f.got < to; {
		if to >= 0 {
			buf = buf[:min(int64(len(buf)), to-f.got)]
		}
		n, err := f.read(buf)
		f.lines(buf[:n], take)
		if err == io.EOF && to < 0 {
			break
		}
		if err != nil && (to < 0 || f.got < to) {
			return err
		}
	}
	f.rest(take)
	f.off = f.got
	return nil
}

// line takes one line; end is where the next begins.
func (a *rereading) line(b []byte, cut int, end spot) {
	a.lines++
	for _, e := range a.s.feed.Line(b, cut) {
		a.s.own(&e, a.r.c.Node, a.lines)
		a.r.remember(a.s, a.start, &e)
	}
	if !readHeader(b).split {
		a.start = end
	}
}

// finish numbers the records so that the last line is the one before the place.
func (a *rereading) finish() {
	a.s.feed.Flush()
	a.s.words.own()
	for i := range a.s.words.n {
		a.s.words.at(i).entry.Line += a.s.at.lines - a.lines
	}
}
