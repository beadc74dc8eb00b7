package nearby_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/classify/nearby"
	"coroner/ingest"
	"coroner/rules/signal"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// lines are many of one kind around a death, each second one, and one of another an hour of them before.
func lines(kind, other *signal.Def) (out []*signal.Signal) {
	add := func(def *signal.Def, node string, second int, trust ingest.Trust) {
		out = append(
			out,
			&signal.Signal{Def: def, At: t0.Add(time.Duration(second) * time.Second), Cluster: "c", Node: node,
				Source: ingest.Kernel, Trust: trust},
		)
	}
	add(other, "n-1", -500, ingest.Attested)
	for second := -400; second < 200; second++ {
		add(kind, "n-1", second, ingest.Attested)
		add(kind, "n-2", second, ingest.Attested)
	}
	add(other, "n-1.example.org", 250, ingest.Attested)
	add(other, "n-1", 400, ingest.Attested) // too late
	return out
}

// Of a kind the nearest to the end are given, of few all, and nothing of another node, too early or
// too late.
func TestAround(t *testing.T) {
	many, few := &signal.Def{Name: "many"}, &signal.Def{Name: "few"}
	all := lines(many, few)
	l := nearby.New(all)
	for i := range all {
		l.Add(i)
	}
	life := nearby.Life{Cluster: "c", Node: "n-1", First: t0.Add(-100 * time.Second), Last: t0}
	count := map[string]int{}
	around := l.Around(life)
	for _, i := range around {
		s := all[i]
		count[s.Def.Name]++
		if lag := s.At.Sub(t0).Abs(); s.Def == many && (s.Node != "n-1" || lag > 4*time.Second) {
			t.Errorf("%s at %s of %s", s.Def.Name, s.At, s.Node)
		}
	}
	if count["few"] != 2 || count["many"] != 8 || !slices.IsSorted(around) {
		t.Errorf("%v", count)
	}
	life.Whole = true
	if got := len(l.Around(life)); got != 602 {
		t.Errorf("who wants all of the time gets %d lines", got)
	}
	if got := len(l.Around(nearby.Life{Cluster: "d", Node: "n-1"})); got != 0 {
		t.Errorf("another cluster's node has %d lines", got)
	}
	if got := len(l.Of("c", "n-2")); got != 600 {
		t.Errorf("%d lines of n-2", got)
	}
}

// Of what has no time the first and the last of each kind are given, and where there are many kinds
// something of each.
func TestAroundWithoutTimes(t *testing.T) {
	var all []*signal.Signal
	add := func(def *signal.Def, at time.Time, times int) {
		for range times {
			all = append(all, &signal.Signal{
				Def: def, At: at, Cluster: "c", Node: "n-1", Source: ingest.Kernel, Trust: ingest.Attested,
			})
		}
	}
	many, few := &signal.Def{Name: "many"}, &signal.Def{Name: "few"}
	add(many, time.Time{}, 100)
	add(few, time.Time{}, 1)
	add(many, time.Time{}, 100)
	for n := range 20 {
		add(&signal.Def{Name: fmt.Sprint("other ", n)}, t0.Add(-5*time.Minute), 8)
	}
	add(few, t0.Add(-9*time.Minute), 1)
	l := nearby.New(all)
	for i := range all {
		l.Add(i)
	}
	got := l.Around(nearby.Life{Cluster: "c", Node: "n-1", First: t0, Last: t0})
	want := []int{0, 1, 2, 3, 100, 197, 198, 199, 200}
	if !slices.Equal(got[:len(want)], want) || got[len(got)-1] != len(all)-1 || len(got) != 48 {
		t.Errorf("%v of %d", got, len(all))
	}
}
