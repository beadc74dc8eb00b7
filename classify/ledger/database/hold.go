package database

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// HoldTables are the tables that names are held in, and tasks.
const HoldTables = `
CREATE TABLE IF NOT EXISTS gates (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS leases (
	task   TEXT PRIMARY KEY,
	holder TEXT NOT NULL,
	until  INTEGER NOT NULL);
`

// Hold takes a name for this write alone: another one that wants it waits until this one
// ends, and sees then all that this one did. In a file nobody else writes.
func (c *Conn) Hold(name string) error {
	if c.Holds(name) {
		return nil
	}
	const gate = "SELECT name FROM gates WHERE name = ?" + Locked
	err := c.QueryRow(gate, name).Scan(new(string))
	if errors.Is(err, sql.ErrNoRows) {
		_, err = c.Execute("INSERT INTO gates (name) VALUES (?) ON CONFLICT DO NOTHING", name)
		if err == nil {
			err = c.QueryRow(gate, name).Scan(new(string))
		}
	}
	if err == nil {
		c.held = append(c.held, name)
	}
	return err
}

// Holds says whether a name is this write's alone.
func (c *Conn) Holds(name string) bool { return !c.pool.remote || slices.Contains(c.held, name) }

// HoldAll takes every name that there is.
func (c *Conn) HoldAll() error {
	if !c.pool.remote {
		return nil
	}
	rows, err := c.QueryRows("SELECT name FROM gates ORDER BY name" + Locked)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		c.held = append(c.held, name)
	}
	return rows.Err()
}

// Lead makes the holder the one that does a task until a time, unless another one is.
func (s *Pool) Lead(ctx context.Context, task, holder string, now, until time.Time) (bool, error) {
	const lead = `INSERT INTO leases (task, holder, until) VALUES (?1, ?2, ?4)
		ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE leases.holder = excluded.holder OR leases.until < ?3 RETURNING task`
	err := s.QueryRowContext(ctx, lead, task, holder, now.UnixNano(), until.UnixNano()).Scan(new(string))
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Offset is how far the database's clock is ahead of this machine's.
func (s *Pool) Offset(ctx context.Context) (time.Duration, error) {
	var theirs time.Time
	asked := time.Now()
	if err := s.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&theirs); err != nil {
		return 0, err
	}
	answered := time.Now()
	return theirs.Sub(asked.Add(answered.Sub(asked) / 2).Round(0)), nil
}
