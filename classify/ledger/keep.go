package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Write runs f as one write at the time now. When f or the commit fails
// nothing of it is there.
func (l *Ledger) Write(ctx context.Context, now time.Time, f func(*Tx) error) error {
	if err := l.tx(ctx, func(tx *sql.Tx) error { return f(&Tx{tx, now}) }); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Swept is what a sweep took out.
type Swept struct{ Verdicts, Evidence, Cases int64 }

// Sweep deletes verdicts that were recorded before verdicts, and evidence,
// marks, last lines and cases that nothing was heard of since evidence. What
// is still to be published stays.
func (t *Tx) Sweep(verdicts, evidence time.Time) (s Swept, err error) {
	del := func(query string, before time.Time) (n int64) {
		if err != nil {
			return 0
		}
		var res sql.Result
		if res, err = t.tx.Exec(query, nanos(before)); err == nil {
			n, err = res.RowsAffected()
		}
		return n
	}
	s.Verdicts = del("DELETE FROM verdicts WHERE recorded < ? AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.member = verdicts.member AND o.revision = verdicts.revision)", verdicts)
	s.Evidence = del("DELETE FROM evidence WHERE received < ?", evidence)
	if s.Evidence > 0 && err == nil {
		_, err = t.tx.Exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('swept', ?)", nanos(evidence))
	}
	del("DELETE FROM marks WHERE received < ?", evidence)
	del("DELETE FROM tails WHERE received < ?", evidence)
	s.Cases = del("DELETE FROM cases WHERE heard < ? AND state <> 'ending' AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.member = cases.id)", evidence)
	del("DELETE FROM ties WHERE ? >= 0 AND NOT EXISTS (SELECT 1 FROM cases c WHERE c.id = ties.member)", evidence)
	del("DELETE FROM nodes WHERE heard < ?", evidence)
	return s, err
}

// Used says how many bytes of the file hold something: pages that a sweep
// freed are used again before the file grows.
func (l *Ledger) Used(ctx context.Context) (int64, error) {
	var pages, free, size int64
	for query, into := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA freelist_count": &free, "PRAGMA page_size": &size} {
		if err := l.read.QueryRowContext(ctx, query).Scan(into); err != nil {
			return 0, err
		}
	}
	return (pages - free) * size, nil
}

// OldestEvidence is when the oldest evidence was received, zero if there is none.
func (l *Ledger) OldestEvidence(ctx context.Context) (time.Time, error) {
	var n sql.NullInt64
	err := l.read.QueryRowContext(ctx, "SELECT min(received) FROM evidence").Scan(&n)
	return moment(n.Int64), err
}

// SweptTo is up to when evidence was swept, zero if none ever was.
func (l *Ledger) SweptTo(ctx context.Context) (time.Time, error) {
	var n sql.NullInt64
	err := l.read.QueryRowContext(ctx, "SELECT max(value) FROM meta WHERE name = 'swept'").Scan(&n)
	return moment(n.Int64), err
}
