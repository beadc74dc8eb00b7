package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"coroner/rules"
)

// Query says which verdicts are asked for. Empty parts are all.
type Query struct {
	Runner     string // the start of a runner's name, [namespace/]name, or of a pod UID
	Node       string
	Labels     []rules.Label
	Pool       string
	Repository string
	Job        string    // id of a job
	Run        string    // id of a workflow run, or a pipeline
	Since      time.Time // recorded at or after
	Until      time.Time // recorded before
	DiedFrom   time.Time // died at or after
	DiedTo     time.Time // died at or before
	Limit      int       // 0 = all
}

// Verdicts returns the latest revision of each case that fits, the latest
// recorded first.
func (l *Ledger) Verdicts(ctx context.Context, q Query) ([]Record, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	where, args := q.where()
	return records(ctx, l.ask.QueryContext, where+" ORDER BY recorded DESC, member LIMIT ?", append(args, limit)...)
}

// where is the query as SQL: the latest revisions that fit. A name is looked up
// in both of its columns first, for no index finds one or the other.
func (q *Query) where() (string, []any) {
	where, args := []string{"last = 1"}, []any{}
	if q.Runner != "" || q.Job != "" || q.Run != "" {
		where[0] = "+last = 1" // no index but the name's: an index of the latest would be read from its end until something fits
	}
	add := func(is bool, clause string, values ...any) {
		if is {
			where, args = append(where, clause), append(args, values...)
		}
	}
	ns, name := splitName(q.Runner)
	from, to := prefix(name)
	add(name != "", `pod IN (SELECT pod FROM cases WHERE name >= ? AND name < ? UNION ALL SELECT pod FROM cases WHERE uid >= ? AND uid < ?
		UNION ALL SELECT pod FROM verdicts WHERE runner <> '' AND runner >= ? AND runner < ? UNION ALL SELECT pod FROM verdicts WHERE uid <> '' AND uid >= ? AND uid < ?)`,
		from, to, from, to, from, to, from, to)
	add(ns != "", "namespace = ?", ns)
	add(q.Node != "", "node = ?", q.Node)
	clause, labels := q.labels()
	add(len(labels) > 0, clause, labels...)
	add(q.Pool != "", "pool = ?", q.Pool)
	add(q.Repository != "", "repository = ?", q.Repository)
	add(q.Job != "", "job = ?", q.Job)
	add(q.Run != "", "run = ?", q.Run)
	add(!q.Since.IsZero(), "recorded >= ?", nanos(q.Since))
	add(!q.Until.IsZero(), "recorded < ?", nanos(q.Until))
	add(!q.DiedFrom.IsZero(), "died >= ?", nanos(q.DiedFrom))
	add(!q.DiedTo.IsZero(), "died <= ?", nanos(q.DiedTo))
	return "WHERE " + strings.Join(where, " AND "), args
}

// labels is the clause for the labels. Where most are asked for, the few others
// are quicker to leave out, and no index of one label helps.
func (q *Query) labels() (clause string, args []any) {
	in, of := "IN", q.Labels
	if len(of) > len(rules.Labels)/2 {
		in, of = "NOT IN", slices.DeleteFunc(slices.Clone(rules.Labels), func(l rules.Label) bool { return slices.Contains(q.Labels, l) })
	}
	for _, l := range of {
		args = append(args, l)
	}
	if len(of) == 1 && in == "IN" {
		return "label = ?", args
	}
	return "+label " + in + " (?" + strings.Repeat(", ?", max(0, len(of)-1)) + ")", args
}

// wide says whether the query asks for everything of a time, so that there may
// be very much of it.
func (q *Query) wide() bool {
	return q.Runner == "" && q.Node == "" && q.Pool == "" && q.Repository == "" && q.Job == "" && q.Run == "" && q.DiedFrom.IsZero() && q.DiedTo.IsZero()
}

// RunnersOn counts the runners that were on a node at some time between from
// and to, as far as is known.
func (l *Ledger) RunnersOn(ctx context.Context, node string, from, to time.Time) (n int, err error) {
	err = l.ask.QueryRowContext(ctx, "SELECT count(*) FROM cases WHERE node = ? AND runner AND opened <= ? AND (heard >= ? OR state = 'open')",
		node, nanos(to), nanos(from)).Scan(&n)
	return n, err
}

// splitName splits [namespace/]name.
func splitName(s string) (namespace, name string) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return "", s
	}
	return namespace, name
}

// prefix is the range of the texts that begin with s, which an index can find.
func prefix(s string) (from, to string) { return s, s + "\U0010FFFF" }
