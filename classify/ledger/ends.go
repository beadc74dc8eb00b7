package ledger

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"coroner/rules"
)

// End is what is counted of a verdict: all but its text.
type End struct {
	Cluster, Pool, Node, Repository string
	Label                           rules.Label
	Alike                           int64     // the number of its kind, see package alike; 0 = not known
	Recorded, Died                  time.Time // Died is zero where that is not known
}

// Ends are the verdicts that fit, as Verdicts has them, but only what is counted: the text of
// a verdict is most of it, and is not read.
func (s Search) Ends(ctx context.Context, q Query, most int) (out []End, _ error) {
	where, args := q.whereClause(s.names)
	rows, err := s.pool.QueryContext(ctx, `SELECT cluster, pool, node, repository, label, alike, recorded, died
		FROM verdicts `+where+" ORDER BY recorded DESC, member LIMIT ?", append(args, most)...)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var e End
		var recorded, died int64
		err := r.Scan(&e.Cluster, &e.Pool, &e.Node, &e.Repository, &e.Label, &e.Alike, &recorded, &died)
		e.Cluster, e.Recorded = s.names.clusterFrom(e.Cluster), moment(recorded)
		if died != 0 {
			e.Died = moment(died)
		}
		out = append(out, e)
		return err
	})
	return out, err
}

// PoolCount is how many verdicts of a label and a kind a pool has.
type PoolCount struct {
	Cluster, Pool string
	Label         rules.Label
	Alike         int64 // as in End
	N             int
}

// CountsByPool counts the verdicts of some pools that were recorded from from on and before
// to.
func (s Search) CountsByPool(ctx context.Context, pools []string, from, to time.Time) (out []PoolCount, _ error) {
	if len(pools) == 0 {
		return nil, nil
	}
	args := []any{}
	for _, p := range pools {
		args = append(args, p)
	}
	places := "?" + strings.Repeat(", ?", len(pools)-1)
	rows, err := s.pool.QueryContext(ctx, `SELECT cluster, pool, label, alike, count(*)
		FROM verdicts INDEXED BY last_alike
		WHERE last = 1 AND pool IN (`+places+`) AND recorded >= ? AND recorded < ? GROUP BY pool, label, cluster, alike
		ORDER BY cluster, pool, label, alike`,
		append(args, unixNanos(from), unixNanos(to))...)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var c PoolCount
		err := r.Scan(&c.Cluster, &c.Pool, &c.Label, &c.Alike, &c.N)
		c.Cluster = s.names.clusterFrom(c.Cluster)
		out = append(out, c)
		return err
	})
	return out, err
}

// Oldest is when the first verdict that is kept was recorded; zero where there is none.
func (s Search) Oldest(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.pool.QueryRowContext(ctx, "SELECT min(recorded) FROM verdicts WHERE last = 1").Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, err
	}
	return moment(at.Int64), nil
}

// Arrived is when the last record came that was kept, from whomever; zero where none did.
func (s Search) Arrived(ctx context.Context) (time.Time, error) {
	var at sql.NullInt64
	err := s.pool.QueryRowContext(ctx, `SELECT max(t) FROM (SELECT max(received) AS t FROM evidence
		UNION ALL SELECT max(heard) FROM nodes UNION ALL SELECT max(received) FROM marks
		UNION ALL SELECT max(received) FROM tails) AS latest`).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, err
	}
	return moment(at.Int64), nil
}
