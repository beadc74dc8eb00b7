package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"coroner/ingest"
)

// Gathered is everything that the ledger holds about one name.
type Gathered struct {
	ID    int64
	Entry ingest.Entry
	Names []string
}

// Named returns the evidence that is filed under a name, in time order.
func (l *Ledger) Named(ctx context.Context, name string) (out []Gathered, _ error) {
	rows, err := l.read.QueryContext(ctx, `SELECT e.id, e.entry FROM names n JOIN evidence e ON e.id = n.evidence WHERE n.name = ? ORDER BY e.at, e.id`, name)
	err = each(rows, err, func(r *sql.Rows) error {
		var g Gathered
		var data []byte
		if err := r.Scan(&g.ID, &data); err != nil {
			return err
		}
		out = append(out, g)
		return json.Unmarshal(data, &out[len(out)-1].Entry)
	})
	return out, err
}

// maxWide bounds how many records about a node one case looks at.
const maxWide = 512

// Wide returns the evidence about the whole of a node between two times, and
// what has no time; the nearest to the end where there is very much.
func (l *Ledger) Wide(ctx context.Context, node string, from, to time.Time) ([]ingest.Entry, error) {
	return l.entries(ctx, `SELECT entry FROM evidence WHERE wide AND node = ? AND (at = 0 OR at BETWEEN ? AND ?) ORDER BY at DESC, id DESC LIMIT ?`,
		node, nanos(from), nanos(to), maxWide)
}

// Marks returns the coverage marks of an owner that end after from.
func (l *Ledger) Marks(ctx context.Context, owner string, from time.Time) ([]ingest.Entry, error) {
	return l.entries(ctx, "SELECT entry FROM marks WHERE owner = ? AND (reached >= ? OR reached = 0) ORDER BY reached, hash", owner, nanos(from))
}

// Tail returns the last lines of every stream of a pod.
func (l *Ledger) Tail(ctx context.Context, owner string) (out []ingest.Entry, _ error) {
	rows, err := l.read.QueryContext(ctx, "SELECT entries FROM tails WHERE owner = ? ORDER BY stream", owner)
	err = each(rows, err, func(r *sql.Rows) error {
		var data []byte
		var some []ingest.Entry
		if err := r.Scan(&data); err != nil {
			return err
		}
		err := json.Unmarshal(data, &some)
		out = append(out, some...)
		return err
	})
	return out, err
}

func (l *Ledger) entries(ctx context.Context, query string, args ...any) (out []ingest.Entry, _ error) {
	rows, err := l.read.QueryContext(ctx, query, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var data []byte
		if err := r.Scan(&data); err != nil {
			return err
		}
		var e ingest.Entry
		err := json.Unmarshal(data, &e)
		out = append(out, e)
		return err
	})
	return out, err
}
