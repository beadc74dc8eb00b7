package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// deliveryTables hold, for each receiver of verdicts but Loki, what it is still to be sent, and
// of what it was sent the notes. How far its list was made stands in meta.
const deliveryTables = `
CREATE TABLE IF NOT EXISTS deliveries (
	receiver TEXT NOT NULL,
	pod      BIGINT NOT NULL, revision BIGINT NOT NULL,
	due      BIGINT NOT NULL, attempts BIGINT NOT NULL,
	done     BIGINT NOT NULL DEFAULT 0, -- nanoseconds; 0 = it is still to be sent
	note     TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (receiver, pod, revision));
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (receiver, due) WHERE done = 0;
`

// Deliveries are the verdicts for one receiver: each revision is there from when it was
// recorded until the receiver has it. A receiver that is new begins with what is recorded
// from then on.
type Deliveries struct {
	ledger   *Ledger
	receiver string
}

// Delivery is a verdict that is to be sent.
type Delivery struct {
	Record
	Attempts int
}

// oldNews is how long after its record nobody is told of a verdict any more: a receiver that was
// switched off for a month does not get that month.
const oldNews = 48 * time.Hour

// Deliveries returns those of a receiver; the name must stay the same.
func (l *Ledger) Deliveries(receiver string) *Deliveries { return &Deliveries{l, receiver} }

// position is the name in meta of how far the list of the receiver was made.
func (d *Deliveries) position() string { return "receiver:" + d.receiver }

// Due returns what is due, the oldest first.
func (d *Deliveries) Due(ctx context.Context, now time.Time, limit int) (out []Delivery, err error) {
	if err := d.takeNew(ctx, now); err != nil {
		return nil, err
	}
	c := d.ledger.readConn
	err = c.useAlone(ctx, func() error {
		rows, err := c.queryRows(`SELECT v.member, v.revision, d.attempts
			FROM deliveries d JOIN verdicts v ON v.pod = d.pod AND v.revision = d.revision
			WHERE d.receiver = ? AND d.done = 0 AND d.due <= ? ORDER BY v.recorded, v.member, v.revision LIMIT ?`,
			d.receiver, unixNanos(now), limit)
		err = eachRow(rows, err, func(r *sql.Rows) error {
			var item Delivery
			err := r.Scan(&item.Case, &item.Verdict.Revision, &item.Attempts)
			out = append(out, item)
			return err
		})
		query := func(_ context.Context, query string, args ...any) (*sql.Rows, error) {
			return c.queryRows(query, args...)
		}
		for i := range out {
			if err == nil {
				err = d.fill(ctx, query, &out[i])
			}
		}
		return err
	})
	return out, err
}

// fill reads the verdict of an item.
func (d *Deliveries) fill(ctx context.Context, query queryFunc, item *Delivery) error {
	const tail = "WHERE pod = " + podOf + " AND revision = ?"
	all, err := d.ledger.names.readRecords(ctx, query, whole, tail, item.Case, item.Verdict.Revision)
	if err == nil && len(all) != 1 {
		err = errors.New("a verdict that is to be sent is not there")
	}
	if err == nil {
		item.Record = all[0]
	}
	return err
}

// takeNew puts verdicts that were recorded since the last time into the receiver's list.
func (d *Deliveries) takeNew(ctx context.Context, now time.Time) error {
	var from sql.NullInt64
	var newest int64
	c := d.ledger.readConn
	err := c.useAlone(ctx, func() error {
		err := c.queryRow("SELECT max(value) FROM meta WHERE name = ?", d.position()).Scan(&from)
		return errors.Join(err, c.queryRow("SELECT coalesce(max(number), 0) FROM verdicts").Scan(&newest))
	})
	if err != nil || from.Valid && newest == from.Int64 {
		return err
	}
	if newest < from.Int64 {
		from.Int64 = 0 // all that was there before was swept, and numbers began anew
	}
	return d.ledger.Write(ctx, now, func(tx *Tx) error {
		if from.Valid {
			_, err := tx.conn.execute(`INSERT INTO deliveries (receiver, pod, revision, due, attempts)
				SELECT ?, pod, revision, 0, 0 FROM verdicts WHERE number > ? AND number <= ? AND recorded >= ?
				ON CONFLICT DO NOTHING`, d.receiver, from.Int64, newest, unixNanos(now.Add(-oldNews)))
			if err != nil {
				return err
			}
		}
		return tx.noteValue(d.position(), newest)
	})
}

// Waiting says how many are still to be sent.
func (d *Deliveries) Waiting(ctx context.Context) (n int, err error) {
	c := d.ledger.readConn
	err = c.useAlone(ctx, func() error {
		return c.queryRow("SELECT count(*) FROM deliveries WHERE receiver = ? AND done = 0", d.receiver).Scan(&n)
	})
	return n, err
}

// Done takes an item off the list. A note stays for as long as the verdict.
func (d *Deliveries) Done(ctx context.Context, now time.Time, item Delivery, note string) error {
	return d.ledger.Write(ctx, now, func(tx *Tx) error {
		const row = " WHERE receiver = ? AND pod = " + podOf + " AND revision = ?"
		if note == "" {
			_, err := tx.conn.execute("DELETE FROM deliveries"+row, d.receiver, item.Case, item.Verdict.Revision)
			return err
		}
		_, err := tx.conn.execute("UPDATE deliveries SET done = ?, note = ?"+row,
			unixNanos(now), note, d.receiver, item.Case, item.Verdict.Revision)
		return err
	})
}

// Postpone notes a failed attempt: the item is due again at due.
func (d *Deliveries) Postpone(ctx context.Context, now time.Time, item Delivery, due time.Time) error {
	return d.ledger.Write(ctx, now, func(tx *Tx) error {
		_, err := tx.conn.execute(`UPDATE deliveries SET due = ?, attempts = attempts + 1
			WHERE receiver = ? AND pod = `+podOf+` AND revision = ?`,
			unixNanos(due), d.receiver, item.Case, item.Verdict.Revision)
		return err
	})
}

// Noted counts what was done since then with a note that begins with certain words.
func (d *Deliveries) Noted(ctx context.Context, since time.Time, begins string) (n int, err error) {
	c := d.ledger.readConn
	err = c.useAlone(ctx, func() error {
		return c.queryRow(`SELECT count(*) FROM deliveries
			WHERE receiver = ? AND done >= ? AND substr(note, 1, ?) = ?`,
			d.receiver, unixNanos(since), len(begins), begins).Scan(&n)
	})
	return n, err
}

// Note is what was noted of a revision, "" where nothing was.
func (d *Deliveries) Note(ctx context.Context, id string, revision int) (note string, err error) {
	c := d.ledger.readConn
	err = c.useAlone(ctx, func() error {
		var found sql.NullString
		err := c.queryRow("SELECT max(note) FROM deliveries WHERE receiver = ? AND pod = "+podOf+" AND revision = ?",
			d.receiver, id, revision).Scan(&found)
		note = found.String
		return err
	})
	return note, err
}

// sweepDeliveries deletes those whose verdicts are gone.
const sweepDeliveries = `DELETE FROM deliveries WHERE (receiver, pod, revision) IN
	(SELECT receiver, pod, revision FROM deliveries d WHERE d.done < ?
	AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.pod = d.pod AND v.revision = d.revision) LIMIT ?)`
