package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger/database"
	"coroner/rules"
)

// Worklist is what the program asks about the cases and nodes that it has to see to.
// What is due is asked of the connection that the judging has for itself.
type Worklist struct {
	readConn *database.Conn
	pool     *database.Pool
	names    *naming
}

// Cases returns the cases in a state, the earliest due first. limit 0 is all.
func (w Worklist) Cases(ctx context.Context, state State, limit int) ([]Case, error) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	const of = "SELECT " + caseColumns + " FROM cases WHERE state = ? AND runner ORDER BY due, opened, id LIMIT ?"
	rows, err := w.pool.GetRows(ctx, of, state, limit)
	return w.names.readCases(rows, err)
}

// Pending returns the runners whose judgement is due: those whose time is up,
// and those that end whose evidence is complete: their node and the log of every
// controller of their cluster were read a little past the end. Where no agent follows a
// node, or it is silent, only the time decides.
func (w Worklist) Pending(ctx context.Context, now time.Time, settle time.Duration) (out []Case, err error) {
	const pending = "SELECT " + caseColumns + ` FROM cases WHERE runner AND state = 'open' AND due > 0 AND due <= ?1
		UNION ALL SELECT ` + caseColumns + ` FROM cases c WHERE runner AND state = 'ending' AND (due <= ?1 OR
			died + ?2 <= (SELECT reached FROM nodes n
				WHERE n.cluster = c.cluster AND n.node = c.node AND NOT n.silent) AND
			died + ?2 <= coalesce((SELECT min(reached) FROM nodes n
				WHERE n.cluster = c.cluster AND controller AND NOT silent), died + ?2))
		ORDER BY due, opened, id LIMIT 10000`
	err = w.readConn.UseAlone(ctx, func() error {
		rows, err := w.readConn.QueryRows(pending, unixNanos(now), int64(settle))
		out, err = w.names.readCases(rows, err)
		return err
	})
	return out, err
}

// Standing returns the pools, and what else is no runner, whose judgement is due.
func (w Worklist) Standing(ctx context.Context, now time.Time) (out []Case, err error) {
	const due = "SELECT " + caseColumns + ` FROM cases WHERE kind <> '' AND due > 0 AND due <= ?
		ORDER BY due, id LIMIT 10000`
	err = w.readConn.UseAlone(ctx, func() error {
		rows, err := w.readConn.QueryRows(due, unixNanos(now))
		out, err = w.names.readCases(rows, err)
		return err
	})
	return out, err
}

// ClaimFor is how long a server has for a case, or for a verdict that it sends, before
// another one takes it.
const ClaimFor = 20 * time.Second

// maxClaimed is how many cases a server claims at one time.
const maxClaimed = 64

// TakePending is Pending for who goes on to judge. Of cases that several servers could
// judge each gets some, for ClaimFor, and more says that there can be others.
func (w Worklist) TakePending(ctx context.Context, now time.Time, settle time.Duration) (
	out []Case, more bool, err error,
) {
	if !w.pool.Remote() {
		out, err = w.Pending(ctx, now, settle)
		return out, false, err
	}
	return w.claim(ctx, now, `runner AND (state = 'open' AND due > 0 AND due <= ?1 OR state = 'ending' AND (due <= ?1 OR
		died + ?4 <= (SELECT reached FROM nodes n
			WHERE n.cluster = c.cluster AND n.node = c.node AND NOT n.silent) AND
		died + ?4 <= coalesce((SELECT min(reached) FROM nodes n
			WHERE n.cluster = c.cluster AND controller AND NOT silent), died + ?4)))`, int64(settle))
}

// TakeStanding is Standing for who goes on to judge, as TakePending is.
func (w Worklist) TakeStanding(ctx context.Context, now time.Time) (out []Case, more bool, err error) {
	if !w.pool.Remote() {
		out, err = w.Standing(ctx, now)
		return out, false, err
	}
	return w.claim(ctx, now, "kind <> '' AND due > 0 AND due <= ?1")
}

// claim takes the most urgent of the cases that are due and that no server has.
func (w Worklist) claim(
	ctx context.Context,
	now time.Time,
	due string,
	args ...any,
) (out []Case, more bool, err error) {
	query := `WITH chosen AS (SELECT c.pod FROM cases c WHERE claimed <= ?1 AND ` + due + `
			ORDER BY due, opened, id LIMIT ?3 FOR UPDATE SKIP LOCKED)
		UPDATE cases SET claimed = ?2 FROM chosen WHERE cases.pod = chosen.pod RETURNING ` + caseColumns
	args = append([]any{unixNanos(now), unixNanos(now.Add(ClaimFor)), maxClaimed}, args...)
	rows, err := w.pool.GetRows(ctx, query, args...)
	out, err = w.names.readCases(rows, err)
	slices.SortFunc(out, func(a, b Case) int {
		return cmp.Or(a.Due.Compare(b.Due), a.Opened.Compare(b.Opened), strings.Compare(a.ID, b.ID))
	})
	return out, len(out) == maxClaimed, err
}

// CountCases says how many runners are in each state.
func (w Worklist) CountCases(ctx context.Context) (map[State]int, error) {
	out := map[State]int{}
	rows, err := w.pool.GetRows(ctx, "SELECT state, count(*) FROM cases WHERE runner GROUP BY state")
	return out, eachRow(rows, err, func(r *sql.Rows) error {
		var s State
		var n int
		err := r.Scan(&s, &n)
		out[s] = n
		return err
	})
}

// OpenCount is how many verdicts of a label are open in a pool.
type OpenCount struct {
	Label         rules.Label
	Cluster, Pool string
	N             int
}

// CountOpen counts the verdicts that are open now, by label and pool; of very many the
// largest counts.
func (w Worklist) CountOpen(ctx context.Context, most int) (out []OpenCount, err error) {
	rows, err := w.pool.GetRows(ctx, `SELECT label, cluster, pool, count(*) FROM verdicts
		WHERE last = 1 AND state = 'open' GROUP BY label, cluster, pool
		ORDER BY 4 DESC, label, cluster, pool LIMIT ?`, most)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var c OpenCount
		err := r.Scan(&c.Label, &c.Cluster, &c.Pool, &c.N)
		c.Cluster = w.names.clusterFrom(c.Cluster)
		out = append(out, c)
		return err
	})
	return out, err
}

// Quiet returns the nodes whose agents were not heard of since a time and that
// nobody knows of yet.
func (w Worklist) Quiet(ctx context.Context, since time.Time) (out []Node, err error) {
	const quiet = "SELECT " + nodeColumns + " FROM nodes WHERE NOT silent AND heard <= ? ORDER BY cluster, node"
	err = w.readConn.UseAlone(ctx, func() error {
		rows, err := w.readConn.QueryRows(quiet, unixNanos(since))
		out, err = w.names.readNodes(rows, err)
		return err
	})
	return out, err
}

// Nodes returns every node whose agent was heard of.
func (w Worklist) Nodes(ctx context.Context) ([]Node, error) {
	return w.names.readNodes(w.pool.GetRows(ctx, "SELECT "+nodeColumns+" FROM nodes ORDER BY cluster, node"))
}
