// Package quota bounds what a flood of lines can make a server keep.
//
// Invariant: what nobody vouches for, and what comes a second time, uses up nothing of what is
// proven and new.
//
// Crash behaviour: it keeps no state. After a start as much passes once more.
package quota

import (
	"time"

	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Node bounds how many lines that say the same of a node are filed as being about the
// whole of it: a case looks at so many, and a flood of one kind must displace no other. What
// is beyond is still filed under the names that it holds. It forgets when the server is
// started again, and lets as many pass once more.
type Node struct{ of *lru.Cache[Same, int] }

// Same is what a node said in one minute.
type Same struct {
	cluster, node, kind string
	claimed             bool // what nobody vouches for uses up nothing of what is proven
	minute              int64
}

// maxSame is how many lines of one kind are about the whole node in one minute.
const maxSame = 48

// NewNode returns a bound that nothing has used up yet.
func NewNode() Node {
	of, _ := lru.New[Same, int](10_000) // an error only for a size below 1
	return Node{of}
}

// SameOf is what an entry says in its minute; "" says that it is not about its whole node.
func SameOf(e *ingest.Entry, says string, now time.Time) Same {
	if !e.At.IsZero() {
		now = e.At
	}
	return Same{e.Cluster, e.Node, says, !e.Source.Proves(e.Trust), now.Unix() / 60}
}

// HasRoom says whether one more is filed as being about its whole node.
func (q Node) HasRoom(key Same) bool {
	n, _ := q.of.Get(key)
	return key.kind != "" && n < maxSame
}

// CountFiled counts one that was: what comes a second time uses up nothing.
func (q Node) CountFiled(key Same) {
	if key.kind != "" {
		n, _ := q.of.Get(key)
		q.of.Add(key, n+1)
	}
}
