package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"coroner/rules"
)

// writer is the connection, and the time, of one write.
type writer struct {
	conn  *conn
	names *naming
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
// nothing of it is there.
func (l *Ledger) Write(ctx context.Context, now time.Time, f func(*Tx) error) error {
	w := &writer{conn: l.conn, names: l.names, now: now}
	tx := &Tx{
		writer:        w,
		CaseTable:     CaseTable{w},
		EvidenceTable: EvidenceTable{w},
		cached:        map[verdictKey]*rules.Verdict{},
	}
	if err := l.conn.inTransaction(ctx, func() error { return f(tx) }); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.Outbox.committed(tx)
	return nil
}

// View runs f with questions to the ledger as it is now. One view is quicker than
// single questions: a connection drops what it read of the file when another one
// writes to it.
func (l *Ledger) View(ctx context.Context, f func(Questions) error) error {
	return l.readConn.useAlone(ctx, func() error {
		return l.readConn.transact("BEGIN", func() error {
			query := func(_ context.Context, query string, args ...any) (*sql.Rows, error) {
				return l.readConn.queryRows(query, args...)
			}
			return f(Questions{query: query, names: l.names})
		})
	})
}
