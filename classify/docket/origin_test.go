package docket

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/rules"
)

// api is an API server's word on where pods are: UID or NAMESPACE/NAME -> node.
type api map[string]string

func (a api) on(node string) Placed {
	return func(s classify.Subject) (here, known bool) {
		for _, key := range []string{s.UID, s.Namespace + "/" + s.Name} {
			if at, ok := a[key]; ok && at != node {
				return false, true
			} else if ok {
				here, known = true, true
			}
		}
		return here, known
	}
}

// from hands entries in as a node's agent does whose pods the API server places.
func (w *world) from(a api, node string, entries ...ingest.Entry) {
	w.t.Helper()
	for i := range entries {
		entries[i].Node = node
	}
	if err := w.ReceiveFrom(context.Background(), Origin{Placed: a.on(node)}, entries); err != nil {
		w.t.Fatal(err)
	}
}

// shipped hands in what is read of plain streams.
func (w *world) shipped(labels map[string]string, lines ...string) {
	w.t.Helper()
	feed := document.Document{Name: "loki"}.Feed()
	var all []ingest.Entry
	for _, line := range lines {
		all = append(all, feed.Shipped(w.clock.at, labels, line)...)
	}
	all = append(append(all, feed.Held()...), feed.Flush()...)
	if len(all) == 0 {
		w.t.Fatal("nothing was read of it")
	}
	if err := w.ReceiveFrom(context.Background(), Origin{Shipper: true}, all); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) nodes() (out []string) {
	all, err := w.ledger.Nodes(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range all {
		out = append(out, n.Name)
	}
	return out
}

func (w *world) dropped(reason string) float64 {
	return testutil.ToFloat64(w.metrics.dropped.WithLabelValues(reason))
}

// journald is the stream of its own messages, as k8s-monitoring labels it.
var journald = map[string]string{"job": "integrations/kubernetes/journal", "instance": "n1",
	"unit": "systemd-journald.service"}

// No line of a shipper makes its node one that is followed: its silence is no death.
// What it tells of losses is kept.
func TestShippersFollowNoNode(t *testing.T) {
	type set = map[string]string
	const mark = `{"source":"agent","trust":1,"node":"n1","mark":{"kind":4,"to":"2026-09-01T12:00:00Z"}}`
	for name, s := range map[string]struct {
		labels set
		line   string
		gap    bool
	}{
		"suppressed": {journald, "Suppressed 4711 messages from kubelet.service", true},
		"missed":     {journald, "Missed 12 kernel messages", true},
		"an agent's labels": {
			set{"job": "coroner-agent", "node": "n1", "source": "agent", "mark": "reached"}, "x", false,
		},
		"a recorded mark": {set{"job": "x", "node": "n1"}, mark, false},
		"a pod's stream":  {set{"namespace": "ci", "pod": pod, "container": "c", "node": "n1"}, "√ Connected", false},
	} {
		w := newWorld(t, Options{})
		w.shipped(s.labels, s.line)
		if got := w.nodes(); len(got) > 0 {
			t.Errorf("%s: follows %q", name, got)
		}
		if n := testutil.CollectAndCount(w.metrics.gaps); (n > 0) != s.gap {
			t.Errorf("%s: %d gaps", name, n)
		}
	}
	w := newWorld(t, Options{})
	w.tell(ingest.Entry{Node: "n1", Source: ingest.Agent, Mark: &ingest.Mark{Kind: ingest.Reached, To: w.clock.at}})
	if got := w.nodes(); fmt.Sprint(got) != "[n1]" {
		t.Errorf("with an agent: follows %q", got)
	}
}

// Nobody dies of a shipper that has nothing more to tell.
func TestASilentShipperIsNoDeath(t *testing.T) {
	w := newWorld(t, Options{Silent: 2 * time.Minute, Deadline: 10 * time.Second})
	w.tell(w.born()...) // before there were agents and shippers
	if err := w.ledger.Write(context.Background(), w.clock.at, func(tx *ledger.Tx) error {
		return tx.PutNodes(ledger.Node{Name: "n1", Heard: w.clock.at}) // as an earlier version did
	}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.shipped(journald, "Suppressed 4711 messages from kubelet.service")
	w.pass(10 * time.Minute)
	w.due()
	w.want("a silent shipper")
}

// An agent's word on a pod of another node is not taken, however the pod is named.
func TestPodsOfOtherNodes(t *testing.T) {
	const other = "99999999-7a3c-4c1f-9a52-6d1f3a7c2b10"
	a := api{uid: "n1", "ci/" + pod: "n1", other: "n2", "ci/" + "other-runner-1": "n2"}
	w := newWorld(t, Options{})
	w.from(a, "n1", w.born()...)
	before := w.dropped("other-node")
	if before > 0 {
		t.Fatalf("%v lines of its own node were refused", before)
	}
	ended := w.entry(ingest.Runner, "")
	ended.Mark = &ingest.Mark{Kind: ingest.Ended, From: w.clock.at, To: w.clock.at}
	const stop = `time="2026-09-01T12:00:00Z" level=info msg="StopContainer for \"%s\" with timeout 30 (s)"`
	tie := w.entry(ingest.Containerd, fmt.Sprintf(stop, cid))
	lie := w.died(137)[1]
	lie.Text = strings.ReplaceAll(lie.Text, uid, other)
	for what, e := range map[string]ingest.Entry{
		"the kernel, by UID":           w.oom(),
		"the kubelet, by UID":          w.died(137)[0],
		"the kubelet, by name and UID": w.died(137)[1],
		"containerd, by an id":         tie,
		"the runner's recognised line": w.entry(ingest.Runner, "√ Connected to GitHub"),
		"the runner's last words":      w.entry(ingest.Runner, "some other text"),
		"the end of its log":           ended,
		"another pod's name, own UID":  lie,
	} {
		before := w.dropped("other-node")
		w.from(a, "n2", e)
		if got := w.dropped("other-node") - before; got != 1 {
			t.Errorf("%s: %v lines refused", what, got)
		}
	}
	w.pass(time.Minute)
	w.due()
	w.want("what another node said")
	w.from(a, "n1", append(w.died(137), w.oom())...)
	w.pass(2 * time.Minute)
	w.due()
	w.want("what its own node said", pod+" cgroup-OOM 1")
}

// A pod that the API server does not know is not lost, but nothing that is said of
// it confirms anything, and a controller that it does not know is none.
func TestPodsThatNobodyKnows(t *testing.T) {
	for name, c := range map[string]struct {
		known api
		want  rules.Confidence
	}{"known": {api{uid: "n1", "ci/" + pod: "n1"}, rules.Confirmed}, "not known": {api{}, rules.Probable}} {
		w := newWorld(t, Options{Deadline: 10 * time.Second})
		w.from(c.known, "n1", w.born()...)
		w.pass(time.Minute)
		w.from(c.known, "n1", append(w.died(137), w.oom(), w.entry(ingest.Kernel, "Memory cgroup out of memory: "+
			"Killed process 4242 (rustc) total-vm:9kB, anon-rss:8kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB "+
			"oom_score_adj:900"))...)
		w.pass(time.Minute)
		w.due()
		v := w.verdict(pod)
		if v.Verdict.Label != rules.CgroupOOM || v.Verdict.Confidence != c.want {
			t.Errorf("%s: %s %s", name, v.Verdict.Label, v.Verdict.Confidence)
		}
	}
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(w.born()...)
	w.pass(time.Minute)
	w.from(api{}, "n2", w.told(137, "OOMKilled"))
	w.pass(time.Minute)
	w.due()
	w.want("the word of a controller that nobody knows")
	w.from(api{"arc-systems/arc-controller-0": "n2"}, "n2", w.told(137, "OOMKilled"))
	w.pass(time.Minute)
	w.due()
	if got := w.verdicts(); len(got) != 1 || !strings.HasPrefix(got[0], pod+" cgroup-OOM") {
		t.Errorf("the word of a controller that runs there: %q", got)
	}
}

// What struck a node is its own word, also where the pod that it names is one that
// nobody knows: every runner there has it in its evidence.
func TestANodesOwnWord(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.from(api{uid: "n1", "ci/" + pod: "n1"}, "n1", w.born()...)
	const text = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom," +
		"task_memcg=/kubepods/burstable/pod11111111-7a3c-4c1f-9a52-6d1f3a7c2b10/%064d,task=kube-proxy,pid=7,uid=0"
	w.from(api{}, "n1", w.entry(ingest.Kernel, fmt.Sprintf(text, 1)))
	c, err := w.ledger.Cases(context.Background(), ledger.StateOpen, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range c {
		if c[i].UID != uid {
			continue
		}
		all, err := w.Gather(context.Background(), c[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			if e.Source == ingest.Kernel && e.Trust == ingest.Attested {
				found++
			}
		}
	}
	if found != 1 {
		t.Errorf("%d of the kernel's lines are attested evidence of the runner", found)
	}
}

// Where a pod is, a case learns only from a node that has it: the next start asks it.
func TestCasesLearnNodesFromTheirOwn(t *testing.T) {
	for node, c := range map[string]api{"n1": {uid: "n1"}, "": {}} {
		w := newWorld(t, Options{})
		w.from(c, "n1", append(w.born(), w.entry(ingest.Runner, "last words"))...)
		all, err := w.ledger.Cases(context.Background(), ledger.StateOpen, 0)
		if err != nil || len(all) != 1 || all[0].Node != node {
			t.Errorf("%+v %v, want node %q", all, err, node)
		}
	}
}
