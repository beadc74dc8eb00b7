package docket

import (
	"time"

	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
)

// nodeQuota bounds how many lines that say the same of a node are filed as being about the
// whole of it: a case looks at so many, and a flood of one kind must displace no other. What
// is beyond is still filed under the names that it holds. It forgets when the server is
// started again, and lets as many pass once more.
type nodeQuota struct{ of *lru.Cache[sameOfNode, int] }

// sameOfNode is what a node said in one minute.
type sameOfNode struct {
	cluster, node, kind string
	claimed             bool // what nobody vouches for uses up nothing of what is proven
	minute              int64
}

// maxSame is how many lines of one kind are about the whole node in one minute.
const maxSame = 48

func newNodeQuota() nodeQuota {
	of, _ := lru.New[sameOfNode, int](10_000) // an error only for a size below 1
	return nodeQuota{of}
}

// keyOf is what an entry says in its minute; its kind is "" where it is not about its whole node.
func keyOf(e *ingest.Entry, says string, now time.Time) sameOfNode {
	if !e.At.IsZero() {
		now = e.At
	}
	return sameOfNode{e.Cluster, e.Node, says, !e.Source.Proves(e.Trust), now.Unix() / 60}
}

// hasRoom says whether one more is filed as being about its whole node.
func (q nodeQuota) hasRoom(key sameOfNode) bool {
	n, _ := q.of.Get(key)
	return key.kind != "" && n < maxSame
}

// countFiled counts one that was: what comes a second time uses up nothing.
func (q nodeQuota) countFiled(key sameOfNode) {
	if key.kind != "" {
		n, _ := q.of.Get(key)
		q.of.Add(key, n+1)
	}
}
