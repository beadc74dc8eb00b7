package docket

import (
	"context"
	"testing"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// The hot loops allocate no more than they did, with a tenth to spare. Memory
// that is asked for can be counted on any machine, time cannot. Who makes them
// leaner, or has a reason to let them grow, writes what the failure says here.
const (
	allocsReceive = 3450 // for a push: the 59 lines of two lives and deaths, with their marks
	allocsJudge   = 1680 // for the verdict of one runner, from its records in memory, judged in up to three steps
	allocsOpinion = 2700 // for the same from the ledger
)

func withinTenth(t *testing.T, what string, got float64, recorded int) {
	t.Helper()
	if fixtures.UnderRace { // where a sync.Pool forgets some of what it is given
		t.Logf("%s: the race detector allocates too, so what the code allocates is not shown", what)
		return
	}
	switch limit := float64(recorded) * 1.1; {
	case got > limit:
		t.Errorf("%s: %.0f allocations, more than a tenth over the %d that are recorded", what, got, recorded)
	case got < float64(recorded)*0.8:
		t.Logf("%s: %.0f allocations, %d are recorded: record the better figure", what, got, recorded)
	}
}

func TestReceiveAllocates(t *testing.T) {
	x := newLoad(t, loadBook(t), 1)
	x.fill(100)
	var batches [][]ingest.Entry
	for i := range 21 {
		var some []ingest.Entry
		for k := 2 * i; k < 2*i+2; k++ {
			some = append(append(append(some, x.town.born(1000+k,
				x.clock.at)...), x.town.lives(k, x.clock.at)...), x.town.dies(k, x.clock.at)...)
		}
		batches = append(batches,
			append(some, x.town.marks(x.town.node(0), x.began, x.clock.at.Add(time.Duration(i)))...))
	}
	next := 0
	got := testing.AllocsPerRun(len(batches)-1, func() { // one more run than it counts
		if err := x.Receive(context.Background(), batches[next]); err != nil {
			t.Fatal(err)
		}
		next++
	})
	withinTenth(t, "Receive", got, allocsReceive)
}

func TestJudgeAllocates(t *testing.T) {
	b, town, at := loadBook(t), town{nodes: 1}, time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	var entries []ingest.Entry
	entries = append(append(append(entries, town.born(1, at)...), town.lives(1, at)...), town.dies(1,
		at.Add(time.Minute))...)
	entries = append(entries, town.marks("build-0000", at, at.Add(2*time.Minute))...)
	var scanned []*classify.Scanned
	for i := range entries {
		scanned = append(scanned, scanEntry(&entries[i], b))
	}
	all := func(yield func(*classify.Scanned) bool) {
		for _, s := range scanned {
			if !yield(s) {
				return
			}
		}
	}
	o := classify.Options{Runner: town.soul(1, at).uid, Strict: true}
	if v := classify.ReplayScanned(all, b, o); v[0].Label != "cgroup-OOM" {
		t.Fatalf("%+v", v[0])
	}
	withinTenth(t, "a verdict", testing.AllocsPerRun(50, func() { classify.ReplayScanned(all, b, o) }), allocsJudge)
}

func TestOpinionAllocates(t *testing.T) {
	x := newLoad(t, loadBook(t), 1)
	x.fill(40)
	x.second(30)
	dead := x.town.soul(0, x.began)
	c, ok, err := x.ledger.Case(context.Background(), ledger.NewCaseID("", "ci", dead.pod, ""))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	ask := func() {
		if v, err := x.Opinion(context.Background(), c); err != nil || v.PodUID != dead.uid || v.Label == rules.None {
			t.Fatal(v, err)
		}
	}
	withinTenth(t, "an opinion", testing.AllocsPerRun(50, ask), allocsOpinion)
}
