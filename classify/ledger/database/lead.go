package database

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Lead says which server does what only one must do, or what would be done twice for
// nothing. Nothing may go wrong where two do it at the same time for a moment: a server that
// was stopped in the middle goes on when it wakes up.
type Lead struct {
	pool   *Pool
	holder string // this server
	mu     sync.Mutex
	tasks  map[string]lease
}

// lease is what is known of a task.
type lease struct {
	asked time.Time
	leads bool
}

// A lease lasts leaseFor, and is asked for anew each askLead.
const (
	leaseFor = 15 * time.Second
	askLead  = 4 * time.Second
)

// NewLead returns a server that does nothing yet.
func NewLead(pool *Pool) *Lead {
	return &Lead{pool: pool, holder: rand.Text(), tasks: map[string]lease{}}
}

// Of says whether this server does a task at the time now. Who has a ledger for itself does
// everything.
func (l *Lead) Of(ctx context.Context, task string, now time.Time) (leads bool, err error) {
	if !l.pool.Remote() {
		return true, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if has, ok := l.tasks[task]; ok && now.Sub(has.asked).Abs() < askLead {
		return has.leads, nil
	}
	delete(l.tasks, task)
	leads, err = l.pool.Lead(ctx, task, l.holder, now, now.Add(leaseFor))
	if err == nil {
		l.tasks[task] = lease{now, leads}
	}
	return leads, err
}

// GiveUp lets other servers do all of it at once.
func (l *Lead) GiveUp() {
	if l == nil || !l.pool.Remote() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// Where that fails the leases end by themselves.
	if rows, err := l.pool.GetRows(ctx, "DELETE FROM leases WHERE holder = ? RETURNING task", l.holder); err == nil {
		_ = rows.Close()
	}
}

// Clock is the time that all servers of the ledger go by: the database's, or this machine's
// where the ledger is a file. It is asked for from time to time, and this machine's clock
// tells how much later it is.
type Clock struct {
	pool *Pool
	now  func() time.Time
	mu   sync.Mutex
	base time.Time // of the database
	at   time.Time // when it was asked, with the reading of a clock that does not jump
}

// NewClock returns the clock; now is this machine's.
func NewClock(pool *Pool, now func() time.Time) *Clock { return &Clock{pool: pool, now: now} }

// askClock is how often the database is asked for its time.
const askClock = 10 * time.Second

// Now is the time.
func (c *Clock) Now() time.Time {
	if !c.pool.Remote() {
		return c.now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := time.Since(c.at); c.at.IsZero() || since > askClock {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		offset, err := c.pool.Offset(ctx)
		if at := time.Now(); err == nil || c.at.IsZero() {
			c.base, c.at = at.Round(0).Add(offset), at
		} else { // it is away; until it is back nothing is compared
			c.base, c.at = c.base.Add(since), at
		}
	}
	return c.base.Add(time.Since(c.at)).UTC()
}
