package docket

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/quota"
	"coroner/ingest"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// world is a docket with a clock, and the words to tell it of pods.
type world struct {
	t *testing.T
	*Docket
	ledger *ledger.Ledger
	clock  *clock
	path   string
	book   *rules.Rulebook
	o      Options
}

func newWorld(t *testing.T, o Options) *world {
	w := &world{
		t:     t,
		clock: &clock{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)},
		path:  filepath.Join(t.TempDir(), "l.db"),
		book:  loadBook(t),
		o:     o,
	}
	w.restart()
	t.Cleanup(func() { w.ledger.Close() })
	return w
}

func (w *world) restart() {
	if w.ledger != nil {
		w.ledger.Close()
	}
	w.Docket, w.ledger = newDocket(w.t, w.path, w.book, w.o, w.clock)
}

func (w *world) pass(d time.Duration) { w.clock.at = w.clock.at.Add(d) }

func (w *world) tell(entries ...ingest.Entry) {
	w.t.Helper()
	if err := w.Receive(context.Background(), entries); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) due() {
	w.t.Helper()
	if err := w.Due(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// verdicts are all that are recorded, as "label revision".
func (w *world) verdicts() (out []string) {
	w.t.Helper()
	records, err := w.ledger.Verdicts(context.Background(), ledger.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		out = append(out, fmt.Sprintf("%s %s %d", r.Verdict.Runner, r.Verdict.Label, r.Verdict.Revision))
	}
	return out
}

func (w *world) want(what string, want ...string) {
	w.t.Helper()
	if got := w.verdicts(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

const (
	uid = "0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10"
	cid = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
	sid = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
	pod = "pool-runner-x2v9k"
)

func (w *world) entry(source ingest.Source, text string) ingest.Entry {
	e := ingest.Entry{
		At:     w.clock.at,
		Clock:  ingest.WallClock,
		Source: source,
		Trust:  ingest.Attested,
		Node:   "n1",
		Text:   text,
		Doc:    "journal",
	}
	if source == ingest.Controller { // its log is a pod's too
		e.Node, e.Namespace, e.Pod, e.Container = "n2", "arc-systems", "arc-controller-0", "manager"
	}
	if source == ingest.Runner {
		e.Trust, e.Namespace, e.Pod, e.PodUID, e.Container = ingest.Claimed, "ci", pod, uid, "runner"
	}
	return e
}

func (w *world) born() []ingest.Entry {
	at := w.clock.at.Format("2006-01-02T15:04:05.000000000Z")
	return []ingest.Entry{
		w.entry(ingest.Containerd,
			fmt.Sprintf(
				`time=%q level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:%s,Uid:%s,Namespace:ci,`+
					`Attempt:0,} returns sandbox id \"%s\""`,
				at,
				pod,
				uid,
				sid,
			)),
		w.entry(ingest.Containerd,
			fmt.Sprintf(
				`time=%q level=info msg="CreateContainer within sandbox \"%s\" for &ContainerMetadata{Name:runner,`+
					`Attempt:0,} returns container id \"%s\""`,
				at,
				sid,
				cid,
			)),
		w.entry(ingest.Containerd,
			fmt.Sprintf(`time=%q level=info msg="StartContainer for \"%s\" returns successfully"`, at, cid)),
		w.entry(ingest.Runner, "√ Connected to GitHub"),
		w.entry(ingest.Runner, w.clock.at.Format("2006-01-02 15:04:05Z")+": Running job: build"),
	}
}

func (w *world) died(code int) []ingest.Entry {
	return []ingest.Entry{
		w.entry(ingest.Kubelet,
			fmt.Sprintf(
				`I0901 12:00:00.000000    1410 generic.go:358] "Generic (PLEG): container finished" podID="%s" `+
					`containerID="%s" exitCode=%d`,
				uid,
				cid,
				code,
			)),
		w.entry(ingest.Kubelet,
			fmt.Sprintf(
				`I0901 12:00:00.000000    1410 kubelet.go:2569] "SyncLoop (PLEG): event for pod" pod="ci/%s" `+
					`event={"ID":"%s","Type":"ContainerDied","Data":"%s"}`,
				pod,
				uid,
				cid,
			)),
	}
}

func (w *world) oom() ingest.Entry {
	cg := "/kubepods/burstable/pod" + uid + "/" + cid
	return w.entry(ingest.Kernel,
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg="+cg+",task_memcg="+cg+
			",task=rustc,pid=4242,uid=0")
}

func (w *world) told(code int, reason string) ingest.Entry {
	return w.entry(ingest.Controller,
		fmt.Sprintf("%s INFO runner pod terminated pod=%s phase=Failed exitCode=%d signal=0 reason=%s pool=p",
			w.clock.at.Format(time.RFC3339), pod, code, reason))
}

func (w *world) reached(node string) ingest.Entry {
	return ingest.Entry{
		Node:   node,
		At:     w.clock.at,
		Source: ingest.Agent,
		Mark:   &ingest.Mark{Kind: ingest.Reached, To: w.clock.at},
	}
}

func (w *world) covered(source ingest.Source, node string) ingest.Entry {
	return ingest.Entry{Node: node, Source: source, Trust: ingest.Attested, Boot: "b",
		Mark: &ingest.Mark{Kind: ingest.Covered, From: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), To: w.clock.at}}
}

// A case is judged as soon as its node was read past the death, not before.
func TestSettlesOnTheWatermark(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(append(w.born(), w.reached("n1"))...)
	w.pass(time.Minute)
	w.tell(append(w.died(137), w.oom(), w.reached("n1"))...)
	w.due()
	w.want("the node was read up to the death only")
	w.pass(4 * time.Second)
	w.tell(w.reached("n1"))
	w.due()
	w.want("not far enough past it")
	w.pass(2 * time.Second)
	w.tell(w.reached("n1"))
	w.due()
	w.want("far enough", pod+" cgroup-OOM 1")
}

// The controller's exit code is waited for, where somebody reads its log.
func TestWaitsForTheController(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(append(w.born(), w.reached("n1"), w.covered(ingest.Controller, "n2"))...)
	w.pass(time.Minute)
	w.tell(w.died(137)...)
	w.pass(10 * time.Second)
	w.tell(w.reached("n1"))
	w.due()
	w.want("the controller's log is behind")
	w.tell(w.reached("n2"), w.told(137, "OOMKilled"))
	w.pass(10 * time.Second)
	w.tell(w.reached("n1"), w.reached("n2"))
	w.due()
	w.want("read", pod+" cgroup-OOM 1")
}

// Without an agent's word the deadline decides, and it is not moved by chatter.
func TestDeadline(t *testing.T) {
	w := newWorld(t, Options{Deadline: 30 * time.Second})
	w.tell(append(w.born(), w.oom())...)
	w.pass(time.Second)
	w.tell(w.died(137)...)
	for range 3 {
		w.pass(9 * time.Second)
		w.tell(w.entry(ingest.Runner, "still some output "+w.clock.at.String()))
		w.due()
		w.want("before the deadline")
	}
	w.pass(4 * time.Second)
	w.due()
	w.want("after it", pod+" cgroup-OOM 1")
}

// Late evidence that changes the verdict is a revision; the same again, or more
// of the same, is none.
func TestRevisions(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	born := w.born()
	w.tell(born...)
	w.pass(time.Minute)
	oom, died := w.oom(), w.died(137)
	w.tell(died...)
	w.pass(11 * time.Second)
	w.due()
	first := w.verdicts()
	if len(first) != 1 || first[0] == pod+" cgroup-OOM 1" {
		t.Fatalf("without the kernel's line: %q", first)
	}
	w.tell(oom)
	w.pass(11 * time.Second)
	w.due()
	w.want("the kernel's line came late", pod+" cgroup-OOM 2")
	w.tell(append(append(born, died...), oom)...)
	w.restart()
	w.pass(11 * time.Second)
	w.due()
	w.want("everything again", pod+" cgroup-OOM 2")
	w.tell(w.entry(ingest.Kubelet,
		`I0901 12:00:00.000000    1410 kubelet.go:2547] "SyncLoop REMOVE" source="api" pods=["ci/`+pod+`"]`))
	w.pass(11 * time.Second)
	w.due()
	w.want("the object went", pod+" cgroup-OOM 2")
}

// A revision counts into its new label, and says what it was; more of the same counts
// as nothing but a detail. A pool is one, whatever a controller calls it.
func TestRevisionsCountIntoTheirLabel(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(w.born()...)
	w.pass(time.Minute)
	oom, told := w.oom(), w.told(137, "Error")
	told.Text = strings.Replace(told.Text, "pool=p", "pool=tuist-runners/p", 1)
	w.tell(append(w.died(137), told)...)
	w.pass(11 * time.Second)
	w.due()
	first := w.verdict(pod).Verdict
	counted := w.metrics.verdicts.WithLabelValues(string(first.Label), string(first.Confidence), first.Domain, "", "p")
	if n := testutil.ToFloat64(counted); n != 1 {
		t.Errorf("%v first verdicts of %s (%s) of pool %s", n, first.Label, first.Confidence, first.Pool)
	}
	w.tell(oom)
	w.pass(11 * time.Second)
	w.due()
	v := w.verdict(pod).Verdict
	was := rules.Revised{Label: first.Label, Confidence: first.Confidence}
	if v.Label != rules.CgroupOOM || v.Revision != 2 || v.Revises == nil || *v.Revises != was ||
		v.Change() != rules.ChangeLabel || v.Pool != "p" {
		t.Fatalf("%s revision %d of pool %s revises %v", v.Label, v.Revision, v.Pool, v.Revises)
	}
	counted = w.metrics.revisions.WithLabelValues("cgroup-OOM", string(v.Confidence), v.Domain, "", "p",
		string(was.Label), "label")
	if n := testutil.ToFloat64(counted); n != 1 || testutil.CollectAndCount(w.metrics.revisions) != 1 {
		t.Errorf("%v revisions into cgroup-OOM", n)
	}
}

// Runners on a node that vanishes get their verdict; when the node is heard of
// again, what it has to say revises it.
func TestNodeVanishes(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(append(w.born(), w.reached("n1"))...)
	w.pass(time.Minute)
	w.tell(w.reached("n1"))
	w.due()
	w.pass(3 * time.Minute)
	w.due()
	w.pass(11 * time.Second)
	w.due()
	w.want("its agent is silent", pod+" node-lost 1")
	late := w.died(0)
	w.tell(append(late,
		w.entry(ingest.Runner,
			w.clock.at.Format("2006-01-02 15:04:05Z")+": Job build completed with result: Succeeded"),
		w.reached("n1"))...)
	w.pass(11 * time.Second)
	w.tell(w.reached("n1"))
	w.due()
	if got := w.verdicts(); len(got) != 1 || got[0] == pod+" node-lost 1" {
		t.Errorf("heard of again: %q", got)
	}
}

// A runner that tells nothing for a long time dies with its node, too: with one that booted, and with one that is
// not heard of any more.
func TestNodeEndsUnderAQuietRunner(t *testing.T) {
	boot := func(w *world) {
		e := w.entry(ingest.Kernel, "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP")
		e.Boot = "b2"
		w.tell(e, w.covered(ingest.Kernel, "n1"), w.reached("n1"))
	}
	for label, end := range map[string]func(w *world){"node-crash": boot, "node-lost": func(*world) {}} {
		w := newWorld(t, Options{Deadline: 10 * time.Second})
		w.tell(append(w.born(), w.reached("n1"))...)
		for range 20 {
			w.pass(time.Minute)
			w.tell(w.covered(ingest.Containerd, "n1"), w.covered(ingest.Kubelet, "n1"), w.reached("n1"))
			w.due()
		}
		w.want("it lives")
		end(w)
		for range 5 {
			w.pass(time.Minute)
			w.due()
		}
		w.want("its node ended", pod+" "+label+" 1")
	}
}

// A server that was down itself must not take its nodes for dead.
func TestOwnDowntimeIsNoSilence(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(append(w.born(), w.reached("n1"))...)
	w.pass(time.Hour)
	w.restart()
	w.due()
	w.pass(time.Minute)
	w.tell(w.reached("n1"))
	w.due()
	w.pass(11 * time.Second)
	w.due()
	w.want("nobody died")
}

// A pod that lives on has no verdict, whatever is said of it.
func TestTheLivingAreNotJudged(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(append(w.born(), w.oom())...) // a child was killed, the runner lives
	for range 5 {
		w.pass(time.Minute)
		w.tell(w.entry(ingest.Runner, "output "+w.clock.at.String()), w.reached("n1"))
		w.due()
	}
	w.want("it lives")
}

// The same name again, with another UID, is another runner.
func TestTwoPodsOfOneName(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(append(w.born(), w.died(137)...)...)
	w.tell(w.oom())
	w.pass(time.Minute)
	second := w.entry(ingest.Runner, "√ Connected to GitHub")
	second.PodUID = "99999999-7a3c-4c1f-9a52-6d1f3a7c2b10"
	w.tell(second)
	w.due()
	w.want("one of them died", pod+" cgroup-OOM 1")
}

// Anybody who may create pods can name one like a controller: what it prints
// of others proves nothing.
func TestImpostorController(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(w.born()...)
	lie := w.told(137, "OOMKilled")
	lie.Namespace = "ci"
	w.tell(lie)
	w.pass(time.Minute)
	w.due()
	w.want("a pod of the runners' namespace said so")
	lie.Namespace = "arc-systems"
	w.tell(lie)
	w.pass(time.Minute)
	w.due()
	w.want("the controller said so", pod+" cgroup-OOM 1")
}

// A container that prints a recognised line without end fills nothing, and the
// end of it is still seen.
func TestFlood(t *testing.T) {
	w := newWorld(t, Options{Deadline: 10 * time.Second})
	w.tell(w.born()...)
	var flood []ingest.Entry
	for range 2 * quota.MaxPrinted {
		w.pass(time.Millisecond)
		flood = append(flood,
			w.entry(ingest.Runner, "Runner listener exit with 0 return code, stop the service, no retry needed."))
	}
	w.tell(flood...)
	found, err := w.ledger.Unseen(context.Background(), "uid:"+uid, nil)
	if err != nil || len(found) > quota.MaxPrinted+10 {
		t.Errorf("%d records are kept: %v", len(found), err)
	}
	w.tell(append(w.died(137), w.oom())...)
	w.pass(time.Minute)
	w.due()
	w.want("it died", pod+" cgroup-OOM 1")
}

// Only what the operator calls a runner is judged.
func TestRunnerGlobs(t *testing.T) {
	for glob, want := range map[string]int{"ci/pool-*": 1, "pool-*": 1, "prod/*": 0} {
		w := newWorld(t, Options{Deadline: time.Second, Runners: []string{glob}})
		w.tell(append(w.born(), w.died(137)...)...)
		w.pass(time.Minute)
		w.due()
		if got := w.verdicts(); len(got) != want {
			t.Errorf("%s: %q", glob, got)
		}
	}
}

// Too many open cases: the oldest are judged as they stand, and counted.
func TestOpenCasesAreBounded(t *testing.T) {
	w := newWorld(t, Options{MaxOpen: 2})
	for i := range 5 {
		e := w.entry(ingest.Runner, "√ Connected to GitHub")
		e.Pod, e.PodUID = fmt.Sprintf("p-runner-%d", i), fmt.Sprintf("%08d-7a3c-4c1f-9a52-6d1f3a7c2b10", i)
		w.tell(e)
		w.pass(time.Second)
	}
	if err := w.Upkeep(context.Background()); err != nil {
		t.Fatal(err)
	}
	counts, err := w.ledger.CountCases(context.Background())
	if err != nil || counts[ledger.StateOpen] != 2 || counts[ledger.StateJudged] != 3 {
		t.Errorf("%v %v", counts, err)
	}
}

// What cannot be stored is not acknowledged.
func TestReceiveFailsLoudly(t *testing.T) {
	w := newWorld(t, Options{})
	w.ledger.Close()
	if err := w.Receive(context.Background(), w.born()); err == nil {
		t.Error("no error from a ledger that is closed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.restart()
	if err := w.Receive(ctx, w.born()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.pass(time.Hour)
	w.due()
	w.want("nothing was stored")
}

// Agents push while the docket judges.
func TestConcurrentPushes(t *testing.T) {
	w := newWorld(t, Options{Deadline: time.Nanosecond})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				e := w.told(137, "OOMKilled")
				e.Text = fmt.Sprintf(
					"2026-09-01T12:00:00Z INFO runner pod terminated pod=c-runner-%d-%d phase=Failed exitCode=137 "+
						"signal=0 reason=OOMKilled pool=p",
					i,
					j,
				)
				if err := w.Receive(context.Background(), []ingest.Entry{e}); err != nil {
					t.Error(err)
				}
				if err := w.Due(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	w.pass(time.Second)
	w.due()
	if got := w.verdicts(); len(got) != 40 {
		t.Errorf("%d verdicts: %q", len(got), got)
	}
}

// What tells of a death can come after somebody looked and saw none: a container's log
// ended before the kubelet's line that says why it never ran.
func TestDeathThatIsToldAfterItsEnd(t *testing.T) {
	w := newWorld(t, Options{Silent: 24 * time.Hour})
	end := w.entry(ingest.Runner, "")
	end.Mark = &ingest.Mark{Kind: ingest.Ended}
	w.tell(end)
	w.pass(10 * time.Minute)
	w.due()
	w.want("nothing is known but an end")
	w.tell(w.entry(ingest.Kubelet, `E0301 10:00:03.000000     741 pod_workers.go:1301] "Error syncing pod, skipping" `+
		`err="failed to \"StartContainer\" for \"runner\" with RunContainerError: \"failed to create containerd task: `+
		`failed to create shim task: OCI runtime create failed: runc create failed: unable to start container `+
		`process: container init was OOM-killed (memory limit too low?)\"" pod="ci/`+pod+`" podUID="`+uid+`"`))
	w.pass(10 * time.Minute)
	w.due()
	w.want("the kubelet said why", pod+" cgroup-OOM 1")
}
