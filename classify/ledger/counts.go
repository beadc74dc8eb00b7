package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"coroner/rules"
)

// Count is how many verdicts there are of a label, in a span of time or on a
// node.
type Count struct {
	Label rules.Label
	From  time.Time // CountsOverTime: the start of the span
	Node  string    // CountsByNode
	N     int
}

// Spans are stretches of time of one width.
type Spans struct {
	From, To time.Time // From is not after what is asked for
	Width    time.Duration
}

// CountsOverTime counts the verdicts that fit by label and by the span of time
// that they were recorded in.
func (l *Ledger) CountsOverTime(ctx context.Context, q Query, s Spans) ([]Count, error) {
	if q.wide() {
		return l.countsWide(ctx, q, s)
	}
	where, args := q.where()
	rows, err := l.read.QueryContext(ctx, "SELECT label, (recorded - ?) / ?, '', count(*) FROM verdicts "+where+" GROUP BY 2, label ORDER BY 2, label",
		append([]any{nanos(s.From), int64(s.Width)}, args...)...)
	return counts(rows, err, s)
}

// countsWide asks the index of each label for each span: sorting a million rows
// into groups would take seconds.
func (l *Ledger) countsWide(ctx context.Context, q Query, s Spans) (out []Count, err error) {
	labels := q.Labels
	if len(labels) == 0 {
		labels = rules.Labels
	}
	for _, label := range labels {
		rows, err := l.read.QueryContext(ctx, `WITH RECURSIVE span(i, since) AS (SELECT 0, ?1 UNION ALL SELECT i + 1, since + ?2 FROM span WHERE since + ?2 < ?3)
			SELECT ?4, i, '', n FROM (SELECT i, (SELECT count(*) FROM verdicts INDEXED BY last_label
				WHERE last = 1 AND label = ?4 AND recorded >= max(since, ?5) AND recorded < min(since + ?2, ?3)) AS n FROM span) WHERE n > 0`,
			nanos(s.From), int64(s.Width), nanos(s.To), string(label), nanos(q.Since))
		some, err := counts(rows, err, s)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortStableFunc(out, func(a, b Count) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Label, b.Label)) })
	return out, nil
}

// short is how much of a time is cheaper to sort than to look for everywhere.
const short = 3 * 24 * time.Hour

// CountsByNode counts the verdicts that fit by node, and those of the nodes with
// the most, at most top, by label; the others have Label "".
func (l *Ledger) CountsByNode(ctx context.Context, q Query, to time.Time, top int) ([]Count, error) {
	where, args := q.where()
	index := ""
	if q.wide() {
		index = " INDEXED BY last_recorded "
		if to.Sub(q.Since) > short {
			index = " INDEXED BY last_node "
		}
	}
	rows, err := l.read.QueryContext(ctx, "SELECT '', 0, node, count(*) FROM verdicts"+index+" "+where+" GROUP BY node ORDER BY node = '', 4 DESC, node", args...)
	all, err := counts(rows, err, Spans{})
	var out []Count
	for i, c := range all {
		some := []Count{c}
		if i < top && err == nil {
			some, err = l.countsOn(ctx, q, c.Node)
		}
		out = append(out, some...)
	}
	return out, err
}

// countsOn counts one node's verdicts by label.
func (l *Ledger) countsOn(ctx context.Context, q Query, node string) ([]Count, error) {
	q.Node = ""
	where, args := q.where()
	rows, err := l.read.QueryContext(ctx, "SELECT label, 0, node, count(*) FROM verdicts "+where+" AND node = ? GROUP BY label ORDER BY label", append(args, node)...)
	return counts(rows, err, Spans{})
}

func counts(rows *sql.Rows, err error, s Spans) (out []Count, _ error) {
	return out, each(rows, err, func(r *sql.Rows) error {
		var c Count
		var i int64
		err := r.Scan(&c.Label, &i, &c.Node, &c.N)
		if s.Width > 0 {
			c.From = s.From.Add(time.Duration(i) * s.Width)
		}
		out = append(out, c)
		return err
	})
}
