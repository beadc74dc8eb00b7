package rules

import (
	"strings"
	"time"

	"coroner/ingest"
)

// Case is all that is known about one runner: the input of Judge. It is built
// by classify; nothing in it is read from anywhere else.
type Case struct {
	Cluster, Namespace, Name, UID, Node, Pool string

	Evidence []Evidence // in time order
	Coverage []Coverage // what was read of the case's pod
	Around   []Coverage // what was read of its node and of the controllers; other cases may share it
	Log      LogRead

	Attempt int // which life of a pod whose container was started again; 0: it had one

	Containers map[string]string // container id -> name, of this pod
	Sandboxes  map[string]bool   // sandbox ids of this pod

	Crowd bool // it stands for several pods at once, all of which live

	life *life // worked out from the evidence when it is first asked for
}

// PoolName is the one name of a pool: some controllers call it as Kubernetes calls
// an object, namespace/name, others by its name, and it is one pool.
func PoolName(s string) string {
	s = strings.TrimRight(s, "/")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// nobody says whether the case stands for text that names no pod at all.
func (c *Case) nobody() bool {
	return c.Name == "" && c.UID == "" && len(c.Containers) == 0 && len(c.Sandboxes) == 0
}

// Evidence is a signal attributed to a case.
type Evidence struct {
	*Signal
	Mine   bool // the line names this pod; false: it speaks about its node
	Proven bool // trusted source, unforgeable envelope, and a tie that is both
	Others bool // the line names another pod
}

// seen are the names of the signals that the case has evidence of.
func (c *Case) seen() map[string]bool {
	seen := map[string]bool{}
	for i := range c.Evidence {
		seen[c.Evidence[i].Def.Name] = true
	}
	return seen
}

// Coverage says that Source was read From..To, or, with Why set, that part of
// it was lost.
type Coverage struct {
	Source   ingest.Source
	From, To time.Time // both zero: no times are known
	Why      string
}

// LogRead is how far the runner's own log was read.
type LogRead struct {
	Read        bool
	Lines       int
	First, Last time.Time
}
