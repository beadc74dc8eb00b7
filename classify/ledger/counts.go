package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"coroner/rules"
)

// Count is how many verdicts there are of a label, in a span of time or on a
// node.
type Count struct {
	Label   rules.Label
	From    time.Time // CountsOverTime: the start of the span
	Node    string    // CountsByNode
	Cluster string    // CountsByNode: that of the node, where it counts by label
	N       int
}

// Spans are stretches of time of one width.
type Spans struct {
	From, To time.Time // From is not after what is asked for
	Width    time.Duration
}

// CountsOverTime counts the verdicts that fit by label and by the span of time
// that they were recorded in.
func (s Search) CountsOverTime(ctx context.Context, q Query, in Spans) ([]Count, error) {
	if q.isWide() {
		return s.countsWide(ctx, q, in)
	}
	where, args := q.whereClause(s.names)
	const by = " GROUP BY 2, label ORDER BY 2, label"
	rows, err := s.pool.QueryContext(ctx, "SELECT label, (recorded - ?) / ?, '', '', count(*) FROM verdicts "+where+by,
		append([]any{unixNanos(in.From), int64(in.Width)}, args...)...)
	return s.readCounts(rows, err, in)
}

// countsWide asks the index of each label for each span: sorting a million rows
// into groups would take seconds.
func (s Search) countsWide(ctx context.Context, q Query, in Spans) (out []Count, err error) {
	labels := q.Labels
	if len(labels) == 0 {
		if labels, err = s.Labels(ctx); err != nil {
			return nil, err
		}
	}
	for _, label := range labels {
		if slices.Contains(q.Except, label) {
			continue
		}
		rows, err := s.pool.QueryContext(ctx, `WITH RECURSIVE span(i, since) AS
				(SELECT 0, CAST(?1 AS BIGINT) UNION ALL SELECT i + 1, since + ?2 FROM span WHERE since + ?2 < ?3)
			SELECT CAST(?4 AS TEXT), i, '', '', n FROM (SELECT i, (SELECT count(*) FROM verdicts INDEXED BY last_label
				WHERE last = 1 AND label = ?4 AND recorded >= CASE WHEN since > ?5 THEN since ELSE ?5 END
				AND recorded < CASE WHEN since + ?2 < ?3 THEN since + ?2 ELSE ?3 END) AS n
				FROM span) AS counted WHERE n > 0`,
			unixNanos(in.From), int64(in.Width), unixNanos(in.To), string(label), unixNanos(q.Since))
		some, err := s.readCounts(rows, err, in)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortStableFunc(out, func(a, b Count) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Label, b.Label))
	})
	return out, nil
}

// short is how much of a time is cheaper to sort than to look for everywhere.
const short = 3 * 24 * time.Hour

// CountsByNode counts the verdicts that fit by node, those of no known node
// first, then the nodes with the most. Of at most top of them it counts by
// label and, where several clusters have one of that name, by cluster; the others
// have Label "" and no cluster.
func (s Search) CountsByNode(ctx context.Context, q Query, to time.Time, top int) ([]Count, error) {
	where, args := q.whereClause(s.names)
	index := ""
	if q.isWide() {
		index = " INDEXED BY last_recorded "
		if to.Sub(q.Since) > short {
			index = " INDEXED BY last_node "
		}
	}
	const by = " GROUP BY node ORDER BY node = '' DESC, 5 DESC, node"
	rows, err := s.pool.QueryContext(ctx, "SELECT '', 0, node, '', count(*) FROM verdicts"+index+" "+where+by, args...)
	all, err := s.readCounts(rows, err, Spans{})
	if err != nil {
		return nil, err
	}
	some, err := s.countsOn(ctx, q, all[:min(top, len(all))])
	return append(some, all[min(top, len(all)):]...), err
}

// countsOn counts the verdicts of some nodes by label, the nodes in their order.
func (s Search) countsOn(ctx context.Context, q Query, nodes []Count) ([]Count, error) {
	where, args := q.whereClause(s.names)
	rank := map[string]int{}
	for i, c := range nodes {
		rank[c.Node] = i
		args = append(args, c.Node)
	}
	in := " AND node IN (''" + strings.Repeat(", ?", len(nodes)) + ")"
	const by = " GROUP BY node, cluster, label"
	const what = "SELECT label, 0, node, cluster, count(*) FROM verdicts "
	rows, err := s.pool.QueryContext(ctx, what+where+in+by, args...)
	out, err := s.readCounts(rows, err, Spans{})
	out = slices.DeleteFunc(out, func(c Count) bool { _, ok := rank[c.Node]; return !ok })
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(rank[a.Node]-rank[b.Node], cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Label, b.Label))
	})
	return out, err
}

func (s Search) readCounts(rows *sql.Rows, err error, in Spans) (out []Count, _ error) {
	return out, eachRow(rows, err, func(r *sql.Rows) error {
		var c Count
		var i int64
		err := r.Scan(&c.Label, &i, &c.Node, &c.Cluster, &c.N)
		c.Cluster = s.names.clusterFrom(c.Cluster)
		if in.Width > 0 {
			c.From = in.From.Add(time.Duration(i) * in.Width)
		}
		out = append(out, c)
		return err
	})
}
