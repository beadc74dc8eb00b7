package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// IsURL says whether a ledger is named that is in a PostgreSQL.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "postgres://") || strings.HasPrefix(path, "postgresql://")
}

// Redacted is the name of a ledger as anybody may read it: of a URL what does not open it.
func Redacted(path string) string {
	if !IsURL(path) {
		return path
	}
	u, err := url.Parse(path)
	if err != nil {
		return "postgres://…"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// How long things may take before a server gives up and tries again: a connection, one use
// of it, and how long the database waits for a server that stopped in the middle of a write.
const (
	connectFor = 5 * time.Second
	useFor     = 30 * time.Second
	idleFor    = "20s"
	askAfter   = time.Second // a connection that was not used for so long may have been lost
)

// OpenURL opens pools of so many connections to a PostgreSQL. words are pieces of texts, each
// followed by what PostgreSQL has for it.
func OpenURL(path string, words []string, conns ...int) ([]*Pool, error) {
	config, err := pgx.ParseConfig(path)
	if err != nil { // what the driver says of it can have the password in it
		return nil, errors.New("not the URL of a PostgreSQL database: postgres://USER@HOST:PORT/DATABASE")
	}
	config.ConnectTimeout = connectFor
	for name, value := range map[string]string{
		"application_name": "coroner", "idle_in_transaction_session_timeout": idleFor,
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	d := newDialect(words)
	var all []*Pool
	for _, n := range conns {
		db := stdlib.OpenDB(*config)
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
		all = append(all, &Pool{DB: db, Dialect: d})
	}
	return all, nil
}

// useRemote runs f on a connection that is there, or was lost and is taken anew.
func (c *Conn) useRemote(ctx context.Context, f func() error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, useFor)
	defer cancel()
	if c.db != nil && time.Since(c.used) > askAfter && c.db.PingContext(ctx) != nil {
		c.drop()
	}
	if c.db == nil || c.isLost() {
		c.drop()
		if c.db, err = c.pool.Conn(ctx); err != nil {
			return err
		}
	}
	c.ctx = ctx
	err = f()
	if c.used = time.Now(); c.isLost() {
		c.drop()
	}
	return err
}

func (c *Conn) drop() {
	if c.db != nil {
		_ = c.db.Close()
	}
	c.db = nil
}

// isLost says whether the connection is of no use any longer.
func (c *Conn) isLost() (lost bool) {
	err := c.db.Raw(func(of any) error {
		lost = of.(*stdlib.Conn).Conn().IsClosed()
		return nil
	})
	return lost || err != nil
}

// commitRemote commits. After a statement failed the database answers with a rollback,
// which is no error to the driver.
func (c *Conn) commitRemote() error {
	return c.db.Raw(func(of any) error {
		tag, err := of.(*stdlib.Conn).Conn().Exec(c.ctx, "COMMIT")
		if err == nil && tag.String() != "COMMIT" {
			err = fmt.Errorf("the database answered COMMIT with %s", tag)
		}
		return err
	})
}

// IsConflict says whether a write failed only because of another one at the same time: it
// could not be put in order with it, each waited for the other, or two new rows got one number.
func IsConflict(err error) bool {
	var of *pgconn.PgError
	if !errors.As(err, &of) {
		return false
	}
	switch of.Code {
	case "40001", "40P01", "55P03":
		return true
	case "23505": // a part of a table has the table's name before its own
		table, _, _ := strings.Cut(of.ConstraintName, "_")
		return strings.HasSuffix(of.ConstraintName, "_pkey") &&
			slices.Contains([]string{"evidence", "names", "cases", "verdicts"}, table)
	}
	return false
}

// IsHeld says whether something was given up because others had it for too long.
func IsHeld(err error) bool {
	var of *pgconn.PgError
	return errors.As(err, &of) && of.Code == "55P03"
}

// IsOverlap says whether a part of a table could not be made since rows that belong into it stand
// elsewhere.
func IsOverlap(err error) bool {
	var of *pgconn.PgError
	return errors.As(err, &of) && of.Code == "23514"
}

// IsMade says whether making a table or a row failed because another server made it meanwhile.
func IsMade(err error) bool {
	var of *pgconn.PgError
	return errors.As(err, &of) &&
		slices.Contains([]string{"23505", "42P07", "42710", "40001", "40P01", "XX000"}, of.Code)
}

// IsAway says whether something failed because the database could not be reached, or takes
// nothing at present: a later try may succeed.
func IsAway(err error) bool {
	var of *pgconn.PgError
	if errors.As(err, &of) { // read only; no connection, in the way, full, locked, shutting down, its disk
		return of.Code == "25006" || slices.Contains([]string{"08", "40", "53", "55", "57", "58"}, of.Code[:2])
	}
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// Ping says whether the database takes writes now.
func (s *Pool) Ping(ctx context.Context) error {
	if !s.remote {
		return nil
	}
	var readOnly string
	err := s.QueryRowContext(ctx, "SHOW transaction_read_only").Scan(&readOnly)
	if err == nil && readOnly == "on" {
		err = errors.New("it takes no writes; is it a standby?")
	}
	return err
}

// Size is how many bytes the database takes, 0 where it does not tell.
func (s *Pool) Size() (n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	_ = s.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	return n
}
