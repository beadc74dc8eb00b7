//go:build linux && cgo && !nojournal

package journal

import (
	"runtime"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"

	"github.com/rs/zerolog"
)

// output makes entries of records, and batches of entries.
type output struct {
	Batch
	node   string // Config.Node
	log    zerolog.Logger
	emit   func(Batch) error
	feed   *document.Feed
	fields fields
	cover  coverage

	bytes   int       // of text in the batch
	began   time.Time // when it got its first record
	emitted time.Time // when the last batch was emitted
}

// addRecord adds the entries of the record at p. A foreign record is of a boot that is
// over, or of a container that has a journal of its own.
func (o *output) addRecord(r *raw, p position, foreign bool) {
	o.fields.raw, o.fields.at = r, p
	for _, e := range o.feed.Journal(o.fields.eachSorted) {
		o.addEntry(&e, p, foreign)
	}
}

func (o *output) addEntry(e *ingest.Entry, p position, foreign bool) {
	if o.node != "" {
		e.Node = o.node
	}
	e.Line = int(p.number)
	if foreign {
		// it says nothing about the boot that is read
	} else if e.Mark == nil {
		o.cover.noteSpeaker(e.Source, e.Trust, e.At)
	} else if e.Mark.Kind == ingest.Gap {
		e.Mark.From = o.cover.gapStart(e.Source, e.Mark.From)
		o.cover.noteGap(e.Source, e.Mark.From, e.Mark.To)
	}
	o.Entries = append(o.Entries, *e)
	o.bytes += len(e.Text)
	for name, value := range e.Fields {
		o.bytes += len(name) + len(value)
	}
}

// addGap adds a gap of every host source.
func (o *output) addGap(from, to time.Time, why, boot string) {
	if from.After(to) {
		from = to
	}
	for _, s := range hosts {
		o.cover.noteGap(s, from, to)
		o.Entries = append(o.Entries, ingest.Entry{
			At: to, Clock: ingest.WallClock, Source: s, Trust: ingest.Attested,
			Node: o.cover.node, Boot: boot, Doc: doc,
			Mark: &ingest.Mark{Kind: ingest.Gap, From: from, To: to, Why: why},
		})
	}
	o.log.Warn().Time("from", from).Time("to", to).Msg(why)
	o.beginBatch()
}

// countRecord counts a record.
func (o *output) countRecord() {
	o.Lines++
	o.beginBatch()
}

func (o *output) beginBatch() {
	if o.began.IsZero() {
		o.began = time.Now()
	}
}

// isFull reports whether the batch does not take another record.
func (o *output) isFull() bool { return o.Lines >= maxLines || o.bytes >= maxBytes }

func (o *output) isDue() bool { return o.untilDue() <= 0 }

func (o *output) untilDue() time.Duration {
	switch {
	case o.isFull():
		return 0
	case o.began.IsZero():
		return idle - time.Since(o.emitted)
	}
	return min(fresh-time.Since(o.began), idle-time.Since(o.emitted))
}

// sendBatch emits the batch, with what is covered up to a time.
func (o *output) sendBatch(to time.Time) error {
	o.Covered = o.cover.takeMarks(o.Covered[:0], to)
	err := o.emit(o.Batch)
	clear(o.Entries)
	o.Entries, o.Lines, o.Passed, o.bytes = o.Entries[:0], 0, 0, 0
	o.began, o.emitted = time.Time{}, time.Now()
	runtime.Gosched() // a goroutine that runs for 10 ms has the runtime's monitor wake up every 20 µs
	return err
}
