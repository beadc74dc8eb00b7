//go:build linux && cgo && !nojournal

package journal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"

	"github.com/coreos/go-systemd/v22/sdjournal"
)

// fields turns a record of sdjournal into what a Feed reads. Its memory serves
// one record after the other.
type fields struct {
	entry *sdjournal.JournalEntry
	names []string
	bytes []byte
}

// each yields journald's own fields, then the writer's by name: their order in
// a map is another one each time, and the same record must always give the same
// entry. journald's own do not depend on each other.
func (s *fields) each(yield func(string, []byte) bool) {
	s.names, s.bytes = s.names[:0], s.bytes[:0]
	ok := yield("__CURSOR", s.keep(s.entry.Cursor)) &&
		yield("__REALTIME_TIMESTAMP", s.keep(strconv.FormatUint(s.entry.RealtimeTimestamp, 10))) &&
		yield("__MONOTONIC_TIMESTAMP", s.keep(strconv.FormatUint(s.entry.MonotonicTimestamp, 10)))
	for name, val := range s.entry.Fields {
		if !strings.HasPrefix(name, "_") {
			s.names = append(s.names, name)
		} else if ok = ok && yield(name, s.keep(val)); !ok {
			return
		}
	}
	slices.Sort(s.names)
	for i := 0; ok && i < len(s.names); i++ {
		ok = yield(s.names[i], s.keep(s.entry.Fields[s.names[i]]))
	}
	if cap(s.bytes) > 2*maxValue {
		s.bytes = nil // one huge record must not cost its memory for ever
	}
}

// keep copies val to memory that the record's later fields do not overwrite.
func (s *fields) keep(val string) []byte {
	n := len(s.bytes)
	s.bytes = append(s.bytes, val[:min(len(val), maxValue)]...)
	return s.bytes[n:]
}

// next reads one record, or notes the journal's end.
func (f *follower) next() error {
	n, err := f.journal.Next()
	if err != nil {
		f.refused = true
		f.log.Warn().Str("dir", f.dir).Err(err).Msg("the journal cannot be read on, opening it anew")
		return f.enter(f.dir)
	}
	if n == 0 {
		f.tail = true
		return nil
	}
	e, err := f.journal.GetEntry()
	if err != nil {
		return f.damaged(err)
	}
	p, ok := parsePosition(e.Cursor)
	if !ok {
		return f.damaged(fmt.Errorf("cursor %q is of no known form", e.Cursor))
	}
	if f.seeking && f.sought(p) {
		return nil
	}
	return f.weigh(e, p)
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
func (f *follower) weigh(e *sdjournal.JournalEntry, p position) error {
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
	f.take(e, p, step == copied)
	return nil
}

// take hands out the record at p.
func (f *follower) take(e *sdjournal.JournalEntry, p position, twin bool) {
	f.alive(p)
	if f.cover.node == "" {
		f.cover.node = e.Fields["_HOSTNAME"]
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
	f.fields.entry = e
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
		f.cover.spoke(e)
	} else if e.Mark.Kind == ingest.Gap {
		e.Mark.From = f.cover.widen(e.Source, e.Mark.From)
		f.cover.gap(e.Source, e.Mark.From, e.Mark.To)
	}
	f.batch.Entries = append(f.batch.Entries, *e)
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
