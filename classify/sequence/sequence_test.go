package sequence

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func at(second int, change func(*signal.Signal)) *signal.Signal {
	s := &signal.Signal{Def: signal.LastWords, At: t0.Add(time.Duration(second) * time.Second), Source: ingest.Runner,
		Node: "n1", Pod: "amber", Text: "line", Doc: "a.log"}
	if change != nil {
		change(s)
	}
	return s
}

// However signals come, their order is one, and what was delivered twice is there once,
// with the better trust of the two.
func TestOrderDoesNotDependOnDelivery(t *testing.T) {
	all := func() []*signal.Signal {
		return []*signal.Signal{
			at(1, nil), at(1, func(s *signal.Signal) { s.Trust = ingest.Attested }),
			at(1, func(s *signal.Signal) { s.Text = "another" }), at(1, func(s *signal.Signal) { s.Node = "n2" }),
			at(0, nil), at(2, func(s *signal.Signal) { s.At, s.After = time.Time{}, t0 }),
			at(3, func(s *signal.Signal) { s.Cluster = "east" }), at(3, nil),
		}
	}
	var want []signal.Signal
	for seed := range uint64(50) {
		some := all()
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		slices.SortFunc(some, Compare)
		var got []signal.Signal
		for _, s := range WithoutRepeats(some) {
			got = append(got, *s)
		}
		if want == nil {
			want = got
		}
		if len(got) != 7 {
			t.Fatalf("%d of 8 signals, of which two are one", len(got))
		}
		for i := range got {
			if Compare(&got[i], &want[i]) != 0 {
				t.Fatalf("order %d: %d is %+v, was %+v", seed, i, got[i], want[i])
			}
			if got[i].Text == "line" && got[i].Node == "n1" && got[i].At.Equal(t0.Add(time.Second)) &&
				got[i].Trust != ingest.Attested {
				t.Error("the better trust of a repetition is lost")
			}
		}
	}
}

// Lines without a time can be alike and yet two: their place tells them apart.
func TestLinesWithoutTimeAreNoRepeats(t *testing.T) {
	line := func(n int) *signal.Signal {
		return at(0, func(s *signal.Signal) { s.At, s.Line = time.Time{}, n })
	}
	if got := WithoutRepeats([]*signal.Signal{line(1), line(1), line(2)}); len(got) != 2 {
		t.Errorf("%d of two lines", len(got))
	}
}

// What has no time stands where its document has it, whoever wrote it: a program's word between two of a job's.
func TestLinesWithoutTimeStayInOrder(t *testing.T) {
	line := func(n int, from ingest.Source) *signal.Signal {
		return at(0, func(s *signal.Signal) { s.At, s.Line, s.Source = time.Time{}, n, from })
	}
	some := []*signal.Signal{line(3, ingest.Kernel), line(2, ingest.Runner), line(1, ingest.Job), at(0, nil)}
	some[3].At = time.Time{}.Add(1)
	slices.SortFunc(some, Compare)
	for i, want := range []int{1, 2, 3, 0} {
		if some[i].Line != want {
			t.Errorf("place %d has line %d, want %d", i, some[i].Line, want)
		}
	}
}
