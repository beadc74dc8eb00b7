package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/days"
	"coroner/classify/ledger/schema"
)

// In a database that several servers use every write is what it is in a file: whoever
// changes cases of a cluster holds that cluster first, so such writes come one after
// another, each seeing all of those before it. Evidence, marks and nodes can be written
// beside them, for the order of those does not matter.

// openURL opens a ledger in a PostgreSQL.
func openURL(path string) (*Ledger, error) {
	name := database.Redacted(path)
	pools, err := database.OpenURL(path, inPostgres, 1, readers+1)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", name, err)
	}
	l := &Ledger{path: path, names: &naming{}, writePool: pools[0], queryPool: pools[1]}
	if err = schema.Expand(l.writePool.DB); err == nil {
		l.Days, err = days.Open(context.Background(), l.queryPool)
	}
	if err == nil {
		err = l.connect()
	}
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", name, err)
	}
	return l, nil
}

// Shared says whether other servers may use the ledger at the same time.
func (l *Ledger) Shared() bool { return l.queryPool.Remote() }

// Ping says whether the ledger takes writes now.
func (l *Ledger) Ping(ctx context.Context) error {
	if err := l.queryPool.Ping(ctx); err != nil {
		return fmt.Errorf("ledger %s: %w", database.Redacted(l.path), err)
	}
	return nil
}

// IsAway says whether something failed because the ledger could not be reached: a later try
// may succeed.
func IsAway(err error) bool { return database.IsAway(err) }

// NewClock is the clock that all servers of the ledger go by; now is this machine's.
func (l *Ledger) NewClock(now func() time.Time) *database.Clock {
	return database.NewClock(l.queryPool, now)
}

// Hold takes clusters for this write alone, in an order in which no two writes wait for each
// other. A write that takes none gets each when it asks for a case of it.
func (t *Tx) Hold(clusters []string) error {
	if !t.conn.Remote() {
		return nil
	}
	stored := make([]string, len(clusters))
	for i, cluster := range clusters {
		stored[i] = t.names.storedCluster(cluster)
	}
	slices.Sort(stored)
	for _, cluster := range stored {
		if err := t.conn.Hold(cluster); err != nil {
			return err
		}
	}
	return nil
}

// hold takes a cluster for this write alone.
func (w *writer) hold(cluster string) error {
	if !w.conn.Remote() {
		return nil
	}
	return w.conn.Hold(w.names.storedCluster(cluster))
}

func (w *writer) holds(cluster string) bool {
	return !w.conn.Remote() || w.conn.Holds(w.names.storedCluster(cluster))
}
