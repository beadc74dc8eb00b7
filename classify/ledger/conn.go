package ledger

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// conn is one connection to the file and every statement that was prepared on it:
// preparing most of them takes longer than running them.
type conn struct {
	turn  chan struct{} // full while somebody uses it
	db    *sql.Conn
	stmts map[string]*sql.Stmt // guarded by turn
}

// newConn takes a connection out of a pool.
func newConn(pool *sql.DB) (*conn, error) {
	db, err := pool.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{turn: make(chan struct{}, 1), db: db, stmts: map[string]*sql.Stmt{}}, nil
}

// useAlone runs f once nobody else uses the connection.
func (c *conn) useAlone(ctx context.Context, f func() error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

// inTransaction runs f in a transaction.
func (c *conn) inTransaction(ctx context.Context, f func() error) error {
	return c.useAlone(ctx, func() error {
		return c.transact("BEGIN IMMEDIATE", func() error { return errors.Join(f(), ctx.Err()) })
	})
}

// transact runs f in a transaction. Whatever happens in f, the next one finds
// nothing begun.
func (c *conn) transact(begin string, f func() error) (err error) {
	if _, err := c.execute(begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_, bad := c.execute("ROLLBACK")
			err = errors.Join(err, bad)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	_, err = c.execute("COMMIT")
	done = err == nil
	return err
}

func (c *conn) execute(query string, args ...any) (sql.Result, error) {
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

func (c *conn) queryRows(query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// queryRow asks for one row; a statement that cannot be prepared tells so in Scan.
func (c *conn) queryRow(query string, args ...any) interface{ Scan(...any) error } {
	s, err := c.prepared(query)
	if err != nil {
		return noRow{err}
	}
	return s.QueryRow(args...)
}

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

func (c *conn) prepared(query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.db.PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

// giveBack waits until nobody uses the connection and gives it back.
func (c *conn) giveBack() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	c.stmts = map[string]*sql.Stmt{}
	return errors.Join(err, c.db.Close())
}

// stmtCache is a pool of connections and the statements that were prepared on them.
// No statement is ever forgotten, so get and getRow take fixed texts only.
type stmtCache struct {
	*sql.DB
	stmts sync.Map // text -> *sql.Stmt
}

func (s *stmtCache) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
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

// getRows runs a query whose text is fixed. Such a query takes so little time that it is
// never interrupted: watching the context would cost more.
func (s *stmtCache) getRows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepared(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

// getRow is get for one row.
func (s *stmtCache) getRow(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
	stmt, err := s.prepared(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return noRow{err}
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}
