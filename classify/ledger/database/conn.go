package database

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// Conn is one connection to the file and every statement that was prepared on it:
// preparing most of them takes longer than running them.
type Conn struct {
	turn  chan struct{} // full while somebody uses it
	pool  *Pool
	db    *sql.Conn            // nil: it was lost, the next use takes another
	stmts map[string]*sql.Stmt // guarded by turn
	ctx   context.Context      // of the use that has its turn
	used  time.Time            // when it was, last
	held  []string             // the names that the write is alone with
}

// NewConn takes a connection out of a pool.
func NewConn(pool *Pool) (*Conn, error) {
	db, err := pool.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return &Conn{turn: make(chan struct{}, 1), pool: pool, db: db, stmts: map[string]*sql.Stmt{},
		ctx: context.Background()}, nil
}

// UseAlone runs f once nobody else uses the connection.
func (c *Conn) UseAlone(ctx context.Context, f func() error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.pool.remote {
		return c.useRemote(ctx, f)
	}
	return f()
}

// Remote says whether the database is a server's that others use, too.
func (s *Pool) Remote() bool { return s.remote }

// Remote says whether the database is a server's that others use, too.
func (c *Conn) Remote() bool { return c.pool.remote }

// NewNumber is the number of a new row; nil where the database numbers rows itself.
func (c *Conn) NewNumber() any { return c.pool.newNumber() }

// View runs f in a transaction that sees what was when it began.
func (c *Conn) View(ctx context.Context, f func() error) error {
	return c.UseAlone(ctx, func() error { return c.transact(beginView, f) })
}

// How transactions begin: one that writes, and one that sees what was when it began.
const (
	beginWrite = "BEGIN IMMEDIATE"
	beginView  = "BEGIN DEFERRED"
)

// Write runs f in a transaction that writes.
func (c *Conn) Write(ctx context.Context, f func() error) error {
	return c.UseAlone(ctx, func() error {
		c.held = nil
		return c.transact(beginWrite, func() error { return errors.Join(f(), ctx.Err()) })
	})
}

// transact runs f in a transaction. Whatever happens in f, the next one finds
// nothing begun.
func (c *Conn) transact(begin string, f func() error) (err error) {
	if _, err := c.Execute(begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_, bad := c.Execute("ROLLBACK")
			err = errors.Join(err, bad)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	if c.pool.remote {
		err = c.commitRemote()
	} else {
		_, err = c.Execute("COMMIT")
	}
	done = err == nil
	return err
}

func (c *Conn) Execute(query string, args ...any) (sql.Result, error) {
	if c.pool.remote {
		return c.db.ExecContext(c.ctx, c.pool.text(query), c.pool.values(args)...)
	}
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

func (c *Conn) QueryRows(query string, args ...any) (*sql.Rows, error) {
	if c.pool.remote {
		return c.db.QueryContext(c.ctx, c.pool.text(query), c.pool.values(args)...)
	}
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// QueryRow asks for one row; a statement that cannot be prepared tells so in Scan.
func (c *Conn) QueryRow(query string, args ...any) interface{ Scan(...any) error } {
	if c.pool.remote {
		return c.db.QueryRowContext(c.ctx, c.pool.text(query), c.pool.values(args)...)
	}
	s, err := c.prepared(query)
	if err != nil {
		return noRow{err}
	}
	return s.QueryRow(args...)
}

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

func (c *Conn) prepared(query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.db.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

// GiveBack waits until nobody uses the connection and gives it back.
func (c *Conn) GiveBack() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	c.stmts = map[string]*sql.Stmt{}
	if c.db == nil {
		return err
	}
	return errors.Join(err, c.db.Close())
}

// Pool is a pool of connections and the statements that were prepared on them.
// No statement is ever forgotten, so GetRows and GetRow take fixed texts only. Those of
// PostgreSQL's driver are kept by itself.
type Pool struct {
	*sql.DB
	*Dialect
	stmts sync.Map // text -> *sql.Stmt
}

// QueryContext runs a query on some connection.
func (s *Pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.DB.QueryContext(ctx, s.text(query), s.values(args)...)
}

// QueryRowContext is QueryContext for one row.
func (s *Pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.DB.QueryRowContext(ctx, s.text(query), s.values(args)...)
}

func (s *Pool) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.stmts.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, raced := s.stmts.LoadOrStore(query, stmt); raced {
		return known.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

// GetRows runs a query whose text is fixed. Such a query takes so little time that it is
// never interrupted: watching the context would cost more.
func (s *Pool) GetRows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s.remote {
		return s.QueryContext(ctx, query, args...)
	}
	stmt, err := s.prepared(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.Background(), args...)
}

// GetRow is get for one row.
func (s *Pool) GetRow(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
	if s.remote {
		return s.QueryRowContext(ctx, query, args...)
	}
	stmt, err := s.prepared(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return noRow{err}
	}
	return stmt.QueryRowContext(context.Background(), args...)
}
