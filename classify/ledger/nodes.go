package ledger

import (
	"cmp"
	"database/sql"
	"strings"
	"time"

	"coroner/classify/ledger/database"
)

// Node is what is known of one node's agent.
type Node struct {
	Cluster, Name  string
	Reached, Heard time.Time
	Controller     bool // its agent reads a controller's log
	Silent         bool // it stopped pushing, and the cases on it know
}

// Node returns what is known of a node; all zero if it is new.
func (t CaseTable) Node(cluster, name string) (Node, error) {
	n := Node{Cluster: cluster, Name: name}
	var reached, heard int64
	const of = "SELECT reached, heard, controller, silent FROM nodes WHERE cluster = ? AND node = ?" + database.Locked
	err := t.conn.QueryRow(of, t.names.storedCluster(cluster), name).Scan(&reached, &heard, &n.Controller, &n.Silent)
	if err == sql.ErrNoRows {
		err = nil
	}
	n.Reached, n.Heard = moment(reached), moment(heard)
	return n, err
}

// Compare orders nodes by cluster and name. Who changes several does it in that order, so that
// no two writes wait for each other.
func (n Node) Compare(other Node) int {
	return cmp.Or(strings.Compare(n.Cluster, other.Cluster), strings.Compare(n.Name, other.Name))
}

// PutNodes notes pushes of nodes' agents, of each node one at most, and whether they are silent.
// Reached only goes forward; a zero Reached leaves it.
func (t CaseTable) PutNodes(all ...Node) error {
	_, err := t.putNodes(all, ", silent = excluded.silent")
	return err
}

// HearNodes is PutNodes for nodes that are heard of; it leaves those alone that are silent. all
// is whether none was.
func (t CaseTable) HearNodes(of []Node) (all bool, err error) {
	n, err := t.putNodes(of, " WHERE NOT nodes.silent")
	return n == int64(len(of)), err
}

func (t CaseTable) putNodes(all []Node, silent string) (changed int64, err error) {
	rows := make([][]any, len(all))
	for i, n := range all {
		rows[i] = []any{t.names.storedCluster(n.Cluster), n.Name, unixNanos(n.Reached), unixNanos(n.Heard),
			n.Controller, n.Silent}
	}
	return t.conn.InsertRows("INSERT INTO nodes ("+nodeColumns+") VALUES ", rows, `
		ON CONFLICT (cluster, node) DO UPDATE SET
		reached = CASE WHEN excluded.reached > nodes.reached THEN excluded.reached ELSE nodes.reached END,
		heard = CASE WHEN excluded.heard > nodes.heard THEN excluded.heard ELSE nodes.heard END,
		controller = nodes.controller OR excluded.controller`+silent)
}

const nodeColumns = "cluster, node, reached, heard, controller, silent"

func (n *naming) readNodes(rows *sql.Rows, err error) (out []Node, _ error) {
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var x Node
		var reached, heard int64
		err := r.Scan(&x.Cluster, &x.Name, &reached, &heard, &x.Controller, &x.Silent)
		x.Cluster, x.Reached, x.Heard = n.clusterFrom(x.Cluster), moment(reached), moment(heard)
		out = append(out, x)
		return err
	})
	return out, err
}
