package ledger

import (
	"context"
	"database/sql"
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
	Job        string    // id of a job or of a workflow run
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
	return l.records(ctx, where+" ORDER BY recorded DESC, member LIMIT ?", append(args, limit)...)
}

// where is the query as SQL: the latest revisions that fit.
func (q *Query) where() (string, []any) {
	where, args := []string{"last = 1"}, []any{}
	add := func(is bool, clause string, values ...any) {
		if is {
			where, args = append(where, clause), append(args, values...)
		}
	}
	ns, name := splitName(q.Runner)
	from, to := prefix(name)
	add(q.Runner != "", "(runner >= ? AND runner < ? OR uid >= ? AND uid < ?) AND (? = '' OR namespace = ?)", from, to, from, to, ns, ns)
	add(q.Node != "", "node = ?", q.Node)
	labels := []any{}
	for _, x := range q.Labels {
		labels = append(labels, x)
	}
	add(len(labels) > 0, "label IN (?"+strings.Repeat(", ?", max(0, len(labels)-1))+")", labels...)
	add(q.Pool != "", "pool = ?", q.Pool)
	add(q.Repository != "", "repository = ?", q.Repository)
	add(q.Job != "", "(job = ? OR run = ?)", q.Job, q.Job)
	add(!q.Since.IsZero(), "recorded >= ?", nanos(q.Since))
	add(!q.Until.IsZero(), "recorded < ?", nanos(q.Until))
	add(!q.DiedFrom.IsZero(), "died >= ?", nanos(q.DiedFrom))
	add(!q.DiedTo.IsZero(), "died <= ?", nanos(q.DiedTo))
	return "WHERE " + strings.Join(where, " AND "), args
}

// Count is how many verdicts there are of a label, in a span of time or on a
// node.
type Count struct {
	Label rules.Label
	From  time.Time // CountsOverTime: the start of the span
	Node  string    // CountsByNode
	N     int
}

// CountsOverTime counts the verdicts that fit by label and by the span of time
// that they died in. One whose death has no known time, or was long over when it
// was judged, counts when it was recorded, as it does in Loki.
func (l *Ledger) CountsOverTime(ctx context.Context, q Query, span time.Duration) ([]Count, error) {
	const when = "CASE WHEN died = 0 OR recorded - died > 3600000000000 THEN recorded ELSE died END"
	where, args := q.where()
	rows, err := l.read.QueryContext(ctx, "SELECT label, "+when+" / ? AS span, '', count(*) FROM verdicts "+where+" GROUP BY span, label ORDER BY span, label",
		append([]any{int64(span)}, args...)...)
	return counts(rows, err, int64(span))
}

// CountsByNode counts the verdicts that fit by label and node.
func (l *Ledger) CountsByNode(ctx context.Context, q Query) ([]Count, error) {
	where, args := q.where()
	rows, err := l.read.QueryContext(ctx, "SELECT label, 0, node, count(*) FROM verdicts "+where+" GROUP BY node, label ORDER BY node, label", args...)
	return counts(rows, err, 0)
}

func counts(rows *sql.Rows, err error, span int64) (out []Count, _ error) {
	return out, each(rows, err, func(r *sql.Rows) error {
		var c Count
		var from int64
		err := r.Scan(&c.Label, &from, &c.Node, &c.N)
		c.From = moment(from * span)
		out = append(out, c)
		return err
	})
}

// RunnersOn counts the runners that were on a node at some time between from
// and to, as far as is known.
func (l *Ledger) RunnersOn(ctx context.Context, node string, from, to time.Time) (n int, err error) {
	err = l.read.QueryRowContext(ctx, "SELECT count(*) FROM cases WHERE node = ? AND runner AND opened <= ? AND (heard >= ? OR state = 'open')",
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
