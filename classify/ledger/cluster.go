package ledger

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"coroner/classify/ledger/stored"
	"coroner/ingest"
)

// naming says how clusters are written in the file. What was recorded before a
// server had a name for its own cluster stands there under "". The first name that
// it gets is that one's from then on, without a row being changed: in the file ""
// means it, and noName means "". That stays, whatever the server is called later.
type naming struct{ adopted atomic.Pointer[string] }

// first is the name that was adopted; "" is none.
func (n *naming) first() string {
	if name := n.adopted.Load(); name != nil {
		return *name
	}
	return ""
}

// No cluster's and no other name has these in it.
const (
	noName = "\x1e"
	within = stored.Within // ends the cluster before a name
)

// storedCluster is a cluster as the file has it.
func (n *naming) storedCluster(cluster string) string {
	first := n.first()
	switch cluster = withoutBytes(cluster, noName+within); {
	case first != "" && cluster == "":
		return noName
	case cluster == first:
		return ""
	}
	return cluster
}

// clusterFrom is a cluster that the file has.
func (n *naming) clusterFrom(stored string) string {
	first := n.first()
	switch {
	case first != "" && stored == noName:
		return ""
	case stored == "":
		return first
	}
	return stored
}

// withoutBytes leaves bytes out that no name has.
func withoutBytes(name, bytes string) string {
	if !strings.ContainsAny(name, bytes) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(bytes, r) {
			return -1
		}
		return r
	}, name)
}

// storedKey is a name in its cluster as the file has it.
func (n *naming) storedKey(cluster, name string) string {
	name = withoutBytes(name, within)
	if cluster = n.storedCluster(cluster); cluster == "" {
		return name
	}
	return cluster + within + name
}

// storedKeys are names in their cluster.
func (n *naming) storedKeys(cluster string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = n.storedKey(cluster, name)
	}
	return out
}

// readEntry is an entry that the file has.
func (n *naming) readEntry(e *ingest.Entry) { e.Cluster = n.clusterFrom(e.Cluster) }

// adopted begins the one row of meta that holds the first name.
const adopted = "cluster: "

// loadNames reads the first name: of a database that others use each write does, for one of
// them may have given it meanwhile.
func (n *naming) loadNames(row interface{ Scan(...any) error }) error {
	var name string
	if err := row.Scan(&name); err != nil || name == "" {
		return err
	}
	name = strings.TrimPrefix(name, adopted)
	n.adopted.Store(&name)
	return nil
}

const adoptedName = "SELECT coalesce(min(name), '') FROM meta WHERE name LIKE '" + adopted + "%'"

// Adopt says that what was recorded without a cluster is of this one. Only the
// first name counts: another one later is another cluster's. Where records that
// name it are there already, nothing is adopted, for a name would mean two things
// in the file then. It is for before anything else is done with the ledger; done
// says whether what has no cluster is now of this one.
func (l *Ledger) Adopt(ctx context.Context, cluster string) (done bool, err error) {
	if cluster == "" || l.names.first() != "" {
		return cluster == l.names.first(), nil
	}
	err = l.Write(ctx, time.Now(), func(tx *Tx) error {
		if err := tx.conn.HoldAll(); err != nil {
			return err
		}
		if err := tx.names.loadNames(tx.conn.QueryRow(adoptedName)); err != nil || tx.names.first() != "" {
			return err // another server was first
		}
		known, err := tx.knowsCluster(cluster)
		if err != nil || known {
			return err
		}
		_, err = tx.conn.Execute("INSERT INTO meta (name, value) VALUES (?, 0)", adopted+cluster)
		done = err == nil
		return err
	})
	if err != nil {
		return false, err
	}
	if done {
		l.names.adopted.Store(&cluster)
	}
	return cluster == l.names.first(), nil
}

// knowsCluster says whether anything was recorded of a cluster.
func (t *Tx) knowsCluster(cluster string) (known bool, err error) {
	at := t.names.storedCluster(cluster)
	err = t.conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM cases WHERE cluster = ?1)
		OR EXISTS (SELECT 1 FROM nodes WHERE cluster = ?1)
		OR EXISTS (SELECT 1 FROM verdicts WHERE last IN (0, 1) AND cluster = ?1)`, at).Scan(&known)
	return known, err
}
