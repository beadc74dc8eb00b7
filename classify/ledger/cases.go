package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
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
func NewCaseID(namespace, name, uid string) string {
	key := uid
	if key == "" {
		key = namespace + "/" + name
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

const caseColumns = "id, namespace, name, uid, node, runner, opened, heard, state, died, due, revision"

func scanCase(row interface{ Scan(...any) error }) (c Case, err error) {
	var opened, heard, died, due int64
	err = row.Scan(&c.ID, &c.Namespace, &c.Name, &c.UID, &c.Node, &c.Runner, &opened, &heard, &c.State, &died, &due, &c.Revision)
	c.Opened, c.Heard, c.Died, c.Due = moment(opened), moment(heard), moment(died), moment(due)
	return c, err
}

// FindCase finds the case of a pod by its UID, else by a container's id, else
// by its name: the latest of that name whose namespace can be the same.
func (t *Tx) FindCase(namespace, name, uid string, ids []string) (Case, bool, error) {
	id, err := t.FindID(namespace, name, uid, ids)
	if err != nil || id == "" {
		return Case{}, false, err
	}
	return t.FindByID(id)
}

// FindID is FindCase for who has the cases at hand; "" is none.
func (t *Tx) FindID(namespace, name, uid string, ids []string) (string, error) {
	if uid != "" {
		if id, _, err := t.oneID("SELECT id, uid FROM cases WHERE uid = ?", uid); id != "" || err != nil {
			return id, err
		}
	}
	for _, id := range ids {
		id, other, err := t.oneID("SELECT id, uid FROM cases WHERE pod = (SELECT pod FROM ties WHERE id = ?)", id)
		if err != nil || id != "" && (uid == "" || other == "") {
			return id, err
		}
	}
	if name == "" {
		return "", nil
	}
	id, other, err := t.oneID(`SELECT id, uid FROM cases WHERE name = ? AND (namespace = ? OR namespace = '' OR ? = '')
		ORDER BY opened DESC, id DESC LIMIT 1`, name, namespace, namespace)
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
	c, err := scanCase(t.pen.row(query, args...))
	if err == sql.ErrNoRows {
		return c, false, nil
	}
	return c, err == nil, err
}

// PutCase writes a case.
func (t *Tx) PutCase(c Case) error {
	_, err := t.pen.exec("INSERT INTO cases ("+caseColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, name = excluded.name, uid = excluded.uid, node = excluded.node, runner = excluded.runner,
		opened = excluded.opened, heard = excluded.heard, state = excluded.state, died = excluded.died, due = excluded.due, revision = excluded.revision`,
		c.ID, c.Namespace, c.Name, c.UID, c.Node, c.Runner, nanos(c.Opened), nanos(c.Heard), string(c.State), nanos(c.Died), nanos(c.Due), c.Revision)
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

// Tie notes that a container or sandbox id is the case's. The first tie stays.
func (t *Tx) Tie(id, member string) error {
	_, err := t.pen.exec("INSERT OR IGNORE INTO ties (id, pod) SELECT ?, pod FROM cases WHERE id = ?", id, member)
	return err
}

// FindByID returns the case with that id.
func (t *Tx) FindByID(id string) (Case, bool, error) {
	return t.one("SELECT "+caseColumns+" FROM cases WHERE id = ?", id)
}

// FindByName returns the case of a pod that is known by its name only.
func (t *Tx) FindByName(namespace, name string) (Case, bool, error) {
	return t.one("SELECT "+caseColumns+" FROM cases WHERE name = ? AND uid = '' AND (namespace = ? OR namespace = '' OR ? = '') LIMIT 1", name, namespace, namespace)
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
func (t *Tx) JudgedOn(node string, since time.Time) ([]Case, error) {
	rows, err := t.pen.query("SELECT "+caseColumns+" FROM cases WHERE node = ? AND state = 'judged' AND runner AND heard >= ?", node, nanos(since))
	return cases(rows, err)
}

// LiveOn returns the runners on a node that have no verdict yet.
func (t *Tx) LiveOn(node string) ([]Case, error) {
	rows, err := t.pen.query("SELECT "+caseColumns+" FROM cases WHERE node = ? AND state = 'open' AND runner", node)
	return cases(rows, err)
}

func cases(rows *sql.Rows, err error) (out []Case, _ error) {
	err = each(rows, err, func(r *sql.Rows) error {
		c, err := scanCase(r)
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
	return cases(rows, err)
}

// Pending returns the runners whose judgement is due: those whose time is up,
// and those that end whose evidence is complete: their node and every
// controller's log were read a little past the end. Where no agent follows a
// node, or it is silent, only the time decides.
func (l *Ledger) Pending(ctx context.Context, now time.Time, settle time.Duration) ([]Case, error) {
	rows, err := l.read.get(ctx, "SELECT "+caseColumns+` FROM cases WHERE runner AND state = 'open' AND due > 0 AND due <= ?1
		UNION ALL SELECT `+caseColumns+` FROM cases c WHERE runner AND state = 'ending' AND (due <= ?1 OR
			died + ?2 <= (SELECT reached FROM nodes n WHERE n.node = c.node AND NOT n.silent) AND
			died + ?2 <= coalesce((SELECT min(reached) FROM nodes WHERE controller AND NOT silent), died + ?2))
		ORDER BY due, opened, id`, nanos(now), int64(settle))
	return cases(rows, err)
}

// Case returns one case by its id.
func (q Questions) Case(ctx context.Context, id string) (Case, bool, error) {
	found, err := cases(q.get(ctx, "SELECT "+caseColumns+" FROM cases WHERE id = ?", id))
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
// namespace/.
func (l *Ledger) FindRunners(ctx context.Context, what string, limit int) (found []Case, exact bool, err error) {
	ns, name := splitName(what)
	if found, err = l.named(ctx, ns, name, name, limit); err != nil || len(found) > 0 {
		return found, true, err
	}
	if whole := name == "" && ns != ""; len(name) < ShortestPrefix && !whole {
		return nil, true, nil
	}
	_, to := prefix(name)
	if found, err = l.named(ctx, ns, name, to, limit); len(found) > 0 || err != nil || name == "" {
		return found, false, err
	}
	found, err = l.holding(ctx, ns, name, limit)
	return found, false, err
}

// recent is how many runners are looked through for a part of a name.
const recent = 10_000

// holding returns the runners among the latest whose names hold a part, in
// whatever case.
func (l *Ledger) holding(ctx context.Context, ns, part string, limit int) ([]Case, error) {
	rows, err := l.ask.QueryContext(ctx, "SELECT "+caseColumns+` FROM cases WHERE pod IN (SELECT pod FROM
			(SELECT pod, name, namespace FROM cases INDEXED BY cases_heard WHERE runner ORDER BY heard DESC LIMIT ?)
			WHERE name LIKE ? ESCAPE '\' AND (? = '' OR namespace = ?) LIMIT ?) ORDER BY heard DESC, id`,
		recent, "%"+strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part)+"%", ns, ns, limit)
	return cases(rows, err)
}

// many is how many runners of a prefix are quicker to look for among the latest.
const many = 2000

func (l *Ledger) named(ctx context.Context, ns, from, to string, limit int) ([]Case, error) {
	if to == "" {
		return nil, nil
	}
	const fits = "runner AND (name BETWEEN ? AND ? OR uid BETWEEN ? AND ?) AND (? = '' OR namespace = ?)"
	args := []any{from, to, from, to, ns, ns}
	var n int
	if err := l.ask.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM cases WHERE "+fits+" LIMIT ?)", append(args, many)...).Scan(&n); err != nil || n == 0 {
		return nil, err
	}
	from = "cases"
	if n == many {
		from = "cases INDEXED BY cases_heard"
	}
	rows, err := l.ask.QueryContext(ctx, "SELECT "+caseColumns+" FROM "+from+" WHERE "+fits+" ORDER BY heard DESC, id LIMIT ?", append(args, limit)...)
	return cases(rows, err)
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
	Name           string
	Reached, Heard time.Time
	Controller     bool // its agent reads a controller's log
	Silent         bool // it stopped pushing, and the cases on it know
}

// Node returns what is known of a node; all zero if it is new.
func (t *Tx) Node(name string) (Node, error) {
	n := Node{Name: name}
	var reached, heard int64
	err := t.pen.row("SELECT reached, heard, controller, silent FROM nodes WHERE node = ?", name).Scan(&reached, &heard, &n.Controller, &n.Silent)
	if err == sql.ErrNoRows {
		err = nil
	}
	n.Reached, n.Heard = moment(reached), moment(heard)
	return n, err
}

// PutNode notes a push of a node's agent. Reached only goes forward; a zero
// Reached leaves it.
func (t *Tx) PutNode(n Node) error {
	_, err := t.pen.exec(`INSERT INTO nodes (node, reached, heard, controller, silent) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (node) DO UPDATE SET reached = max(reached, excluded.reached), heard = max(heard, excluded.heard),
		controller = max(controller, excluded.controller), silent = excluded.silent`,
		n.Name, nanos(n.Reached), nanos(n.Heard), n.Controller, n.Silent)
	return err
}

// Quiet returns the nodes whose agents were not heard of since a time and that
// nobody knows of yet.
func (l *Ledger) Quiet(ctx context.Context, since time.Time) ([]Node, error) {
	return nodes(l.read.get(ctx, "SELECT "+nodeColumns+" FROM nodes WHERE NOT silent AND heard <= ? ORDER BY node", nanos(since)))
}

const nodeColumns = "node, reached, heard, controller, silent"

// Nodes returns every node whose agent was heard of.
func (l *Ledger) Nodes(ctx context.Context) ([]Node, error) {
	return nodes(l.read.get(ctx, "SELECT "+nodeColumns+" FROM nodes ORDER BY node"))
}

func nodes(rows *sql.Rows, err error) (out []Node, _ error) {
	err = each(rows, err, func(r *sql.Rows) error {
		var n Node
		var reached, heard int64
		err := r.Scan(&n.Name, &reached, &heard, &n.Controller, &n.Silent)
		n.Reached, n.Heard = moment(reached), moment(heard)
		out = append(out, n)
		return err
	})
	return out, err
}
