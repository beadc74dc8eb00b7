package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

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

// position is the name in meta of up to where the list of the receiver is made.
func (d *Deliveries) position() string { return "receiver: " + d.receiver }

// Leads says whether this server is the one that sends to the receiver.
func (d *Deliveries) Leads(ctx context.Context, now time.Time) (bool, error) {
	return d.ledger.Lead.Of(ctx, "deliver to "+d.receiver, now)
}

// Due returns what is due, the oldest first.
func (d *Deliveries) Due(ctx context.Context, now time.Time, limit int) (out []Delivery, err error) {
	if err := d.takeNew(ctx, now); err != nil {
		return nil, err
	}
	c := d.ledger.readConn
	err = c.UseAlone(ctx, func() error {
		rows, err := c.QueryRows(`SELECT v.member, v.revision, d.attempts
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
			return c.QueryRows(query, args...)
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

// late is how long after the time that a verdict was recorded at it can be seen: another
// server's write may take that long.
const late = 10 * time.Minute

// takeNew puts verdicts that were recorded since the last time into the receiver's list. Of
// a new receiver's what was there before counts as sent.
func (d *Deliveries) takeNew(ctx context.Context, now time.Time) error {
	var position sql.NullInt64
	some := false
	c := d.ledger.readConn
	err := c.UseAlone(ctx, func() error {
		err := c.QueryRow("SELECT max(value) FROM meta WHERE name = ?", d.position()).Scan(&position)
		if err != nil || !position.Valid {
			return err
		}
		return c.QueryRow("SELECT EXISTS (SELECT 1"+unlisted+")", d.receiver, from(now, position)).Scan(&some)
	})
	if err != nil || position.Valid && !some {
		return err
	}
	return d.ledger.Write(ctx, now, func(tx *Tx) error {
		done := unixNanos(now)
		if position.Valid {
			done = 0
		}
		_, err := tx.conn.Execute(`INSERT INTO deliveries (receiver, pod, revision, due, attempts, done)
			SELECT ?1, pod, revision, 0, 0, CAST(?3 AS BIGINT)`+unlisted+" ON CONFLICT DO NOTHING",
			d.receiver, from(now, position), done)
		if err != nil {
			return err
		}
		return tx.noteValue(d.position(), unixNanos(now))
	})
}

// unlisted are the verdicts since a time that a receiver's list has not had.
const unlisted = ` FROM verdicts v WHERE last IN (0, 1) AND recorded > ?2 AND NOT EXISTS
	(SELECT 1 FROM deliveries d WHERE d.receiver = ?1 AND d.pod = v.pod AND d.revision = v.revision)`

// from is since when verdicts are looked for that a list has not had, which was made up to
// position; a new one's was made up to now.
func from(now time.Time, position sql.NullInt64) int64 {
	if !position.Valid {
		position.Int64 = unixNanos(now)
	}
	return max(position.Int64-int64(late), unixNanos(now.Add(-oldNews)))
}

// Waiting says how many are still to be sent.
func (d *Deliveries) Waiting(ctx context.Context) (n int, err error) {
	c := d.ledger.readConn
	err = c.UseAlone(ctx, func() error {
		return c.QueryRow("SELECT count(*) FROM deliveries WHERE receiver = ? AND done = 0", d.receiver).Scan(&n)
	})
	return n, err
}

// Begin notes what is about to be done about an item, which stays on the list.
func (d *Deliveries) Begin(ctx context.Context, now time.Time, item Delivery, note string) error {
	return d.change(ctx, now, item, "note = ?", note)
}

// Done takes an item off the list. That it did, and the note, stay for as long as the verdict.
func (d *Deliveries) Done(ctx context.Context, now time.Time, item Delivery, note string) error {
	return d.change(ctx, now, item, "done = ?, note = ?", unixNanos(now), note)
}

// Postpone notes a failed attempt: the item is due again at due.
func (d *Deliveries) Postpone(ctx context.Context, now time.Time, item Delivery, due time.Time) error {
	return d.change(ctx, now, item, "due = ?, attempts = attempts + 1", unixNanos(due))
}

func (d *Deliveries) change(ctx context.Context, now time.Time, item Delivery, set string, args ...any) error {
	return d.ledger.Write(ctx, now, func(tx *Tx) error {
		const row = " WHERE receiver = ? AND pod = " + podOf + " AND revision = ?"
		args := append(args, d.receiver, item.Case, item.Verdict.Revision)
		_, err := tx.conn.Execute("UPDATE deliveries SET "+set+row, args...)
		return err
	})
}

// Noted counts what was done since then, or only begun if that is zero, by what its note begins with.
func (d *Deliveries) Noted(ctx context.Context, since time.Time, begins string) (n int, err error) {
	c := d.ledger.readConn
	err = c.UseAlone(ctx, func() error {
		return c.QueryRow(`SELECT count(*) FROM deliveries
			WHERE receiver = ? AND done >= ? AND substr(note, 1, ?) = ?`,
			d.receiver, unixNanos(since), len(begins), begins).Scan(&n)
	})
	return n, err
}

// Note is what was noted of a revision, "" where nothing was.
func (d *Deliveries) Note(ctx context.Context, id string, revision int) (note string, err error) {
	c := d.ledger.readConn
	err = c.UseAlone(ctx, func() error {
		var found sql.NullString
		err := c.QueryRow("SELECT max(note) FROM deliveries WHERE receiver = ? AND pod = "+podOf+" AND revision = ?",
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
