package podlog

import (
	"time"

	"coroner/ingest"
)

// batcher collects what the next batch will hold, and sends it.
type batcher struct {
	Batch
	env   *env
	tails *tails
	emit  func(Batch) error
	bytes int // of text
	sent  time.Time
}

// addRecord adds a record.
func (b *batcher) addRecord(e ingest.Entry) {
	b.Entries = append(b.Entries, e)
	b.bytes += len(e.Text)
}

// addLastLine adds a record as one of the last lines of its log.
func (b *batcher) addLastLine(e ingest.Entry) {
	b.LastLines = append(b.LastLines, e)
	b.bytes += len(e.Text)
}

// heartbeats adds the Covered of live logs that changed or are due. That a log is
// empty can only be said once its end was seen.
func (b *batcher) heartbeats() {
	now := b.env.c.Now()
	for _, t := range b.tails.order {
		r := t.records
		known := r.done.lines > 0 || t.state.isRead() && r.split.lines == 0
		due := r.changed || hasElapsed(r.coveredAt, now, b.env.every.heartbeat)
		if known && due && t.state != ended && t.state != failed {
			r.giveCovered()
		}
	}
}

// sendIfFull sends a batch in the middle of a poll. It may hold more where there are
// many logs, for it tells of all of them.
func (b *batcher) sendIfFull() error {
	n := len(b.Entries) + len(b.LastLines)
	full := n >= max(batchSize, len(b.tails.order)) || b.bytes >= batchBytes
	if full || n+b.Lines > 0 && hasElapsed(b.sent, b.env.c.Now(), 2*b.env.every.poll) {
		return b.sendBatch()
	}
	return nil
}

// sendIfDue sends what a poll found, and at times nothing: Reached moves on. A batch
// that was sent in the middle of the poll before is no reason to wait.
func (b *batcher) sendIfDue() error {
	some := len(b.Entries)+len(b.LastLines)+len(b.Marks)+b.Lines > 0
	now := b.env.c.Now()
	if some && hasElapsed(b.sent, now, b.env.every.poll/2) || hasElapsed(b.sent, now, b.env.every.batch) {
		return b.sendBatch()
	}
	return nil
}

// sendBatch emits a batch.
func (b *batcher) sendBatch() error {
	b.heartbeats()
	for _, t := range b.tails.order {
		if t.state != ended || !t.noFiles {
			b.Positions = append(b.Positions, t.position())
		}
	}
	if err := b.emit(b.Batch); err != nil {
		return err
	}
	b.Batch = Batch{
		Entries: reuseRoom(
			b.Entries,
		), LastLines: reuseRoom(b.LastLines), Marks: reuseRoom(b.Marks), Positions: reuseRoom(b.Positions),
		Reached: b.Reached,
	}
	b.bytes, b.sent = 0, b.env.c.Now()
	return nil
}

// reuseRoom empties a slice so that it keeps nothing alive.
func reuseRoom[T any](s []T) []T {
	if cap(s) > 8*batchSize {
		return nil
	}
	clear(s)
	return s[:0]
}
