package docket

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
)

// watched are the facts of an object, as a watch of the API server hands them on.
func (w *world) watched(name, kind, more string) []ingest.Entry {
	w.t.Helper()
	e := ingest.Entry{
		At:        w.clock.at,
		Clock:     ingest.WallClock,
		Source:    ingest.Kube,
		Trust:     ingest.Attested,
		Doc:       "kube-api",
		Namespace: "ci",
		Pod:       name,
		PodUID:    "uid-" + name,
		Node:      "n1",
	}
	e.Fields = map[string]string{"msg": kind}
	for _, p := range strings.Fields(more) {
		k, v, _ := strings.Cut(p, "=")
		e.Fields[k] = v
	}
	e.Text = kind + " " + more
	return []ingest.Entry{e}
}

func (w *world) listed(name, more string) {
	w.tell(w.watched(name, "pod spec", "containers=runner node=n1 "+more)...)
	w.tell(w.watched(name, "container running", "container=runner restarts=0")...)
}

func (w *world) ended(name string, code string) {
	at := w.clock.at.Format(time.RFC3339)
	w.tell(w.watched(name, "container terminated",
		"container=runner exit_code="+code+" reason=Error finished_at="+at+" which=state restarts=0")...)
}

// watch says that the pods of the namespace were watched all day.
func (w *world) watch() ingest.Entry {
	return ingest.Entry{At: w.clock.at, Clock: ingest.WallClock, Source: ingest.Kube, Trust: ingest.Attested,
		Doc: "kube-api", Namespace: "ci",
		Mark: &ingest.Mark{Kind: ingest.Covered, From: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), To: w.clock.at}}
}

func (w *world) verdict(name string) *ledger.Record {
	w.t.Helper()
	all, err := w.ledger.Verdicts(context.Background(), ledger.Query{Runner: name})
	if err != nil || len(all) != 1 {
		w.t.Fatalf("%d verdicts of %s, %v", len(all), name, err)
	}
	return &all[0]
}

// With nothing but the API's watch a runner that ends gets its verdict at the
// deadline, with its exit code and node, and the pod object is not missing.
func TestWatchAlone(t *testing.T) {
	w := newWorld(t, Options{Deadline: 30 * time.Second})
	w.listed(pod, "pool=mill")
	w.pass(5 * time.Minute)
	w.ended(pod, "143")
	w.tell(w.watch())
	w.pass(29 * time.Second)
	w.due()
	w.want("before the deadline")
	w.pass(2 * time.Second)
	w.due()
	w.want("after it", pod+" SIGTERM-drain 1")
	v := w.verdict(pod).Verdict
	if v.Node != "n1" || v.Exit.Code == nil || *v.Exit.Code != 143 || v.Pool != "mill" {
		t.Errorf("node %q exit %v pool %q", v.Node, v.Exit.Code, v.Pool)
	}
	if slices.ContainsFunc(v.Missing, func(m string) bool { return strings.HasPrefix(m, "the pod object") }) {
		t.Errorf("the watch covered it: %q", v.Missing)
	}
}

// A watch is no agent: the node that it speaks of is not one that falls silent,
// and it keeps no case from settling that an agent has read to its end.
func TestWatchIsNoAgent(t *testing.T) {
	w := newWorld(t, Options{Silent: 2 * time.Minute})
	w.listed(pod, "")
	named := w.watch() // as a file of objects has it
	named.Node, named.Pod, named.PodUID = "n1", pod, "uid-"+pod
	w.tell(w.watch(), named)
	w.pass(10 * time.Minute)
	w.due()
	w.want("a runner that lives")
	if nodes, err := w.ledger.Nodes(context.Background()); err != nil || len(nodes) > 0 {
		t.Fatalf("nodes with an agent: %v, %v", nodes, err)
	}
	w.tell(w.reached("n1"))
	w.ended(pod, "1")
	w.pass(6 * time.Second)
	w.tell(w.reached("n1"))
	w.due()
	if got := w.verdicts(); len(got) != 1 {
		t.Errorf("the agent has read past the end: %q", got)
	}
}

// A gap of the watch is named, and takes away what silence proves.
func TestWatchGap(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.listed(pod, "")
	w.tell(w.watch())
	w.pass(time.Minute)
	gap := w.watch()
	gap.Mark = &ingest.Mark{
		Kind: ingest.Gap,
		From: w.clock.at.Add(-50 * time.Second),
		To:   w.clock.at,
		Why:  "the watch of pods broke",
	}
	w.tell(gap)
	w.ended(pod, "1")
	w.pass(11 * time.Second)
	w.due()
	missing := w.verdict(pod).Verdict.Missing
	if !slices.ContainsFunc(missing, func(m string) bool {
		return strings.HasPrefix(m, "the pod object") && strings.Contains(m, "the watch of pods broke")
	}) {
		t.Errorf("missing: %q", missing)
	}
}

// The pods that a runner makes for its job's containers are no runners, whatever
// their name begins with; a pod of a pool is one, whatever its name.
func TestWatchedRunners(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	for _, name := range []string{pod + "-workflow", pod + "-step-x1y2z", "web-0"} {
		w.listed(name, "")
		w.ended(name, "1")
	}
	w.listed("mill-0-listener", "pool=mill component=runner-scale-set-listener")
	w.ended("mill-0-listener", "1")
	w.listed("grinder-7", "pool=mill")
	w.ended("grinder-7", "1")
	w.pass(11 * time.Second)
	w.due()
	w.want("runners only", "grinder-7 unknown 1")
}

// What the API server says of a node reaches the runners on it.
func TestWatchedNode(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.listed(pod, "")
	w.pass(time.Minute)
	cond := w.watched("", "node condition", "reason=NodeStatusUnknown type=Ready status=Unknown")[0]
	cond.Namespace, cond.PodUID = "", ""
	w.tell(cond)
	w.pass(20 * time.Second)
	w.tell(w.watched(pod, "pod gone", "deletion=unseen")...)
	w.pass(11 * time.Second)
	w.due()
	w.want("the node was lost", pod+" node-lost 1")
}
