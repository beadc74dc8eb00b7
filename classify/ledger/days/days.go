// Package days keeps evidence in a database in tables of a day each: it makes them before their
// day comes, and drops them when their time is over, which takes the same however much is in
// them. What has no table of its own, and all evidence of a file or of a database that is not
// split, is removed some rows at a time.
//
// Invariant: no evidence goes that was received since the time that is asked for, and no name of
// such evidence; two records never share a number. Nobody waits for a table to be made or
// dropped for longer than a tenth of a second.
//
// Crash behaviour: a table is made, or dropped, wholly or not at all; the next call goes on.
package days

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/schema"
)

// words are pieces of texts as a database has them whose evidence is split.
var words = []string{"ON CONFLICT (hash) DO NOTHING", "ON CONFLICT (hash, at) DO NOTHING"}

// Days are the tables of a database whose evidence is split by day; nil are those of one whose
// evidence is not, or of a file.
type Days struct {
	db *sql.DB

	mu   sync.Mutex
	late map[string]bool // tables that cannot be made
}

// Open asks a database whether its evidence is split, and if so makes the tables of today and of
// the days to come. It is for before anything else is asked.
func Open(ctx context.Context, pool *database.Pool) (*Days, error) {
	split, err := schema.ByDay(ctx, pool.DB)
	if err != nil || !split {
		return nil, err
	}
	pool.AddWords(words)
	offset, err := pool.Offset(ctx)
	if err != nil {
		return nil, err
	}
	d := &Days{db: pool.DB, late: map[string]bool{}}
	return d, d.makeAhead(ctx, time.Now().Add(offset), new(Kept))
}

// Kept is what came of keeping the tables.
type Kept struct {
	Evidence int64    // how many records went with their tables; from maxCounted on about as many
	Late     []string // tables that were not made, since something of their day is stored elsewhere: told once
	Held     []string // tables that others used for too long; they are for the next time
}

// ahead is for how many days tables are made before they come.
const ahead = 3

// Keep makes the tables that the next days need, and drops those of days that were over at a
// time, those of evidence only where nothing in them was received since then.
func (d *Days) Keep(ctx context.Context, now, since time.Time) (k Kept, err error) {
	if d == nil {
		return k, nil
	}
	err = d.makeAhead(ctx, now, &k)
	for _, root := range roots {
		have, bad := d.tables(ctx, root)
		err = errors.Join(err, bad)
		for _, t := range have {
			if !end(t.day).After(since) {
				err = errors.Join(err, d.dropOld(ctx, t, since, &k))
			}
		}
	}
	return k, errors.Join(err, d.emptyNames(ctx, &k))
}

// makeAhead makes the tables that the next days need.
func (d *Days) makeAhead(ctx context.Context, now time.Time, k *Kept) (err error) {
	var days []int64
	for i := range int64(ahead + 1) {
		days = append(days, dayOf(now.UnixNano())+i)
	}
	for _, root := range roots {
		err = errors.Join(err, d.makeAll(ctx, root, days, k))
	}
	return err
}

// MakeFor makes tables for what another ledger holds, of the latest days where it is of very
// many.
func (d *Days) MakeFor(ctx context.Context, now time.Time, of *database.Pool) error {
	if d == nil {
		return nil
	}
	for _, root := range roots {
		last := dayOf(now.UnixNano()) + ahead
		rows, err := of.QueryContext(ctx, root.daysIn+" ORDER BY 1 DESC LIMIT ?", last, maxCopied)
		days, err := read[int64](rows, err)
		if err = errors.Join(err, d.makeAll(ctx, root, days, new(Kept))); err != nil {
			return err
		}
	}
	return nil
}

// maxCopied is for how many days.
const maxCopied = 31

// root is a table that is split.
type root struct {
	name   string
	unit   int64  // how much of what it is split by is a day
	daysIn string // asks a ledger of which days it holds something, up to one
}

const (
	day    = int64(24 * time.Hour)
	millis = day / int64(time.Millisecond)
	number = 1 << 21 // makes of a count of milliseconds the first number of what was received then
)

var (
	evidence = &root{
		name: "evidence", unit: day,
		daysIn: fmt.Sprintf("SELECT DISTINCT at / %d FROM evidence WHERE at > 0 AND at / %[1]d <= ?",
			day),
	}
	names = &root{
		name: "names", unit: millis * number,
		daysIn: fmt.Sprintf("SELECT DISTINCT evidence / %d FROM names WHERE evidence >= %d AND evidence / %[1]d <= ?",
			millis*number, schema.MaxOfFile),
	}
	roots = []*root{evidence, names}
)

// dayOf is the day, in UTC, of a count of nanoseconds, as so many days after that of count zero.
func dayOf(nanos int64) int64 { return nanos / day }

// end is when a day is over.
func end(of int64) time.Time { return time.Unix(0, (of+1)*day) }

// table is one of a day.
type table struct {
	*root
	day int64
}

// date is how the name of a table ends.
const date = "_d20060102"

func (t table) String() string { return t.name + time.Unix(0, t.day*day).UTC().Format(date) }

// tables are those of days that there are.
func (d *Days) tables(ctx context.Context, of *root) (out []table, _ error) {
	const parts = `SELECT c.relname FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
		JOIN pg_catalog.pg_class p ON p.oid = i.inhparent JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace
		WHERE n.nspname = current_schema() AND p.relname = $1 ORDER BY c.relname`
	rows, err := d.db.QueryContext(ctx, parts, of.name)
	all, err := read[string](rows, err)
	for _, name := range all {
		if at, bad := time.Parse(date, strings.TrimPrefix(name, of.name)); bad == nil {
			out = append(out, table{of, dayOf(at.UnixNano())})
		}
	}
	return out, err
}

// makeAll makes the tables of days that are not there. The first day has none, for the numbers of
// files and the time that means none are of it.
func (d *Days) makeAll(ctx context.Context, of *root, days []int64, k *Kept) error {
	have, err := d.tables(ctx, of)
	for _, day := range days {
		if t := (table{of, day}); day > 0 && !slices.Contains(have, t) && !d.isLate(t) {
			err = errors.Join(err, d.makeOne(ctx, t, k))
		}
	}
	return err
}

func (d *Days) isLate(t table) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.late[t.String()]
}

func (d *Days) makeOne(ctx context.Context, t table, k *Kept) error {
	key := ""
	if t.root == evidence {
		key = "(PRIMARY KEY (id)) "
	}
	err := d.change(ctx, fmt.Sprintf("CREATE TABLE %s PARTITION OF %s %sFOR VALUES FROM (%d) TO (%d)",
		t, t.name, key, t.day*t.unit, (t.day+1)*t.unit))
	switch {
	case database.IsHeld(err):
		k.Held = append(k.Held, t.String())
	case database.IsOverlap(err):
		d.mu.Lock()
		defer d.mu.Unlock()
		d.late[t.String()] = true
		k.Late = append(k.Late, t.String())
	case !database.IsMade(err): // else another server made it meanwhile
		return err
	}
	return nil
}

// waitFor is how long a change of the tables waits for others to let go of each of the two that it
// takes, in milliseconds: so long whoever comes after it waits, too.
const waitFor = 30

// change makes one in a transaction of its own.
func (d *Days) change(ctx context.Context, texts ...string) error {
	return d.alone(ctx, func(tx *sql.Tx) error {
		for _, text := range texts {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// alone runs f in a transaction that waits for nobody for long.
func (d *Days) alone(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", waitFor)); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// read reads the one column of rows.
func read[T any](rows *sql.Rows, err error) (out []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
