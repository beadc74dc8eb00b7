package podlog

import (
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
)

// records is what was made of one log's lines: how far they were given, and what is
// kept of them.
type records struct {
	env *env
	out *batcher

	id      ingest.Entry   // whose text it is, without a text
	idKnown bool           // id is what the feed has found out so far
	feed    *document.Feed // nil once the log has ended

	done    progress          // everything before it was given
	split   splitLine         // what was read after done: a split line without its end
	lost    *lostRange        // to be given before the next record
	cutoff  time.Time         // lines before it are too old to be given; zero if none are
	last    lastLines         // not given as last lines yet
	pending *PendingLastLines // last lines of an earlier run that are to be read again

	changed   bool      // since the last Covered
	coveredAt time.Time // when that was given
}

// progress is a point in a log from which reading can go on: between two records.
type progress struct {
	fileOffset
	lines       int
	records     int
	first, last time.Time // of the lines since the last gap; of all lines
}

// splitLine is a line that the runtime split, as far as it was read.
type splitLine struct {
	lines int
	bytes int64
	first time.Time
	last  time.Time
}

// lostRange is lines that are missing from a time on.
type lostRange struct {
	from time.Time
	why  string
}

func newRecords(env *env, out *batcher, d document.Document) *records {
	r := &records{env: env, out: out, feed: d.Feed(), changed: true}
	r.id, _ = d.Identity()
	r.id.Doc = d.Name
	return r
}

// countLine adds a line to those that were read after done.
func (r *records) countLine(at time.Time, size int64) {
	s := &r.split
	s.lines++
	s.bytes += size
	if at.IsZero() {
		return
	}
	if s.first.IsZero() {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
}

// tooOld reports whether the line that was counted last is too old to be given. The
// first one that is not ends that, so a clock that was set back loses nothing.
func (r *records) tooOld(at time.Time) bool {
	if r.cutoff.IsZero() {
		return false
	}
	if r.split.lines == 1 && !at.IsZero() && !at.Before(r.cutoff) {
		r.cutoff = time.Time{}
		return false
	}
	return true
}

// commitTo moves done to an offset: everything before it was given, as n records.
func (r *records) commitTo(to fileOffset, n int) {
	p := &r.done
	r.out.Lines += r.split.lines
	p.lines += r.split.lines
	p.records += n
	if r.cutoff.IsZero() && p.first.IsZero() {
		p.first = r.split.first
	}
	if r.split.last.After(p.last) {
		p.last = r.split.last
	}
	p.fileOffset = to
	r.split, r.changed = splitLine{}, true
}

// flushSplit gives a split line whose end did not come. Reading goes on at an offset.
func (r *records) flushSplit(to fileOffset) {
	got := r.feed.Flush()
	for i := range got {
		r.giveRecord(&got[i], r.done.lines+min(1, r.split.lines))
		r.remember(r.done.fileOffset, &got[i])
	}
	if r.split.lines > 0 {
		r.commitTo(to, len(got))
	}
}

// forgetSplit forgets what was read after done.
func (r *records) forgetSplit() {
	r.split = splitLine{}
	if r.feed != nil {
		r.feed.Flush()
	}
}

// giveRecord puts one record into the batch, with the number of its last line.
func (r *records) giveRecord(e *ingest.Entry, line int) {
	r.complete(e, line)
	r.idKnown = true
	r.out.addRecord(*e)
}

// complete adds what the feed does not know. A log that once turned out to be a
// runner's or a listener's stays theirs when it is read on after a restart.
func (r *records) complete(e *ingest.Entry, line int) {
	e.Node = r.env.c.Node
	if e.Mark != nil {
		return
	}
	e.Line = line
	if e.Source == ingest.Job && r.id.Source != ingest.Job {
		e.Source, e.Trust = r.id.Source, r.id.Trust
	}
	r.id.Source, r.id.Trust = e.Source, e.Trust
}

// remember keeps a record as one of the last lines.
func (r *records) remember(at fileOffset, e *ingest.Entry) {
	c := *e
	p := r.last.makeSlot(r.env.c.LastLines, len(e.Text))
	p.fileOffset, p.entry = at, &c
	r.trimLastLines()
}

// rememberLine keeps a whole line that is one record. Its text may become longer when
// it is made valid.
func (r *records) rememberLine(line []byte, number int) {
	p := r.last.makeSlot(r.env.c.LastLines, maxGrowth*len(line))
	p.fileOffset, p.entry, p.line = r.done.fileOffset, nil, number
	p.text = append(p.text[:0], line...)
	p.source, p.trust = r.id.Source, r.id.Trust
	r.trimLastLines()
}

func (r *records) trimLastLines() {
	limit := r.env.byteShare(lastLinesBytes, minLastLines)
	if r.last.bytes > limit {
		r.last.makeEntries(r.id.Doc, r.env.c.Node)
		r.last.trimTo(limit)
	}
}

// giveLastLines gives the records that were not given as last lines yet.
func (r *records) giveLastLines() {
	if r.last.n == 0 {
		return
	}
	r.last.makeEntries(r.id.Doc, r.env.c.Node)
	for i := range r.last.n {
		if e := r.last.lineAt(i).entry; e != nil { // nil only if a line became no entry, see Feed.Alone
			r.out.addLastLine(*e)
		}
	}
	r.last = lastLines{}
}

// noteLost takes note that the lines after done are missing.
func (r *records) noteLost(why string) { r.lost = &lostRange{r.done.last, why} }

// giveGap gives the lines that are missing as a Gap. at is when reading went on, zero
// if that is not known.
func (r *records) giveGap(at time.Time) {
	if r.lost == nil {
		return
	}
	if at.IsZero() {
		at = r.env.c.Now()
	}
	m := ingest.Mark{Kind: ingest.Gap, From: r.lost.from, To: at, Why: r.lost.why}
	r.out.Entries = append(r.out.Entries, r.newMark(m))
	r.lost, r.done.first = nil, time.Time{}
}

// giveCovered says how far the log was read. Lines that were too old to be given
// count, but their time is not covered.
func (r *records) giveCovered() {
	from := r.done.first
	if from.IsZero() {
		from = r.done.last
	}
	m := ingest.Mark{Kind: ingest.Covered, From: from, To: r.done.last, Lines: r.done.records}
	r.out.Marks = append(r.out.Marks, r.newMark(m))
	r.changed, r.coveredAt = false, r.env.now
}

func (r *records) giveEnded() {
	r.out.Marks = append(r.out.Marks, r.newMark(ingest.Mark{Kind: ingest.Ended, From: r.done.last, To: r.done.last}))
}

// newMark is a mark about the log.
func (r *records) newMark(m ingest.Mark) ingest.Entry {
	e := r.id
	e.Node, e.Mark = r.env.c.Node, &m
	if e.At = m.To; !e.At.IsZero() {
		e.Clock = ingest.WallClock
	}
	return e
}
