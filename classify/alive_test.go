package classify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// suspicions are the incidents in which a death is suspected that the runner's life afterwards
// can refute: nothing ended, and nobody asked for it.
func suspicions(t *testing.T) (out []gate) {
	t.Helper()
	for _, g := range gates(t) {
		r := g.book.Rule(g.was.Rule)
		if !g.was.Death() || g.was.Confidence != rules.Suspected || r.LivesOn || g.ask == "" && g.was.Runner != "" {
			continue
		}
		if g.was.Exit.Code == nil && !slices.ContainsFunc(g.was.Evidence, tellsOfAnEnd(g.book)) {
			out = append(out, g)
		}
	}
	return out
}

// beforeStart says whether what was found is of a runner that never spoke: it is none that speaks.
func (g *gate) beforeStart() bool {
	when := g.book.Rule(g.was.Rule).When()
	return g.was.Label.BeforeStart() || strings.Contains(when, "not runner_spoke")
}

// tellsOfAnEnd says whether a line of a verdict tells of the runner's end or of who asks for it.
func tellsOfAnEnd(b *rules.Rulebook) func(rules.EvidenceLine) bool {
	asks := []string{"kubelet.killing", "kube.deleting", "kubelet.delete-asked", "containerd.stop-asked", "kube.event",
		"runner.exiting", "runner.finished", "runner.listener-exit", "controller.pod-deleted", "runner.shutdown"}
	return func(e rules.EvidenceLine) bool {
		d := b.Signal(e.Signal)
		return d != nil && e.Mine && (d.Ends || d.Exit) || slices.Contains(asks, e.Signal)
	}
}

// with gives the incident's lines and one more, of a runner, at a time.
func (g *gate) with(at time.Time, pod, uid, text string) []ingest.Entry {
	last := g.list[len(g.list)-1]
	e := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Runner, Trust: ingest.Claimed, Doc: last.Doc,
		Line: 1 << 20, Namespace: g.was.Namespace, Pod: pod, PodUID: uid, Cluster: last.Cluster, Text: text}
	if at.IsZero() {
		e.Clock, e.After = ingest.NoClock, last.After
	}
	if from, _ := g.span(); at.Before(from) {
		e.Line = 1
	}
	return append(slices.Clone(g.list), e)
}

const renewed = "[RUNNER 2026-01-02 03:04:05Z INFO JobDispatcher] Successfully renew job 1b2c, job is valid till then"

// Life: a runner that lives on after all that a suspicion of its death stands on did not die.
// Another runner's life says nothing of it, and neither does what it said before.
func TestGateLife(t *testing.T) {
	tried := 0
	for _, g := range suspicions(t) {
		from, to := g.span()
		if !to.IsZero() {
			from, to = from.Add(-time.Hour), to.Add(time.Hour)
		}
		for _, text := range []string{renewed, "2026-01-02 03:04:05Z: Listening for Jobs",
			"[WORKER 2026-01-02 03:04:05Z INFO StepsRunner] Processing step: DisplayName='make'"} {
			tried++
			v := g.judge(g.with(to, g.was.Runner, g.was.PodUID, text))
			if v.Death() && !g.book.Rule(v.Rule).LivesOn {
				t.Errorf("%s: lives on (%s), and is %s, was %s", g.name, text, said(v), said(g.was))
			}
			v = g.judge(g.with(to, "another-9x", "0f0f0f0f-0000-4000-8000-000000000009", text))
			if g.ask != "" && said(v) != said(g.was) {
				t.Errorf("%s: another runner lives, and it is %s, was %s", g.name, said(v), said(g.was))
			}
			v = g.judge(g.with(from, g.was.Runner, g.was.PodUID, text))
			if !v.Death() && !from.IsZero() && !g.beforeStart() {
				t.Errorf("%s: lived before, and is %s, was %s", g.name, said(v), said(g.was))
			}
		}
		checkAnEndAfterLife(t, g)
	}
	if tried < 150 {
		t.Errorf("%d lives only", tried)
	}
}

// checkAnEndAfterLife holds that an end that comes after the life is one as it is without it.
func checkAnEndAfterLife(t *testing.T, g gate) {
	t.Helper()
	_, to := g.span()
	if to.IsZero() {
		return
	}
	const bye = "Runner listener exited with error code null"
	end := func() rules.Verdict { return g.judge(g.with(to.Add(2*time.Hour), g.was.Runner, g.was.PodUID, bye)) }
	without := end()
	g.list = g.with(to.Add(time.Hour), g.was.Runner, g.was.PodUID, renewed)
	if v := end(); v.Death() != without.Death() {
		t.Errorf("%s: lives and ends, and is %s, was %s without its life", g.name, said(v), said(without))
	}
}

// What is more than suspected is not dropped for a line that a job can print.
func TestLifeRefutesSuspicionsOnly(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		_, to := g.span()
		if g.was.Death() && g.was.Confidence != rules.Suspected && !to.IsZero() && !g.beforeStart() {
			tried++
			v := g.judge(g.with(to.Add(time.Hour), g.was.Runner, g.was.PodUID, renewed))
			if !v.Death() {
				t.Errorf("%s: a renewal makes %s of %s", g.name, said(v), said(g.was))
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d deaths only", tried)
	}
}
