package ledger

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"

	"coroner/classify/ledger/database"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Query says which verdicts are asked for. Empty parts are all.
type Query struct {
	Cluster    *string // nil = all; "" is the one without a name
	Runner     string  // the start of a runner's name, [namespace/]name, or of a pod UID
	Node       string
	Labels     []rules.Label
	Except     []rules.Label // with none of these labels
	Pool       string
	Repository string
	Job        string    // id of a job
	Run        string    // id of a workflow run, or a pipeline
	Since      time.Time // recorded at or after
	Until      time.Time // recorded before
	Died       Between
	Limit      int  // 0 = all
	Brief      bool // without the evidence and what follows it, most of a verdict's size
	Standing
}

// Between is a stretch of time with both its ends; a zero one is open.
type Between struct{ From, To time.Time }

// Standing says what verdicts are asked for by what they are about and share.
type Standing struct {
	Kind  *casefile.Kind // nil = all
	State rules.State    // of what lasts; "" = all
	Alike int64          // the number of what they share, see package alike; 0 = all
}

// Search is what people ask: their questions can take long, and have connections that
// neither the judging nor the filing waits for.
type Search struct {
	pool  *database.Pool
	names *naming
}

// Verdicts returns the latest revision of each case that fits, the latest
// recorded first.
func (s Search) Verdicts(ctx context.Context, q Query) (out []Record, _ error) {
	for c := NewCursor(q); ; {
		some, err := s.Next(ctx, c)
		if err != nil || len(some) == 0 {
			return out, err
		}
		out = append(out, some...)
	}
}

// Cursor is a place in what Verdicts returns. It holds nothing of the file: who
// goes on from it may be slow.
type Cursor struct {
	q    Query
	left int
	last *Record // that was given; nil: none was
}

// NewCursor returns the begin of what a query gives.
func NewCursor(q Query) *Cursor {
	c := &Cursor{q: q, left: q.Limit}
	if c.left <= 0 {
		c.left = math.MaxInt
	}
	return c
}

// Query is what was asked for.
func (c *Cursor) Query() Query { return c.q }

// How many verdicts are read at one time: those of a page are a megabyte at most.
const (
	perPage      = 8
	perBriefPage = 256
)

// Next gives the next verdicts, none at the end. Between two calls more may be
// recorded: it is not given, but one that is revised can be given again.
func (s Search) Next(ctx context.Context, c *Cursor) (some []Record, err error) {
	part, n := whole, min(c.left, perPage)
	if c.q.Brief {
		part, n = head, min(c.left, perBriefPage)
	}
	if n == 0 {
		return nil, nil
	}
	where, args := c.q.whereClause(s.names)
	if c.last != nil {
		at := unixNanos(c.last.Recorded)
		where, args = where+" AND recorded <= ? AND (recorded < ? OR member > ?)", append(args, at, at, c.last.Case)
	}
	where += " ORDER BY recorded DESC, member LIMIT ?"
	some, err = s.names.readRecords(ctx, s.pool.QueryContext, part, where, append(args, n)...)
	c.left -= n
	if len(some) < n {
		c.left = 0
	}
	if len(some) > 0 {
		c.last = &some[len(some)-1]
	}
	return some, err
}

// whereClause is the query as SQL: the latest revisions that fit. A name is looked up
// in both of its columns first, for no index finds one or the other.
func (q *Query) whereClause(names *naming) (string, []any) {
	where, args := []string{"last = 1"}, []any{}
	if q.Runner != "" || q.Job != "" || q.Run != "" {
		// No index but the name's: an index of the latest would be read from its end
		// until something fits.
		where[0] = "+last = 1"
	}
	add := func(is bool, clause string, values ...any) {
		if is {
			where, args = append(where, clause), append(args, values...)
		}
	}
	ns, name := splitName(q.Runner)
	from, to := prefixRange(name)
	add(name != "", `pod IN (SELECT pod FROM cases WHERE name >= ? AND name < ?
		UNION ALL SELECT pod FROM cases WHERE uid >= ? AND uid < ?
		UNION ALL SELECT pod FROM verdicts WHERE runner <> '' AND runner >= ? AND runner < ?
		UNION ALL SELECT pod FROM verdicts WHERE uid <> '' AND uid >= ? AND uid < ?)`,
		from, to, from, to, from, to, from, to)
	add(q.Cluster != nil, "cluster = ?", names.wantedCluster(q.Cluster))
	add(ns != "", "namespace = ?", ns)
	add(q.Node != "", "node = ?", q.Node)
	q.labelClauses(add)
	add(q.Pool != "", "pool = ?", q.Pool)
	if q.Kind != nil {
		add(true, "kind = ?", string(*q.Kind))
	}
	add(q.State == rules.Open, "state = 'open'") // as its index has it
	add(q.State != "" && q.State != rules.Open, "state = ?", string(q.State))
	add(q.Repository != "", "repository = ?", q.Repository)
	add(q.Job != "", "job = ?", q.Job)
	add(q.Run != "", "run = ?", q.Run)
	add(q.Alike != 0, "alike = ?", q.Alike)
	add(!q.Since.IsZero(), "recorded >= ?", unixNanos(q.Since))
	add(!q.Until.IsZero(), "recorded < ?", unixNanos(q.Until))
	add(!q.Died.From.IsZero(), "died >= ?", unixNanos(q.Died.From))
	add(!q.Died.To.IsZero(), "died <= ?", unixNanos(q.Died.To))
	return "WHERE " + strings.Join(where, " AND "), args
}

// labelClauses add the labels that are asked for and those that are not. Where all but
// a few are, no index of one label helps.
func (q *Query) labelClauses(add func(is bool, clause string, values ...any)) {
	list := func(of []rules.Label) (marks string, values []any) {
		for _, l := range of {
			values = append(values, l)
		}
		return " (?" + strings.Repeat(", ?", max(0, len(of)-1)) + ")", values
	}
	marks, values := list(q.Labels)
	add(len(q.Labels) == 1, "label = ?", values...)
	add(len(q.Labels) > 1, "+label IN"+marks, values...)
	marks, values = list(q.Except)
	add(len(q.Except) > 0, "+label NOT IN"+marks, values...)
}

// isWide says whether the query asks for everything of a time, so that there may
// be very much of it.
func (q *Query) isWide() bool {
	return q.Cluster == nil && q.Runner == "" && q.Node == "" && q.Pool == "" && q.Repository == "" &&
		q.Kind == nil && q.State == "" && q.Job == "" && q.Run == "" && q.Alike == 0 && q.Died == Between{}
}

// RunnersOn counts the runners that were on a node of a cluster at some time
// between from and to, as far as is known.
func (s Search) RunnersOn(ctx context.Context, cluster, node string, from, to time.Time) (n int, err error) {
	err = s.pool.QueryRowContext(ctx, `SELECT count(*) FROM cases
		WHERE node = ? AND cluster = ? AND runner AND opened <= ? AND (heard >= ? OR state = 'open')`,
		node, s.names.storedCluster(cluster), unixNanos(to), unixNanos(from)).Scan(&n)
	return n, err
}

// splitName splits [namespace/]name.
func splitName(s string) (namespace, name string) {
	name = s[strings.IndexByte(s, '/')+1:]
	return strings.TrimSuffix(strings.TrimSuffix(s, name), "/"), name
}

// prefixRange is the range of the texts that begin with s, which an index can find.
func prefixRange(s string) (from, to string) { return s, s + "\U0010FFFF" }

// Labels are those that there are verdicts of, the rulebook in force may not know them.
func (s Search) Labels(ctx context.Context) (out []rules.Label, _ error) {
	rows, err := s.pool.QueryContext(ctx, `WITH RECURSIVE
		judged(l) AS (SELECT min(label) FROM verdicts WHERE last = 1
			UNION ALL SELECT (SELECT min(label) FROM verdicts WHERE last = 1 AND label > l)
			FROM judged WHERE l IS NOT NULL)
		SELECT l FROM judged WHERE l IS NOT NULL`)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var l rules.Label
		err := r.Scan(&l)
		out = append(out, l)
		return err
	})
	return out, err
}

// Clusters are those that there are verdicts or nodes of, "" among them where
// some are of none.
func (s Search) Clusters(ctx context.Context) (out []string, _ error) {
	rows, err := s.pool.QueryContext(ctx, `WITH RECURSIVE
		judged(c) AS (SELECT min(cluster) FROM verdicts WHERE last = 1
			UNION ALL SELECT (SELECT min(cluster) FROM verdicts WHERE last = 1 AND cluster > c)
			FROM judged WHERE c IS NOT NULL),
		followed(c) AS (SELECT min(cluster) FROM nodes
			UNION ALL SELECT (SELECT min(cluster) FROM nodes WHERE cluster > c) FROM followed WHERE c IS NOT NULL)
		SELECT c FROM judged WHERE c IS NOT NULL UNION SELECT c FROM followed WHERE c IS NOT NULL ORDER BY 1`)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var stored string
		err := r.Scan(&stored)
		out = append(out, s.names.clusterFrom(stored))
		return err
	})
	return out, err
}
