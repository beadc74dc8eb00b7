package ledger

import (
	"database/sql"
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

// PutNode notes a push of a node's agent. Reached only goes forward; a zero
// Reached leaves it.
func (t CaseTable) PutNode(n Node) error {
	_, err := t.conn.Execute("INSERT INTO nodes ("+nodeColumns+`) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (cluster, node) DO UPDATE SET
		reached = CASE WHEN excluded.reached > nodes.reached THEN excluded.reached ELSE nodes.reached END,
		heard = CASE WHEN excluded.heard > nodes.heard THEN excluded.heard ELSE nodes.heard END,
		controller = nodes.controller OR excluded.controller, silent = excluded.silent`,
		t.names.storedCluster(n.Cluster), n.Name, unixNanos(n.Reached), unixNanos(n.Heard), n.Controller, n.Silent)
	return err
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
