package podlog

import (
	"bytes"

	"coroner/ingest"
	"coroner/ingest/podlog/header"
)

// lineReader makes records of a log's lines.
type lineReader struct {
	env     *env
	headers header.Reader
}

// readChunk takes what was read of a file.
func (l *lineReader) readChunk(r *records, f *file, chunk []byte) {
	scan := newChunkScan(l.env.c.Next, chunk, f.partial.byteSize())
	f.partial.splitLines(chunk, l.env.byteShare(partialBytes, minPartial), func(line []byte, cut int, size int64) {
		l.readLine(r, f, line, cut, size, scan.uninteresting(line, cut, size))
	})
}

// readRest takes what is after the last newline of a file.
func (l *lineReader) readRest(r *records, f *file) {
	f.partial.giveRest(func(line []byte, cut int, size int64) { l.readLine(r, f, line, cut, size, false) })
}

// readLine takes one line; size is what it takes in the file. The records that it
// completes go into the batch. If uninteresting is true the rulebook has no use for the
// line; unless it affects how its neighbours are read, it is only counted.
func (l *lineReader) readLine(r *records, f *file, line []byte, cut int, size int64, uninteresting bool) {
	h := l.headers.Read(line)
	if r.split.lines > 0 && !h.Whole && !h.Split {
		r.flushSplit(f.offsetAt(f.taken)) // what no runtime wrote does not go on with a split line
	}
	f.taken += size
	r.countLine(h.At, size)
	if r.tooOld(h.At) {
		if !h.Split || r.split.bytes >= maxLine {
			r.commitTo(f.offsetAt(f.taken), 1)
		}
		return
	}
	r.giveGap(h.At)
	line = bytes.TrimRight(line, "\r")
	usual := h.Size > 0 && cut == 0 && r.feed.Reads()
	alone := usual && h.Whole && r.split.lines == 1 && len(line) <= uninterestingSize && r.feed.Alone(h.Output)
	if alone && uninteresting && r.idKnown && r.feed.Passes(line[h.Size:]) {
		r.feed.Skip(h.At)
		r.rememberLine(line, r.done.lines+1)
		r.out.Passed++
		r.commitTo(f.offsetAt(f.taken), 1)
		return
	}
	l.giveAll(r, f, r.parseLine(line, cut, h, usual), h, line, alone)
}

// parseLine is what the line is, or completes. usual says that its header was read in full.
func (r *records) parseLine(line []byte, cut int, h header.Header, usual bool) []ingest.Entry {
	if usual {
		return r.feed.Record(h.At, h.Output, line[h.Size:], h.Whole)
	}
	return r.feed.Line(line, cut)
}

// giveAll gives the records that a line completed. Of one that is alone on its line the
// line is remembered, that is less.
func (l *lineReader) giveAll(r *records, f *file, got []ingest.Entry, h header.Header, line []byte, alone bool) {
	for i := range got {
		number := r.done.lines + r.split.lines
		r.giveRecord(&got[i], number)
		if alone {
			r.rememberLine(line, number)
		} else {
			r.remember(r.done.fileOffset, &got[i])
		}
	}
	switch {
	case !h.Split || len(got) > 0:
		r.commitTo(f.offsetAt(f.taken), len(got))
	case r.split.bytes >= maxLine:
		r.flushSplit(f.offsetAt(f.taken))
	}
}
