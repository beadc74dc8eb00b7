package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// State is where a case stands.
type State string

// The states of a case.
const (
	StateOpen   State = "open"   // the pod lives, as far as is known
	StateEnding State = "ending" // something ended; it waits for the rest of the evidence
	StateJudged State = "judged" // it has a verdict
)

// Case is the docket's note of one pod.
type Case struct {
	ID                         string // verdict id: the hash of the first names that it was known by
	Cluster                    string // that its names are of
	Namespace, Name, UID, Node string
	Runner                     bool // it is a runner; others are kept a while, for they may turn out to be
	Opened, Heard              time.Time
	State                      State
	Died                       time.Time // ending: the latest moment that something of it ended
	Due                        time.Time // ending: when it is judged whatever is missing
	Revision                   int
}

// NewCaseID is the id of a case that is opened for a pod. It is what a verdict
// keeps, whatever is learned of the pod later.
func NewCaseID(cluster, namespace, name, uid string) string {
	key := uid
	if key == "" {
		key = namespace + "/" + name
	}
	if cluster != "" {
		key = cluster + within + key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// LifeID is the id under which a pod's verdict of one life of its container is kept:
// the first has the pod's own, a container that was started again has more.
func LifeID(pod string, attempt int) string {
	if attempt <= 1 {
		return pod
	}
	return pod + "." + strconv.Itoa(attempt)
}

// PodOf is the id of the pod's case that a life's id belongs to.
func PodOf(id string) string {
	pod, _, _ := strings.Cut(id, ".")
	return pod
}

// Lives returns the cases of a pod's further lives, the latest first. They have no
// names: what is said of the pod is said of the pod's own case.
func (l *Ledger) Lives(ctx context.Context, pod string) ([]Case, error) {
	rows, err := l.ask.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases WHERE id > ?1 || '.' AND id < ?1 || '/'
		ORDER BY length(id) DESC, id DESC LIMIT 20`, pod)
	return l.names.cases(rows, err)
}

// caseColumns are firstColumns, and what later versions added.
const (
	firstColumns = "id, namespace, name, uid, node, runner, opened, heard, state, died, due, revision"
	caseColumns  = "cluster, " + firstColumns
)

func (n *naming) scanCase(row interface{ Scan(...any) error }) (c Case, err error) {
	var opened, heard, died, due int64
	err = row.Scan(&c.Cluster, &c.ID, &c.Namespace, &c.Name, &c.UID, &c.Node, &c.Runner, &opened, &heard,
		&c.State, &died, &due, &c.Revision)
	c.Cluster = n.read(c.Cluster)
	c.Opened, c.Heard, c.Died, c.Due = moment(opened), moment(heard), moment(died), moment(due)
	return c, err
}

// FindCase finds the case of a pod of a cluster by its UID, else by a container's
// id, else by its name: the latest of that name whose namespace can be the same.
func (t *Tx) FindCase(cluster, namespace, name, uid string, ids []string) (Case, bool, error) {
	id, err := t.FindID(cluster, namespace, name, uid, ids)
	if err != nil || id == "" {
		return Case{}, false, err
	}
	return t.FindByID(id)
}

// FindID is FindCase for who has the cases at hand; "" is none.
func (t *Tx) FindID(cluster, namespace, name, uid string, ids []string) (string, error) {
	at := t.names.stored(cluster)
	if uid != "" {
		if id, _, err := t.oneID("SELECT id, uid FROM cases WHERE uid = ? AND cluster = ?", uid, at); id != "" || err != nil {
			return id, err
		}
	}
	for _, id := range ids {
		const tied = "SELECT id, uid FROM cases WHERE pod = (SELECT pod FROM ties WHERE id = ?)"
		id, other, err := t.oneID(tied, t.names.key(cluster, id))
		if err != nil || id != "" && (uid == "" || other == "") {
			return id, err
		}
	}
	if name == "" {
		return "", nil
	}
	id, other, err := t.oneID(`SELECT id, uid FROM cases WHERE name = ? AND cluster = ?
		AND (namespace = ? OR namespace = '' OR ? = '') ORDER BY opened DESC, id DESC LIMIT 1`,
		name, at, namespace, namespace)
	if uid != "" && other != "" {
		return "", err // another pod of that name
	}
	return id, err
}

func (t *Tx) oneID(query string, args ...any) (id, uid string, err error) {
	if err = t.pen.row(query, args...).Scan(&id, &uid); err == sql.ErrNoRows {
		err = nil
	}
	return id, uid, err
}

func (t *Tx) one(query string, args ...any) (Case, bool, error) {
	c, err := t.names.scanCase(t.pen.row(query, args...))
	if err == sql.ErrNoRows {
		return c, false, nil
	}
	return c, err == nil, err
}

// PutCase writes a case. It stays in its cluster.
func (t *Tx) PutCase(c Case) error {
	_, err := t.pen.exec("INSERT INTO cases ("+caseColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, name = excluded.name, uid = excluded.uid, node = excluded.node, runner = excluded.runner,
		opened = excluded.opened, heard = excluded.heard, state = excluded.state, died = excluded.died, due = excluded.due, revision = excluded.revision`,
		t.names.stored(c.Cluster), c.ID, c.Namespace, c.Name, c.UID, c.Node, c.Runner, nanos(c.Opened), nanos(c.Heard),
		string(c.State), nanos(c.Died), nanos(c.Due), c.Revision)
	return err
}

// MoveCase writes what changes in the life of a case that is there: all but its
// names and when it was opened. That spares the indexes of those: the database
// writes those of every column that is named here, changed or not.
func (t *Tx) MoveCase(c Case) error {
	_, err := t.pen.exec("UPDATE cases SET node = ?, runner = ?, heard = ?, state = ?, died = ?, due = ?, revision = ? WHERE id = ?",
		c.Node, c.Runner, nanos(c.Heard), string(c.State), nanos(c.Died), nanos(c.Due), c.Revision, c.ID)
	return err
}

// HearCase is MoveCase where only Heard changed: that spares the other indexes.
func (t *Tx) HearCase(id string, heard time.Time) error {
	_, err := t.pen.exec("UPDATE cases SET heard = ? WHERE id = ?", nanos(heard), id)
	return err
}

// SettleCase is MoveCase after a judgement: nothing was heard of the case.
func (t *Tx) SettleCase(c Case) error {
	_, err := t.pen.exec("UPDATE cases SET state = ?, due = ?, revision = ? WHERE id = ?", string(c.State), nanos(c.Due), c.Revision, c.ID)
	return err
}

// Tie notes that a container or sandbox id of a cluster is the case's. The first
// tie stays.
func (t *Tx) Tie(cluster, id, member string) error {
	const tie = "INSERT OR IGNORE INTO ties (id, pod) SELECT ?, pod FROM cases WHERE id = ?"
	_, err := t.pen.exec(tie, t.names.key(cluster, id), member)
	return err
}

// FindByID returns the case with that id.
func (t *Tx) FindByID(id string) (Case, bool, error) {
	return t.one("SELECT "+caseColumns+" FROM cases WHERE id = ?", id)
}

// FindByName returns the case of a pod that is known by its name only.
func (t *Tx) FindByName(cluster, namespace, name string) (Case, bool, error) {
	return t.one("SELECT "+caseColumns+` FROM cases WHERE name = ? AND cluster = ? AND uid = ''
		AND (namespace = ? OR namespace = '' OR ? = '') LIMIT 1`, name, t.names.stored(cluster), namespace, namespace)
}

// Absorb removes a case without a verdict whose pod turned out to be another's; its
// ties go over.
func (t *Tx) Absorb(twin, into string) error {
	_, err := t.pen.exec("UPDATE ties SET pod = "+podOf+" WHERE pod = "+podOf, into, twin)
	if err == nil {
		_, err = t.pen.exec("DELETE FROM cases WHERE id = ?", twin)
	}
	return err
}

// JudgedOn returns the runners on a node that have a verdict and were heard of
// since.
func (t *Tx) JudgedOn(cluster, node string, since time.Time) ([]Case, error) {
	rows, err := t.pen.query("SELECT "+caseColumns+` FROM cases
		WHERE node = ? AND cluster = ? AND state = 'judged' AND runner AND heard >= ?`,
		node, t.names.stored(cluster), nanos(since))
	return t.names.cases(rows, err)
}

// LiveOn returns the runners on a node that have no verdict yet.
func (t *Tx) LiveOn(cluster, node string) ([]Case, error) {
	rows, err := t.pen.query("SELECT "+caseColumns+` FROM cases
		WHERE node = ? AND cluster = ? AND state = 'open' AND runner`, node, t.names.stored(cluster))
	return t.names.cases(rows, err)
}

func (n *naming) cases(rows *sql.Rows, err error) (out []Case, _ error) {
	err = each(rows, err, func(r *sql.Rows) error {
		c, err := n.scanCase(r)
		out = append(out, c)
		return err
	})
	return out, err
}

// Cases returns the cases in a state, the earliest due first. limit 0 is all.
func (l *Ledger) Cases(ctx context.Context, state State, limit int) ([]Case, error) {
	if limit <= 0 {
		limit = -1
	}
	rows, err := l.read.get(ctx, "SELECT "+caseColumns+" FROM cases WHERE state = ? AND runner ORDER BY due, opened, id LIMIT ?", state, limit)
	return l.names.cases(rows, err)
}

// Pending returns the runners whose judgement is due: those whose time is up,
// and those that end whose evidence is complete: their node and the log of every
// controller of their cluster were read a little past the end. Where no agent follows a
// node, or it is silent, only the time decides.
func (l *Ledger) Pending(ctx context.Context, now time.Time, settle time.Duration) ([]Case, error) {
	rows, err := l.read.get(ctx, "SELECT "+caseColumns+` FROM cases WHERE runner AND state = 'open' AND due > 0 AND due <= ?1
		UNION ALL SELECT `+caseColumns+` FROM cases c WHERE runner AND state = 'ending' AND (due <= ?1 OR
			died + ?2 <= (SELECT reached FROM nodes n WHERE n.cluster = c.cluster AND n.node = c.node AND NOT n.silent) AND
			died + ?2 <= coalesce((SELECT min(reached) FROM nodes n
				WHERE n.cluster = c.cluster AND controller AND NOT silent), died + ?2))
		ORDER BY due, opened, id LIMIT 10000`, nanos(now), int64(settle))
	return l.names.cases(rows, err)
}

// Case returns one case by its id.
func (q Questions) Case(ctx context.Context, id string) (Case, bool, error) {
	found, err := q.names.cases(q.get(ctx, "SELECT "+caseColumns+" FROM cases WHERE id = ?", id))
	if err != nil || len(found) == 0 {
		return Case{}, false, err
	}
	return found[0], true, nil
}

// ShortestPrefix is how long the start of a name must be to be looked for.
const ShortestPrefix = 3

// FindRunners returns the runners whose name, namespace/name or UID is what, or,
// where none is and it is not too short, begins with it, or, of the latest, holds
// it; the latest heard of first. exact is false for such, and for everything of
// namespace/. A cluster is all of them if it is nil.
func (l *Ledger) FindRunners(
	ctx context.Context, cluster *string, what string, limit int,
) (found []Case, exact bool, err error) {
	ns, name := splitName(what)
	in := place{cluster: l.names.wanted(cluster), namespace: ns}
	if found, err = l.named(ctx, in, name, name, limit); err != nil || len(found) > 0 {
		return found, true, err
	}
	if whole := name == "" && ns != ""; len(name) < ShortestPrefix && !whole {
		return nil, true, nil
	}
	_, to := prefix(name)
	if found, err = l.named(ctx, in, name, to, limit); len(found) > 0 || err != nil || name == "" {
		return found, false, err
	}
	found, err = l.holding(ctx, in, name, limit)
	return found, false, err
}

// place is where a runner is looked for.
type place struct {
	cluster   any    // as the file has it; nil = in any
	namespace string // "" = in any
}

// fits is the clause for it, of the arguments that args names.
const fits = "(@cluster IS NULL OR cluster = @cluster) AND (@namespace = '' OR namespace = @namespace)"

func (p place) args(more ...any) []any {
	return append([]any{sql.Named("cluster", p.cluster), sql.Named("namespace", p.namespace)}, more...)
}

// wanted is a cluster that is asked for as the file has it, nil for all.
func (n *naming) wanted(cluster *string) any {
	if cluster == nil {
		return nil
	}
	return n.stored(*cluster)
}

// recent is how many runners are looked through for a part of a name.
const recent = 10_000

// holding returns the runners among the latest whose names hold a part, in
// whatever case.
func (l *Ledger) holding(ctx context.Context, in place, part string, limit int) ([]Case, error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part) + "%"
	rows, err := l.ask.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases WHERE pod IN (SELECT pod FROM
			(SELECT pod, name, namespace, cluster FROM cases INDEXED BY cases_heard WHERE runner
				ORDER BY heard DESC LIMIT @recent)
			WHERE name LIKE @like ESCAPE '\' AND `+fits+` LIMIT @limit) ORDER BY heard DESC, id`,
		in.args(sql.Named("recent", recent), sql.Named("like", like), sql.Named("limit", limit))...)
	return l.names.cases(rows, err)
}

// many is how many runners of a prefix are quicker to look for among the latest.
const many = 2000

func (l *Ledger) named(ctx context.Context, in place, from, to string, limit int) ([]Case, error) {
	if to == "" {
		return nil, nil
	}
	const where = " WHERE runner AND (name BETWEEN @from AND @to OR uid BETWEEN @from AND @to) AND " + fits
	args := in.args(sql.Named("from", from), sql.Named("to", to))
	var n int
	err := l.ask.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM cases"+where+" LIMIT @limit)",
		append(args, sql.Named("limit", many))...).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	from = "cases"
	if n == many {
		from = "cases INDEXED BY cases_heard"
	}
	rows, err := l.ask.QueryContext(ctx, "SELECT "+caseColumns+" FROM "+from+where+" ORDER BY heard DESC, id LIMIT @limit",
		append(args, sql.Named("limit", limit))...)
	return l.names.cases(rows, err)
}

// CountCases says how many runners are in each state.
func (l *Ledger) CountCases(ctx context.Context) (map[State]int, error) {
	out := map[State]int{}
	rows, err := l.read.get(ctx, "SELECT state, count(*) FROM cases WHERE runner GROUP BY state")
	return out, each(rows, err, func(r *sql.Rows) error {
		var s State
		var n int
		err := r.Scan(&s, &n)
		out[s] = n
		return err
	})
}

// Node is what is known of one node's agent.
type Node struct {
	Cluster, Name  string
	Reached, Heard time.Time
	Controller     bool // its agent reads a controller's log
	Silent         bool // it stopped pushing, and the cases on it know
}

// Node returns what is known of a node; all zero if it is new.
func (t *Tx) Node(cluster, name string) (Node, error) {
	n := Node{Cluster: cluster, Name: name}
	var reached, heard int64
	const of = "SELECT reached, heard, controller, silent FROM nodes WHERE cluster = ? AND node = ?"
	err := t.pen.row(of, t.names.stored(cluster), name).Scan(&reached, &heard, &n.Controller, &n.Silent)
	if err == sql.ErrNoRows {
		err = nil
	}
	n.Reached, n.Heard = moment(reached), moment(heard)
	return n, err
}

// PutNode notes a push of a node's agent. Reached only goes forward; a zero
// Reached leaves it.
func (t *Tx) PutNode(n Node) error {
	_, err := t.pen.exec(`INSERT INTO nodes (cluster, node, reached, heard, controller, silent) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (cluster, node) DO UPDATE SET
		reached = max(reached, excluded.reached), heard = max(heard, excluded.heard),
		controller = max(controller, excluded.controller), silent = excluded.silent`,
		t.names.stored(n.Cluster), n.Name, nanos(n.Reached), nanos(n.Heard), n.Controller, n.Silent)
	return err
}

// Quiet returns the nodes whose agents were not heard of since a time and that
// nobody knows of yet.
func (l *Ledger) Quiet(ctx context.Context, since time.Time) ([]Node, error) {
	const quiet = " FROM nodes WHERE NOT silent AND heard <= ? ORDER BY cluster, node"
	rows, err := l.read.get(ctx, "SELECT "+nodeColumns+quiet, nanos(since))
	return l.names.nodes(rows, err)
}

const nodeColumns = "cluster, node, reached, heard, controller, silent"

// Nodes returns every node whose agent was heard of.
func (l *Ledger) Nodes(ctx context.Context) ([]Node, error) {
	return l.names.nodes(l.read.get(ctx, "SELECT "+nodeColumns+" FROM nodes ORDER BY cluster, node"))
}

func (n *naming) nodes(rows *sql.Rows, err error) (out []Node, _ error) {
	err = each(rows, err, func(r *sql.Rows) error {
		var x Node
		var reached, heard int64
		err := r.Scan(&x.Cluster, &x.Name, &reached, &heard, &x.Controller, &x.Silent)
		x.Cluster, x.Reached, x.Heard = n.read(x.Cluster), moment(reached), moment(heard)
		out = append(out, x)
		return err
	})
	return out, err
}
