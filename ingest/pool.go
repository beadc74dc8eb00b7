package ingest

import (
	"regexp"
	"strings"
)

// PoolName is the one name of a pool: some controllers call it as Kubernetes calls
// an object, namespace/name, others by its name, and it is one pool.
func PoolName(s string) string {
	s = strings.TrimRight(s, "/")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// What actions-runner-controller makes for the scale set NAME is called NAME-xxxxx
// (an EphemeralRunnerSet), NAME-xxxxx-runner-xxxxx (its runners; a pod has its
// runner's name) and NAME-HASH-listener.
var (
	setOfPool      = regexp.MustCompile(`^(.+)-[0-9a-z]{5}$`)
	runnerOfPool   = regexp.MustCompile(`^(.+)-[0-9a-z]{5}-runner-[0-9a-z]{5}$`)
	listenerOfPool = regexp.MustCompile(`^(.+)-[0-9a-f]{7,10}-listener$`)
)

// PoolOfSet is the pool that an EphemeralRunnerSet is of, by its name.
func PoolOfSet(set string) string { return poolBy(set, setOfPool, runnerOfPool) }

// PoolOfPod is the pool that a runner's or a listener's pod is of, by its name; ""
// where the name does not tell.
func PoolOfPod(pod string) string {
	name := PoolName(pod)
	if pool := poolBy(name, runnerOfPool, listenerOfPool); pool != name {
		return pool
	}
	return ""
}

// poolBy is what the first of the patterns that fits has as the pool's name, else all
// of the name.
func poolBy(name string, patterns ...*regexp.Regexp) string {
	name = PoolName(name)
	for _, p := range patterns {
		if m := p.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return name
}
