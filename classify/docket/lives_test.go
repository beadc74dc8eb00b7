package docket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
)

// oomIn are the lines of a container of the pod that starts and dies at its limit.
func (w *world) oomIn(id, name string) []ingest.Entry {
	at := w.clock.at.Format("2006-01-02T15:04:05.000000000Z")
	cg := "/kubepods/burstable/pod" + uid + "/" + id
	return []ingest.Entry{
		w.entry(ingest.Containerd,
			fmt.Sprintf(
				`time=%q level=info msg="CreateContainer within sandbox \"%s\" for &ContainerMetadata{Name:%s,`+
					`Attempt:0,} returns container id \"%s\""`,
				at,
				sid,
				name,
				id,
			)),
		w.entry(ingest.Containerd,
			fmt.Sprintf(`time=%q level=info msg="StartContainer for \"%s\" returns successfully"`, at, id)),
		w.entry(ingest.Kernel,
			"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg="+cg+",task_memcg="+
				cg+",task=rustc,pid=4242,uid=0"),
		w.entry(ingest.Kubelet,
			fmt.Sprintf(
				`I0901 12:00:00.000000    1410 generic.go:358] "Generic (PLEG): container finished" podID="%s" `+
					`containerID="%s" exitCode=137`,
				uid,
				id,
			)),
	}
}

// life tells of one life of the pod's container named so, and lets it settle.
func (w *world) life(n int, name string) {
	w.t.Helper()
	w.tell(append(w.oomIn(strings.Repeat(fmt.Sprintf("%02x", n), 32), name), w.reached("n1"))...)
	w.pass(time.Minute)
	w.tell(w.reached("n1"))
	w.due()
}

// A container that its pod starts again dies a death of its own each time: each has
// a verdict, which is published once, whatever is told again.
func TestEachLifeIsADeath(t *testing.T) {
	w := newWorld(t, Options{Publish: true})
	w.tell(append(w.born()[:1], w.reached("n1"))...)
	w.life(1, "runner")
	w.want("one life", pod+" cgroup-OOM 1")
	w.life(2, "runner")
	w.want("two lives", pod+" cgroup-OOM 1", pod+" cgroup-OOM 1")
	w.life(3, "runner")
	three := []string{pod + " cgroup-OOM 1", pod + " cgroup-OOM 1", pod + " cgroup-OOM 1"}
	w.want("three lives", three...)
	w.tell(w.oomIn(strings.Repeat("03", 32), "runner")...)
	w.pass(time.Minute)
	w.tell(w.reached("n1"))
	w.due()
	w.want("the third told again", three...)

	ctx := t.Context()
	items, err := w.ledger.Outbox.Due(ctx, w.clock.at.Add(time.Hour), 100)
	if err != nil || len(items) != 3 {
		t.Fatalf("%d verdicts to publish, %v", len(items), err)
	}
	base := ledger.NewCaseID("", "ci", pod, uid)
	for i, x := range items {
		if x.Case != ledger.LifeID(base, i+1) || ledger.PodOf(x.Case) != base || max(x.Verdict.Attempt, 1) != i+1 {
			t.Errorf("verdict %d is of case %s, life %d", i+1, x.Case, x.Verdict.Attempt)
		}
	}
	lives, err := w.ledger.Lives(ctx, base)
	if err != nil || len(lives) != 2 || lives[0].ID != base+".3" {
		t.Errorf("further lives: %+v, %v", lives, err)
	}
	found, exact, err := w.ledger.FindRunners(ctx, nil, pod, 10)
	if err != nil || !exact || len(found) != 1 || found[0].ID != base {
		t.Errorf("the name means %+v, %v", found, err)
	}
}

// Lives that ended before anything was judged have a verdict each, too.
func TestLivesThatEndTogether(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(append(w.born()[:1], w.reached("n1"))...)
	w.tell(append(w.oomIn(strings.Repeat("01", 32), "runner"), w.reached("n1"))...)
	w.pass(20 * time.Second)
	w.life(2, "runner")
	w.want("both", pod+" cgroup-OOM 1", pod+" cgroup-OOM 1")
}

// Another container that its pod starts again and again is no death of the runner.
func TestASidecarsLivesAreNone(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(append(w.born(), w.reached("n1"))...)
	for n := range 3 {
		w.life(n+1, "dind")
	}
	if got := w.verdicts(); len(got) > 1 {
		t.Errorf("a sidecar died three times, and %q", got)
	}
}
