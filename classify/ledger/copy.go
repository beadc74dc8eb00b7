package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger/database"
)

// copiedTable is a table as it is copied: in the order of its key.
type copiedTable struct {
	name  string
	key   []string
	truth []string // its columns that are a truth: a number in a file
}

// copiedTables are what a ledger holds, but for what only concerns servers that run.
var copiedTables = []copiedTable{
	{name: "cases", key: []string{"pod"}, truth: []string{"runner"}},
	{name: "ties", key: []string{"id"}},
	{name: "verdicts", key: []string{"number"}},
	{name: "outbox", key: []string{"pod", "revision"}},
	{name: "deliveries", key: []string{"receiver", "pod", "revision"}},
	{name: "evidence", key: []string{"id"}, truth: []string{"wide"}},
	{name: "names", key: []string{"name", "evidence"}},
	{name: "marks", key: []string{"hash"}},
	{name: "tails", key: []string{"stream"}},
	{name: "nodes", key: []string{"cluster", "node"}, truth: []string{"controller", "silent"}},
	{name: "meta", key: []string{"name"}},
}

// copying is the name in meta of a copy that is under way; those of notKept are of one
// ledger alone.
const copying = "copying"

var notKept = []string{copying, "schema", "least"}

// copyBatch is how many rows are written at once.
const copyBatch = 500

// Copied is told how far a table is copied.
type Copied func(table string, rows, of int64)

// Copy puts everything that is in one ledger into another, which is empty or holds the
// beginning of such a copy: a copy that was cut off is completed by the next one.
// No server may use either meanwhile.
func Copy(ctx context.Context, from, to *Ledger, told Copied) error {
	if err := to.beginCopy(ctx); err != nil {
		return err
	}
	if err := to.Days.MakeFor(ctx, time.Now(), from.queryPool); err != nil {
		return err
	}
	for i := range copiedTables {
		c := tableCopy{copiedTable: &copiedTables[i], from: from.queryPool, to: to}
		if err := c.copyAll(ctx, told); err != nil {
			return fmt.Errorf("table %s: %w", copiedTables[i].name, err)
		}
	}
	return to.conn.Write(ctx, func() error {
		_, err := to.conn.Execute("DELETE FROM meta WHERE name = ?", copying)
		return err
	})
}

// beginCopy notes that a copy is made into the ledger. One that holds something else is
// refused.
func (l *Ledger) beginCopy(ctx context.Context) error {
	var holds, begun bool
	const of = `SELECT EXISTS (SELECT 1 FROM cases) OR EXISTS (SELECT 1 FROM evidence) OR EXISTS (SELECT 1 FROM nodes),
		EXISTS (SELECT 1 FROM meta WHERE name = ?)`
	if err := l.queryPool.GetRow(ctx, of, copying).Scan(&holds, &begun); err != nil {
		return err
	}
	if holds && !begun {
		return fmt.Errorf("ledger %s: it holds something already; name an empty one", database.Redacted(l.path))
	}
	return l.conn.Write(ctx, func() error {
		const note = "INSERT INTO meta (name, value) VALUES (?, 1) ON CONFLICT DO NOTHING"
		_, err := l.conn.Execute(note, copying)
		return err
	})
}

// tableCopy is the copying of one table.
type tableCopy struct {
	*copiedTable
	from *database.Pool
	to   *Ledger

	columns []string
	rows    [][]any // of the batch
}

func (c *tableCopy) copyAll(ctx context.Context, told Copied) error {
	var of, done int64
	if err := c.from.QueryRowContext(ctx, "SELECT count(*) FROM "+c.name).Scan(&of); err != nil {
		return err
	}
	var last []any
	for {
		if err := c.readBatch(ctx, last); err != nil {
			return err
		}
		if len(c.rows) == 0 {
			told(c.name, of, of)
			return nil
		}
		if err := c.writeBatch(ctx); err != nil {
			return err
		}
		done += int64(len(c.rows))
		told(c.name, min(done, of), of)
		last = last[:0]
		for _, column := range c.key {
			last = append(last, c.rows[len(c.rows)-1][slices.Index(c.columns, column)])
		}
	}
}

// readBatch reads the rows that follow those with the key last; nil is the beginning.
func (c *tableCopy) readBatch(ctx context.Context, last []any) error {
	where := ""
	if len(last) > 0 {
		where = " WHERE (" + strings.Join(c.key, ", ") + ") > (?" + strings.Repeat(", ?", len(last)-1) + ")"
	}
	query := fmt.Sprintf("SELECT * FROM %s%s ORDER BY %s LIMIT %d", c.name, where, strings.Join(c.key, ", "), copyBatch)
	rows, err := c.from.QueryContext(ctx, query, last...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if c.columns, err = rows.Columns(); err != nil {
		return err
	}
	c.rows = c.rows[:0]
	for rows.Next() {
		row := make([]any, len(c.columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		c.rows = append(c.rows, row)
	}
	return rows.Err()
}

// writeBatch writes the rows that were read. What is there already stays.
func (c *tableCopy) writeBatch(ctx context.Context) error {
	insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s) ON CONFLICT DO NOTHING", c.name,
		strings.Join(c.columns, ", "), strings.Repeat(", ?", len(c.columns)-1))
	return c.to.conn.Write(ctx, func() error {
		var err error
		for _, row := range c.rows {
			if name, _ := row[0].(string); err == nil && !(c.name == "meta" && slices.Contains(notKept, name)) {
				_, bad := c.to.conn.Execute(insert, c.asWritten(row)...)
				err = errors.Join(err, bad)
			}
		}
		return err
	})
}

// asWritten is a row as the other ledger has it: a truth is one in a database and a number
// in a file. Nothing is ever NULL; the driver of files reads no bytes as that.
func (c *tableCopy) asWritten(row []any) []any {
	out := slices.Clone(row)
	for i, v := range out {
		if b, ok := v.([]byte); v == nil || ok && b == nil {
			out[i] = []byte{}
		}
	}
	for _, column := range c.truth {
		at := slices.Index(c.columns, column)
		switch v := out[at].(type) {
		case int64:
			if c.to.Shared() {
				out[at] = v != 0
			}
		case bool:
			if n := int64(0); !c.to.Shared() {
				if v {
					n = 1
				}
				out[at] = n
			}
		}
	}
	return out
}
