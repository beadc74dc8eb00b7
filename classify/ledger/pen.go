package ledger

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// pen is one connection with every statement that it has used: to prepare most
// of them takes longer than to run them.
type pen struct {
	turn  chan struct{} // full while somebody uses it
	conn  *sql.Conn
	known map[string]*sql.Stmt // guarded by turn
}

// newPen takes the one connection of db.
func newPen(db *sql.DB) (*pen, error) {
	conn, err := db.Conn(context.Background())
	return &pen{turn: make(chan struct{}, 1), conn: conn, known: map[string]*sql.Stmt{}}, err
}

// use runs f when it is its turn.
func (p *pen) use(ctx context.Context, f func(*pen) error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(p)
}

// write runs f in a transaction.
func (p *pen) write(ctx context.Context, f func() error) error {
	return p.use(ctx, func(*pen) error {
		return p.transact("BEGIN IMMEDIATE", func() error { return errors.Join(f(), ctx.Err()) })
	})
}

// transact runs f in a transaction. Whatever happens in f, the next one finds
// nothing begun.
func (p *pen) transact(begin string, f func() error) (err error) {
	if _, err := p.exec(begin); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_, bad := p.exec("ROLLBACK")
			err = errors.Join(err, bad)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	_, err = p.exec("COMMIT")
	done = err == nil
	return err
}

func (p *pen) exec(query string, args ...any) (sql.Result, error) {
	s, err := p.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Exec(args...)
}

func (p *pen) query(query string, args ...any) (*sql.Rows, error) {
	s, err := p.prepared(query)
	if err != nil {
		return nil, err
	}
	return s.Query(args...)
}

// row asks for one row; a statement that cannot be prepared tells so in Scan.
func (p *pen) row(query string, args ...any) interface{ Scan(...any) error } {
	s, err := p.prepared(query)
	if err != nil {
		return noRow{err}
	}
	return s.QueryRow(args...)
}

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

func (p *pen) prepared(query string) (*sql.Stmt, error) {
	if s := p.known[query]; s != nil {
		return s, nil
	}
	s, err := p.conn.PrepareContext(context.Background(), query)
	if err == nil {
		p.known[query] = s
	}
	return s, err
}

// close waits for who writes and gives the connection back.
func (p *pen) close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	var err error
	for _, s := range p.known {
		err = errors.Join(err, s.Close())
	}
	p.known = map[string]*sql.Stmt{}
	return errors.Join(err, p.conn.Close())
}

// shelf is the statements that a pool of connections has used. Only fixed
// texts may be asked for: none is ever forgotten.
type shelf struct {
	*sql.DB
	known sync.Map // text -> *sql.Stmt
}

func (s *shelf) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := s.known.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, raced := s.known.LoadOrStore(query, stmt); raced {
		return known.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

// get runs a query whose text is fixed. It takes so little time that nobody need
// interrupt it: to wait for that would cost more.
func (s *shelf) get(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.stmt(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

// getRow is get for one row.
func (s *shelf) getRow(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
	stmt, err := s.stmt(ctx, query)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return noRow{err}
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}
