package agent

import (
	"errors"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/ingest/spool"
)

// queue is what waits for the next flush.
type queue struct {
	spool     *spool.Spool
	cluster   string
	now       func() time.Time
	evidence  []ingest.Entry
	context   []ingest.Entry // last lines and heartbeats
	held      int            // bytes of text in both
	busyUntil time.Time      // evidence came lately: its death may wait for the marks
}

// busy is how long after evidence the marks are sent at the batch's pace.
const busy = 15 * time.Second

// maxEntries and maxPush, bytes of text, keep a push well under the server's limit:
// entries have at most 16 KiB, and nearly all of them some hundred bytes.
const (
	maxEntries = 400
	maxPush    = 1 << 20
)

// maxHeld is how many entries wait for the next flush at most, and of how many the
// room is kept; maxHeldBytes is the same in bytes of text.
const (
	maxHeld      = 4 * maxEntries
	maxHeldBytes = 4 * maxPush
)

// length is how many entries wait.
func (q *queue) length() int { return len(q.evidence) + len(q.context) }

// addEvidence adds an entry as evidence. Much that came at once goes into the spool.
func (q *queue) addEvidence(e *ingest.Entry, away bool) {
	q.evidence = append(q.evidence, *e)
	q.held += len(e.Text)
	q.busyUntil = q.now().Add(busy)
	q.spoolIfFull(away)
}

// addLastLines adds containers' last lines.
func (q *queue) addLastLines(lines []ingest.Entry) {
	q.context = append(q.context, lines...)
	for i := range lines {
		q.held += len(lines[i].Text)
	}
}

// spoolIfFull puts much that came at once into the spool, where it takes a small part
// of the room. An error is found again by the next flush. away says that the server did
// not take the last push.
func (q *queue) spoolIfFull(away bool) {
	if q.length() >= maxHeld || q.held >= maxHeldBytes {
		_ = q.putAll(away)
		q.busyUntil = q.now().Add(busy) // its mark is not to wait either
	}
}

// putAll puts everything into the spool: context before evidence, so that the mark that
// settles a case comes after its last lines.
func (q *queue) putAll(away bool) error {
	if !away { // nothing will have to be dropped: one push is less work than two
		q.evidence = slices.Insert(q.evidence, 0, q.context...)
		q.context = emptiedList(q.context)
	}
	return errors.Join(q.spoolList(spool.Context, &q.context), q.spoolList(spool.Evidence, &q.evidence))
}

// spoolList spools entries and empties the list.
func (q *queue) spoolList(class spool.Class, entries *[]ingest.Entry) error {
	all := *entries
	for len(*entries) > 0 {
		some := (*entries)[:pushLen(*entries)]
		for i := range some {
			some[i].Cluster = q.cluster
		}
		body, err := push.Encode(some)
		if err != nil {
			return err
		}
		r := rangeOf(some)
		q.spool.Put(spool.Item{Class: class, Entries: len(some), From: r.From, To: r.To}, body)
		*entries = (*entries)[len(some):]
	}
	*entries = emptiedList(all)
	q.held = 0
	return nil
}

// emptiedList is a list's room for the next entries, if it is not that of a burst.
func emptiedList(list []ingest.Entry) []ingest.Entry {
	if cap(list) > maxHeld {
		return nil
	}
	clear(list)
	return list[:0]
}

// pushLen is how many of the entries one push takes.
func pushLen(entries []ingest.Entry) int {
	size := 0
	for i := range entries {
		if size += len(entries[i].Text); i == maxEntries || i > 0 && size > maxPush {
			return i
		}
	}
	return len(entries)
}
