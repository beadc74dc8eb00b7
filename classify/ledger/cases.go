package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"coroner/classify/ledger/schema"
	"coroner/rules/casefile"
)

// State is where a case stands.
type State string

// The states of a case.
const (
	StateOpen   State = "open"   // the pod lives, as far as is known
	StateEnding State = "ending" // something ended; it waits for the rest of the evidence
	StateJudged State = "judged" // it has a verdict
)

// Case is the docket's note of one pod, or of what else can have something wrong with it.
type Case struct {
	ID                         string // verdict id: the hash of the first names that it was known by
	Kind                       casefile.Kind
	Cluster                    string // that its names are of
	Namespace, Name, UID, Node string
	Runner                     bool // it is a runner; others are kept a while, for they may turn out to be
	Opened, Heard              time.Time
	State                      State
	Died                       time.Time // ending: the latest moment that something of it ended
	Due                        time.Time // ending: when it is judged whatever is missing
	Revision                   int
	Turn
}

// Turn is what comes and goes with a case.
type Turn struct {
	Episodes int       // of what is no runner: how many times something was wrong with it
	Version  int64     // grows with each record that speaks of it
	Claimed  time.Time // until when a server has it to judge; zero: none has
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

// NewStandingID is the id of the case of a pool, or of another thing that is no pod.
func NewStandingID(kind casefile.Kind, cluster, name string) string {
	return NewCaseID(cluster, string(kind)+within, name, "")
}

// LifeID is the id under which a pod's verdict of one life of its container is kept:
// the first has the pod's own, a container that was started again has more. What is no
// pod has one for each time that something was wrong with it.
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

// caseColumns are the columns of every version, and what later ones added.
const caseColumns = "cluster, kind, episodes, version, claimed, " + schema.FirstColumns

func (n *naming) scanCase(row interface{ Scan(...any) error }) (c Case, err error) {
	var opened, heard, died, due, claimed int64
	err = row.Scan(
		&c.Cluster,
		&c.Kind,
		&c.Episodes,
		&c.Version,
		&claimed,
		&c.ID,
		&c.Namespace,
		&c.Name,
		&c.UID,
		&c.Node,
		&c.Runner,
		&opened,
		&heard,
		&c.State,
		&died,
		&due,
		&c.Revision,
	)
	c.Cluster = n.clusterFrom(c.Cluster)
	c.Opened, c.Heard, c.Died, c.Due = moment(opened), moment(heard), moment(died), moment(due)
	c.Claimed = moment(claimed)
	return c, err
}

// CaseTable is what one write does to cases, and to what is known of nodes.
type CaseTable struct{ *writer }

// FindCase finds the case of a pod of a cluster by its UID, else by a container's
// id, else by its name: the latest of that name whose namespace can be the same.
func (t CaseTable) FindCase(cluster, namespace, name, uid string, ids []string) (Case, bool, error) {
	id, err := t.FindID(cluster, namespace, name, uid, ids)
	if err != nil || id == "" {
		return Case{}, false, err
	}
	return t.FindByID(id)
}

// FindID is FindCase for who has the cases at hand; "" is none.
func (t CaseTable) FindID(cluster, namespace, name, uid string, ids []string) (string, error) {
	if err := t.hold(cluster); err != nil {
		return "", err
	}
	at := t.names.storedCluster(cluster)
	if uid != "" {
		id, _, err := t.oneID("SELECT id, uid FROM cases WHERE uid = ? AND cluster = ? AND kind = ''", uid, at)
		if id != "" || err != nil {
			return id, err
		}
	}
	for _, id := range ids {
		const tied = "SELECT id, uid FROM cases WHERE pod = (SELECT pod FROM ties WHERE id = ?)"
		id, other, err := t.oneID(tied, t.names.storedKey(cluster, id))
		if err != nil || id != "" && (uid == "" || other == "") {
			return id, err
		}
	}
	if name == "" {
		return "", nil
	}
	id, other, err := t.oneID(`SELECT id, uid FROM cases WHERE name = ? AND cluster = ? AND kind = ''
		AND (namespace = ? OR namespace = '' OR ? = '') ORDER BY opened DESC, id DESC LIMIT 1`,
		name, at, namespace, namespace)
	if uid != "" && other != "" {
		return "", err // another pod of that name
	}
	return id, err
}

func (t CaseTable) oneID(query string, args ...any) (id, uid string, err error) {
	if err = t.conn.QueryRow(query, args...).Scan(&id, &uid); err == sql.ErrNoRows {
		err = nil
	}
	return id, uid, err
}

func (t CaseTable) oneCase(query string, args ...any) (Case, bool, error) {
	c, err := t.names.scanCase(t.conn.QueryRow(query, args...))
	if err == sql.ErrNoRows {
		return c, false, nil
	}
	return c, err == nil, err
}

// PutCase writes a case. It stays in its cluster, and with the server that judges it.
func (t CaseTable) PutCase(c Case) error {
	if err := t.hold(c.Cluster); err != nil {
		return err
	}
	_, err := t.conn.Execute(
		"INSERT INTO cases (pod, cluster, kind, episodes, "+schema.FirstColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, name = excluded.name, uid = excluded.uid,
			node = excluded.node, runner = excluded.runner, opened = excluded.opened, heard = excluded.heard,
			state = excluded.state, died = excluded.died, due = excluded.due, revision = excluded.revision,
			episodes = excluded.episodes, version = cases.version + 1`,
		t.conn.NewNumber(),
		t.names.storedCluster(c.Cluster),
		string(c.Kind),
		c.Episodes,
		c.ID,
		c.Namespace,
		c.Name,
		c.UID,
		c.Node,
		c.Runner,
		unixNanos(c.Opened),
		unixNanos(c.Heard),
		string(c.State),
		unixNanos(c.Died),
		unixNanos(c.Due),
		c.Revision,
	)
	return err
}

// MoveCase writes what changes in the life of a case that is there: all but its
// names and when it was opened. That spares the indexes of those: the database
// writes those of every column that is named here, changed or not.
func (t CaseTable) MoveCase(c Case) error {
	if err := t.hold(c.Cluster); err != nil {
		return err
	}
	_, err := t.conn.Execute(
		`UPDATE cases SET node = ?, runner = ?, heard = ?, state = ?, died = ?, due = ?, revision = ?,
			version = version + 1 WHERE id = ?`,
		c.Node,
		c.Runner,
		unixNanos(c.Heard),
		string(c.State),
		unixNanos(c.Died),
		unixNanos(c.Due),
		c.Revision,
		c.ID,
	)
	return err
}

// HearCase is MoveCase where only Heard changed: that spares the other indexes.
func (t CaseTable) HearCase(id string, heard time.Time) error {
	_, err := t.conn.Execute("UPDATE cases SET heard = ?, version = version + 1 WHERE id = ?", unixNanos(heard), id)
	return err
}

// SettleCase is MoveCase after a judgement: nothing was heard of the case, and it is
// claimed no longer.
func (t CaseTable) SettleCase(c Case) error {
	if err := t.hold(c.Cluster); err != nil {
		return err
	}
	const update = "UPDATE cases SET state = ?, due = ?, revision = ?, claimed = 0 WHERE id = ?"
	_, err := t.conn.Execute(update, string(c.State), unixNanos(c.Due), c.Revision, c.ID)
	return err
}

// Tie notes that a container or sandbox id of a cluster is the case's. The first
// tie stays.
func (t CaseTable) Tie(cluster, id, member string) error {
	if err := t.hold(cluster); err != nil {
		return err
	}
	const tie = "INSERT INTO ties (id, pod) SELECT ?, pod FROM cases WHERE id = ? ON CONFLICT DO NOTHING"
	_, err := t.conn.Execute(tie, t.names.storedKey(cluster, id), member)
	return err
}

// FindByID returns the case with that id, as it is for this write.
func (t CaseTable) FindByID(id string) (Case, bool, error) {
	const of = "SELECT " + caseColumns + " FROM cases WHERE id = ?"
	c, ok, err := t.oneCase(of, id)
	if ok && err == nil && !t.holds(c.Cluster) {
		if err = t.hold(c.Cluster); err == nil {
			c, ok, err = t.oneCase(of, id) // another write may have changed it until now
		}
	}
	return c, ok, err
}

// FindByName returns the case of a pod that is known by its name only.
func (t CaseTable) FindByName(cluster, namespace, name string) (Case, bool, error) {
	if err := t.hold(cluster); err != nil {
		return Case{}, false, err
	}
	return t.oneCase("SELECT "+caseColumns+` FROM cases WHERE name = ? AND cluster = ? AND uid = '' AND kind = ''
		AND (namespace = ? OR namespace = '' OR ? = '') LIMIT 1`, name, t.names.storedCluster(cluster), namespace,
		namespace)
}

// MergeInto removes a case without a verdict whose pod turned out to be another's; its
// ties go over.
func (t CaseTable) MergeInto(twin, into string) error {
	_, err := t.conn.Execute("UPDATE ties SET pod = "+podOf+" WHERE pod = "+podOf, into, twin)
	if err == nil {
		_, err = t.conn.Execute("DELETE FROM cases WHERE id = ?", twin)
	}
	return err
}

// JudgedOn returns the runners on a node that have a verdict and were heard of since a time, or
// ended then.
func (t CaseTable) JudgedOn(cluster, node string, since time.Time) ([]Case, error) {
	if err := t.hold(cluster); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryRows("SELECT "+caseColumns+` FROM cases
		WHERE node = ? AND cluster = ? AND state = 'judged' AND runner AND (heard >= ? OR died >= ?)`,
		node, t.names.storedCluster(cluster), unixNanos(since), unixNanos(since))
	return t.names.readCases(rows, err)
}

// LiveOn returns the runners on a node that have no verdict yet.
func (t CaseTable) LiveOn(cluster, node string) ([]Case, error) {
	if err := t.hold(cluster); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryRows("SELECT "+caseColumns+` FROM cases
		WHERE node = ? AND cluster = ? AND state = 'open' AND runner`, node, t.names.storedCluster(cluster))
	return t.names.readCases(rows, err)
}

func (n *naming) readCases(rows *sql.Rows, err error) (out []Case, _ error) {
	err = eachRow(rows, err, func(r *sql.Rows) error {
		c, err := n.scanCase(r)
		out = append(out, c)
		return err
	})
	return out, err
}

// Case returns one case by its id.
func (q Questions) Case(ctx context.Context, id string) (Case, bool, error) {
	found, err := q.names.readCases(q.query(ctx, "SELECT "+caseColumns+" FROM cases WHERE id = ?", id))
	if err != nil || len(found) == 0 {
		return Case{}, false, err
	}
	return found[0], true, nil
}
