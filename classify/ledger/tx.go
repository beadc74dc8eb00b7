package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/days"
	"coroner/rules"
)

// writer is the connection, and the time, of one write.
type writer struct {
	conn  *database.Conn
	names *naming
	days  *days.Write
	now   time.Time
}

// Tx is one write to the ledger. Its methods return only what the file system
// or the database refuses.
type Tx struct {
	*writer
	CaseTable
	EvidenceTable
	queued bool                          // something went into the outbox
	cached map[verdictKey]*rules.Verdict // for the outbox's cache; nil is to be dropped from it
}

// Write runs f as one write at the time now. When f or the commit fails
// nothing of it is there. Where other servers write at the same time f may be run
// several times, each time from the begin.
func (l *Ledger) Write(ctx context.Context, now time.Time, f func(*Tx) error) error {
	if !l.Shared() {
		return l.writeOnce(ctx, now, f)
	}
	for attempt := 1; ; attempt++ {
		err := l.writeOnce(ctx, now, f)
		if err == nil || attempt == maxTries || !database.IsConflict(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * rand.N(20*time.Millisecond)):
		}
	}
}

// maxTries is how often a write is tried that others are in the way of.
const maxTries = 12

// writeOnce is one attempt.
func (l *Ledger) writeOnce(ctx context.Context, now time.Time, f func(*Tx) error) error {
	w := &writer{conn: l.conn, names: l.names, days: l.Days.Write(l.conn, now), now: now}
	tx := &Tx{
		writer:        w,
		CaseTable:     CaseTable{w},
		EvidenceTable: EvidenceTable{w},
		cached:        map[verdictKey]*rules.Verdict{},
	}
	err := l.conn.Write(ctx, func() error {
		if l.Shared() {
			if err := l.names.loadNames(l.conn.QueryRow(adoptedName)); err != nil {
				return err
			}
		}
		return f(tx)
	})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.Outbox.committed(tx)
	return nil
}

// View runs f with questions to the ledger as it is now. One view is quicker than
// single questions: a connection drops what it read of the file when another one
// writes to it.
func (l *Ledger) View(ctx context.Context, f func(Questions) error) error {
	return l.readConn.View(ctx, func() error {
		query := func(_ context.Context, query string, args ...any) (*sql.Rows, error) {
			return l.readConn.QueryRows(query, args...)
		}
		return f(Questions{query: query, names: l.names})
	})
}
