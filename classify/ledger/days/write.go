package days

import (
	"math/rand/v2"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/schema"
)

// Write is what one write does to evidence, where it matters whether that is split.
type Write struct {
	days *Days
	conn *database.Conn
	now  time.Time

	Next int64 // of the millisecond's numbers, for the next record that it adds
}

// Write begins one at the time now.
func (d *Days) Write(conn *database.Conn, now time.Time) *Write {
	return &Write{days: d, conn: conn, now: now, Next: rand.Int64N(perMilli)}
}

// perMilli is how many numbers there are for what is received in a millisecond. The last place of a
// number, behind them, says whether the record is of another day.
const perMilli = number / 2

// Taken is the name that a number is taken by, where the record is of another day than the one that
// it was received on. No key is called so.
const Taken = "\x1f"

// Number is the number of a new record, nil where the database numbers rows itself, and the names
// that it is filed under.
//
// Two servers may come to one number; then one of them has to be refused, and tries again. Where
// evidence is split that is seen only where both records are in one table. So the numbers of what
// was received on its own day are even and those of all else odd, and an odd one is filed under a
// name that tells it apart, too, in the table of its number's day. The numbers of one write follow
// one another, from one of the millisecond on that is drawn.
func (w *Write) Number(at int64, names []string) (any, []string) {
	if w.days == nil {
		return w.conn.NewNumber(), names
	}
	milli := max(0, w.now.UnixMilli())
	n := milli*number + w.Next%perMilli*2
	w.Next++
	if at > 0 && dayOf(at) == dayOf(milli*int64(time.Millisecond)) {
		return n, names
	}
	return n + 1, append(names, Taken)
}

// Take takes the number of a record that was added. It fails where another one has it.
func (w *Write) Take(number int64) error {
	if w.days == nil || number%2 == 0 {
		return nil
	}
	_, err := w.conn.Execute("INSERT INTO names (name, evidence) VALUES (?, ?)", schema.NameNumber(Taken), number)
	return err
}

// Sweep deletes evidence that was received before a time and has no table that goes as a whole,
// first its places under its names. It deletes so much at most; more says whether it stopped there.
func (w *Write) Sweep(before int64, most int) (n int64, more bool, err error) {
	tables := []string{"evidence"}
	if w.days != nil {
		tables = []string{schema.Undated, schema.OtherDays}
		if more, err = w.sweepNames(before, most); err != nil {
			return 0, false, err
		}
	}
	for _, table := range tables {
		some, err := w.sweepTable(table, before, most-int(n))
		if n += some; err != nil {
			return 0, false, err
		}
	}
	return n, more || n == int64(most), nil
}

// sweepTable deletes evidence out of one table.
func (w *Write) sweepTable(table string, before int64, most int) (int64, error) {
	old := " FROM " + table + " WHERE received < ? ORDER BY received, id LIMIT ?"
	type row struct {
		id    int64
		names []byte
	}
	var found []row
	rows, err := w.conn.QueryRows("SELECT id, names"+old, before, most)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var x row
		if err := rows.Scan(&x.id, &x.names); err != nil {
			return 0, err
		}
		found = append(found, x)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, x := range found {
		for _, name := range schema.UnpackNumbers(x.names) {
			if _, err := w.conn.Execute("DELETE FROM names WHERE name = ? AND evidence = ?", name, x.id); err != nil {
				return 0, err
			}
		}
	}
	return w.affect("DELETE FROM "+table+" WHERE id IN (SELECT id"+old+")", before, most)
}

// sweepNames deletes names that have no table of a day, of evidence that was received before a time.
func (w *Write) sweepNames(before int64, most int) (more bool, err error) {
	const old = "DELETE FROM " + schema.OtherNames + " WHERE (name, evidence) IN (SELECT name, evidence FROM " +
		schema.OtherNames + " WHERE evidence < ? ORDER BY evidence LIMIT ?)"
	n, err := w.affect(old, max(0, before/int64(time.Millisecond))*number, most)
	return n == int64(most), err
}

// affect makes a change and returns how many rows it is of.
func (w *Write) affect(query string, args ...any) (int64, error) {
	res, err := w.conn.Execute(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
