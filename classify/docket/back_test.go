package docket

import (
	"testing"
	"time"

	"coroner/ingest"
)

// An agent that was away for long and is heard of again: the runners of its node live, however little they told
// before, unless the node was booted meanwhile.
func TestAgentIsBack(t *testing.T) {
	for what, c := range map[string]struct {
		quiet  int // minutes
		booted bool
		want   string
	}{
		"a runner that was heard of just before":   {1, false, "none"},
		"a quiet runner":                           {20, false, "none"},
		"a node that was booted":                   {1, true, "node-crash"},
		"a node that was booted, a quiet runner's": {20, true, "node-crash"},
	} {
		w := newWorld(t, Options{Deadline: 10 * time.Second})
		read := func() []ingest.Entry {
			return []ingest.Entry{w.covered(ingest.Containerd, "n1"), w.covered(ingest.Kubelet, "n1"), w.reached("n1")}
		}
		w.tell(append(w.born(), w.reached("n1"))...)
		for range c.quiet {
			w.pass(time.Minute)
			w.tell(read()...)
			w.due()
		}
		w.want(what + ": it lives")
		for range 20 {
			w.pass(time.Minute)
			w.due()
		}
		w.want(what+": its node is silent", pod+" node-lost 1")
		if c.booted {
			boot := w.entry(ingest.Kernel, "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) #1 SMP")
			boot.Boot = "b2"
			w.tell(boot, w.reached("n1"))
		} else {
			w.tell(read()...)
		}
		for range 5 {
			w.pass(time.Minute)
			w.tell(w.reached("n1"))
			w.due()
		}
		w.want(what+": it is heard of again", pod+" "+c.want+" 2")
	}
}
