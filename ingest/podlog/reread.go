package podlog

import (
	"io"

	"coroner/ingest/podlog/header"
)

// rereadLastLines goes to where the records are done, which is in the file i of s. On
// the way it reads the last lines again that an earlier run had not given yet.
func rereadLastLines(r *records, s fileSet, i int, buf []byte) error {
	f := s.files[i]
	if r.pending == nil {
		return f.seekTo(r.done.bytes, f.zip != nil)
	}
	from := fileOffset{r.pending.Print, r.pending.Hashed, r.pending.Offset}
	j := s.indexOf(from)
	if j < 0 || j > i || j == i && from.bytes > r.done.bytes {
		j, from.bytes = i, 0 // it began in a file that is gone
	}
	again := rereader{records: r, buf: buf}
	for ; j < i; j++ {
		_ = again.rereadFile(s.files[j], from.bytes, -1) // what an earlier file lost is no loss here
		from.bytes = 0
	}
	err := again.rereadFile(f, from.bytes, r.done.bytes)
	again.numberLines()
	return err
}

// rereader reads records again that were given as entries, to have them as last lines.
// They do not count.
type rereader struct {
	records *records
	buf     []byte
	begin   fileOffset // of the record that is being read
	lines   int
}

// rereadFile reads a file from one offset to another, or to its end if that is
// negative.
func (a *rereader) rereadFile(f *file, from, to int64) error {
	if err := f.seekTo(from, f.zip != nil); err != nil {
		return err
	}
	if a.lines == 0 {
		a.begin = f.offsetAt(from)
	}
	take := func(b []byte, cut int, size int64) {
		f.taken += size
		a.rereadLine(b, cut, f.offsetAt(f.taken))
	}
	for buf := a.buf; to < 0 || f.readTo < to; {
		if to >= 0 {
			buf = buf[:min(int64(len(buf)), to-f.readTo)]
		}
		n, err := f.readInto(buf)
		f.partial.splitLines(buf[:n], partialBytes, take)
		if err == io.EOF && to < 0 {
			break
		}
		if err != nil && (to < 0 || f.readTo < to) {
			return err
		}
	}
	f.partial.giveRest(take)
	f.taken = f.readTo
	return nil
}

// rereadLine takes one line; end is where the next begins.
func (a *rereader) rereadLine(b []byte, cut int, end fileOffset) {
	a.lines++
	for _, e := range a.records.feed.Line(b, cut) {
		a.records.complete(&e, a.lines)
		a.records.remember(a.begin, &e)
	}
	if !header.Read(b).Split {
		a.begin = end
	}
}

// numberLines numbers the records so that the last line is the one before done.
func (a *rereader) numberLines() {
	r := a.records
	r.feed.Flush()
	for i := range r.last.n {
		r.last.lineAt(i).entry.Line += r.done.lines - a.lines
	}
}
