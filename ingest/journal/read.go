//go:build linux && cgo && !nojournal

package journal

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"coroner/ingest"
)

// fields turns a record into what a Feed reads. Its memory serves one record
// after the other.
type fields struct {
	*raw
	at     position
	client []field
	digits []byte
}

type field struct{ name, val []byte }

// each yields journald's own fields, then the writer's by name: the same record
// must always give the same entry, in whatever order a file has its fields.
// journald's own do not depend on each other. Of several with one name the last
// counts.
func (s *fields) each(yield func(name, val []byte) bool) {
	s.client = s.client[:0]
	ok := yield([]byte("__CURSOR"), s.cursor) &&
		yield([]byte("__REALTIME_TIMESTAMP"), s.number(s.at.real)) &&
		yield([]byte("__MONOTONIC_TIMESTAMP"), s.number(s.at.mono))
	for name, val := range s.raw.each {
		if !bytes.HasPrefix(name, []byte("_")) {
			s.client = append(s.client, field{name, val})
		} else if ok = ok && yield(name, val); !ok {
			return
		}
	}
	slices.SortStableFunc(s.client, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	for i, c := range s.client {
		if next := i + 1; next < len(s.client) && bytes.Equal(c.name, s.client[next].name) {
			continue
		}
		if ok = ok && yield(c.name, c.val); !ok {
			return
		}
	}
}

func (s *fields) number(n uint64) []byte {
	s.digits = strconv.AppendUint(s.digits[:0], n, 10)
	return s.digits
}

// next reads one record, or notes the journal's end.
func (f *follower) next() error {
	r, err := f.journal.records.next()
	if err == nil && r == nil {
		f.tail = true
		return nil
	}
	if err == nil && r.err == nil && f.pass(r) {
		return nil
	}
	f.catchUp()
	if err != nil {
		f.refused = true
		f.log.Warn().Str("dir", f.dir).Err(err).Msg("the journal cannot be read on, opening it anew")
		return f.enter(f.dir)
	}
	if r.err != nil {
		return f.damaged(r.err)
	}
	p, ok := parsePosition(string(r.cursor))
	if !ok {
		return f.damaged(fmt.Errorf("cursor %q is of no known form", r.cursor))
	}
	if f.seeking && f.sought(p) {
		return nil
	}
	return f.weigh(r, p)
}

// sought looks at the first records after a seek to f.at, and says whether p
// was read before. Only the record of f.at itself shows that nothing is
// missing, or the one that comes right after it.
func (f *follower) sought(p position) (before bool) {
	before = p.same(f.at)
	if !before && p.id != f.at.id && p.boot == f.at.boot && p.mono == f.at.mono {
		return true // a copy under other numbers: some record of this microsecond is the one
	}
	f.seeking, f.stuck = false, time.Time{}
	started := f.cover.boot != ""
	switch {
	case before:
		f.numbers.take(p)
	case p.number == f.at.number+1 && (p.id == f.at.id || p.boot == f.at.boot):
	case f.owed == nil && !f.taken:
		f.owe("journal vacuumed past the saved position")
	case f.owed == nil:
		f.owe("journal vacuumed past the last record read")
	}
	if !started && f.owed == nil {
		f.begin(f.at.boot, f.at.at())
	}
	if before {
		f.at = p
	}
	return before
}

// same says whether p and q are one record. journald numbers a record anew when
// it copies it from memory to disk, and nothing else of it changes.
func (p position) same(q position) bool {
	return p.id == q.id && p.number == q.number || p.twin(q)
}

// begin starts the coverage of a boot of which an earlier part was read by
// somebody else, or by nobody.
func (f *follower) begin(boot string, from time.Time) {
	f.cover.begin(boot, from)
	for i, spoke := range f.speakers(boot) {
		f.cover.speakers[i].spoke = spoke
	}
}

// weigh takes the record at p if it is the next one.
func (f *follower) weigh(r *raw, p position) error {
	step := f.numbers.judge(p)
	switch {
	case step == repeated:
		return nil
	case step == jumps && !f.again && f.owed == nil:
		// libsystemd passes over records of a file that it did not know yet, or
		// that came while it looked at the others. Placed anew, it finds them.
		f.again = true
		f.journal.Wait(0)
		f.log.Debug().Uint64("number", p.number).Uint64("after", f.at.number).Msg("journal records were passed over, looking again")
		return f.seek()
	case step == jumps && f.owed == nil:
		f.owe(fmt.Sprintf("journal records are missing before number %d: vacuumed before they were read, or their file is damaged", p.number))
	}
	f.again = false
	f.take(r, p, step == copied)
	return nil
}

// take hands out the record at p.
func (f *follower) take(r *raw, p position, twin bool) {
	f.alive(p)
	if f.cover.node == "" {
		f.cover.node = r.value("_HOSTNAME")
	}
	if f.cover.boot == "" {
		f.begin(p.boot, p.at())
	}
	f.settle(p)
	foreign := p.boot != f.running && f.cover.boot == f.running
	if !foreign {
		f.cover.record(p.boot, p.at())
	}
	f.numbers.take(p)
	f.at, f.taken, f.opened = p, true, time.Now()
	f.batch.Lines++
	if f.began.IsZero() {
		f.began = time.Now()
	}
	if twin {
		return
	}
	f.fields.raw, f.fields.at = r, p
	for _, entry := range f.feed.Journal(f.fields.each) {
		f.add(&entry, p, foreign)
	}
}

// add puts an entry of the record at p into the batch. A foreign record is of
// a boot that is over, or of a container that has a journal of its own.
func (f *follower) add(e *ingest.Entry, p position, foreign bool) {
	if f.Node != "" {
		e.Node = f.Node
	}
	e.Line = int(p.number)
	if foreign {
		// it says nothing about the boot that is read
	} else if e.Mark == nil {
		f.cover.spoke(e.Source, e.Trust, e.At)
	} else if e.Mark.Kind == ingest.Gap {
		e.Mark.From = f.cover.widen(e.Source, e.Mark.From)
		f.cover.gap(e.Source, e.Mark.From, e.Mark.To)
	}
	f.batch.Entries = append(f.batch.Entries, *e)
	f.bytes += len(e.Text)
	for name, value := range e.Fields {
		f.bytes += len(name) + len(value)
	}
}

// settle pays the gap that is owed: it ends with the record at p.
func (f *follower) settle(p position) {
	if f.owed == nil {
		return
	}
	f.lose(f.owed.from, p.at(), f.owed.why, p.boot)
	f.owed = nil
}

// lose marks a gap of every host source.
func (f *follower) lose(from, to time.Time, why, boot string) {
	if from.After(to) {
		from = to
	}
	for _, s := range hosts {
		f.cover.gap(s, from, to)
		f.batch.Entries = append(f.batch.Entries, ingest.Entry{
			At: to, Clock: ingest.WallClock, Source: s, Trust: ingest.Attested, Node: f.cover.node, Boot: boot, Doc: doc,
			Mark: &ingest.Mark{Kind: ingest.Gap, From: from, To: to, Why: why},
		})
	}
	f.log.Warn().Str("dir", f.dir).Time("from", from).Time("to", to).Msg(why)
	if f.began.IsZero() {
		f.began = time.Now()
	}
}

// damaged passes over a record that cannot be decoded, even on a second look.
func (f *follower) damaged(why error) error {
	if !f.again {
		f.again = true
		return f.seek()
	}
	if f.owed == nil {
		f.owe(fmt.Sprintf("a journal record cannot be decoded: %v", why))
	}
	return nil
}
