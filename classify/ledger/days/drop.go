package days

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/schema"
)

// errInUse says that a table is not to go after all.
var errInUse = errors.New("something in it was received since")

// dropOld drops a table, unless something in it was received since a time. Names go with their day:
// evidence that is older than that has nothing to be found by, and is not asked for.
func (d *Days) dropOld(ctx context.Context, t table, since time.Time, k *Kept) error {
	var gone int64
	if t.root == evidence {
		if err := isOld(d.db.QueryRowContext(ctx, latest(t)), since); err != nil {
			return ignore(err, errInUse)
		}
		var err error
		if gone, err = d.count(ctx, t); err != nil {
			return err
		}
	}
	return d.drop(ctx, t, since, gone, k)
}

// drop drops a table that is old, unless a record came meanwhile.
func (d *Days) drop(ctx context.Context, t table, since time.Time, gone int64, k *Kept) error {
	err := d.alone(ctx, func(tx *sql.Tx) error {
		// A query comes to the table by way of the one that is split, too, so they wait in that order.
		lock := fmt.Sprintf("LOCK TABLE ONLY %s, ONLY %s IN ACCESS EXCLUSIVE MODE", t.name, t)
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return err
		}
		if t.root == evidence { // nobody can add to it any more
			if err := isOld(tx.QueryRowContext(ctx, latest(t)), since); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DROP TABLE "+t.String())
		if err == nil && gone > 0 {
			_, err = tx.ExecContext(ctx, sweptTo, since.UnixNano())
		}
		return err
	})
	switch {
	case database.IsHeld(err):
		k.Held = append(k.Held, t.String())
	case err == nil:
		k.Evidence += gone
	default:
		return ignore(err, errInUse)
	}
	return nil
}

// sweptTo notes up to when evidence was swept.
const sweptTo = `INSERT INTO meta (name, value) VALUES ('swept', $1)
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// latest asks when the latest record of a table was received.
func latest(t table) string { return "SELECT max(received) FROM " + t.String() }

// isOld is errInUse where a record was received since a time.
func isOld(row *sql.Row, since time.Time) error {
	var at sql.NullInt64
	err := row.Scan(&at)
	if err == nil && at.Valid && at.Int64 >= since.UnixNano() {
		err = errInUse
	}
	return err
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

// maxCounted is from how many rows on it is enough to know about how many they are.
const maxCounted = 1_000_000

// count is how many rows a table has: where they are many, by the database's statistics.
func (d *Days) count(ctx context.Context, t table) (n int64, err error) {
	const about = "SELECT CAST(reltuples AS BIGINT) FROM pg_catalog.pg_class WHERE oid = to_regclass($1)"
	if err = d.db.QueryRowContext(ctx, about, t.String()).Scan(&n); err != nil || n >= maxCounted {
		return n, err
	}
	err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM "+t.String()).Scan(&n)
	return n, err
}

// emptyNames removes the names of evidence that was copied from a file, once none of that evidence
// is left.
func (d *Days) emptyNames(ctx context.Context, k *Kept) error {
	var needless bool
	const of = "SELECT EXISTS (SELECT 1 FROM " + schema.NamesOfFile + ") AND " +
		"NOT EXISTS (SELECT 1 FROM evidence WHERE id < $1) AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'copying')"
	err := d.db.QueryRowContext(ctx, of, schema.MaxOfFile).Scan(&needless)
	if err != nil || !needless {
		return err
	}
	if err = d.change(ctx, "TRUNCATE "+schema.NamesOfFile); database.IsHeld(err) {
		k.Held, err = append(k.Held, schema.NamesOfFile), nil
	}
	return err
}
