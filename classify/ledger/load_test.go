package ledger

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/bench"
	"coroner/rules"
)

// What a verdict costs to record as they become many, in processor time. It runs
// with CORONER_BENCH=1 (make bench), up to a million, with CORONER_BENCH=quick up
// to a tenth of that.
func TestBenchVerdicts(t *testing.T) {
	n := 1_000_000
	if bench.Asked(t, "what a verdict costs to record as they become many") {
		n = 100_000
	}
	l := fresh(t)
	t.Logf("%9s %12s %14s", "verdicts", "insert µs", "bytes/verdict")
	var xs, ys []float64
	for have, next := 0, 1000; next <= n; have, next = next, next*10 {
		// are measured at each size, written as the docket does; those before them in large writes
		window := min(next-have, 5000)
		insert(t, l, have, next-window-have, 10_000)
		start := bench.CPU()
		insert(t, l, next-window, window, 25)
		micros := float64((bench.CPU() - start).Nanoseconds()) / 1000 / float64(window)
		t.Logf("%9d %12.1f %14d", next, micros, l.Size()/int64(next))
		xs, ys = append(xs, float64(next)), append(ys, micros)
	}
	exponent := bench.Exponent(xs, ys)
	t.Logf("exponent %.2f (0 = the same however many)", exponent)
	if err := bench.Note(bench.Figure{Topic: "the ledger, growth with verdicts", What: "to record one",
		Value: exponent, Unit: "(0 the same, 1 linear)"}); err != nil {
		t.Error(err)
	}
}

// insert records verdicts, some in one write.
func insert(t *testing.T, l *Ledger, from, count, together int) {
	text := strings.Repeat("a line of the node's journal that speaks of it ", 4)
	for ; count > 0; from, count = from+together, count-together {
		write(t, l, after(from), func(tx *Tx) (err error) {
			for i := from; i < from+min(together, count); i++ {
				died, scattered := after(i), uint32(i)*2654435761 // names come in no order
				v := &rules.Verdict{Runner: fmt.Sprintf("pool-%d-runner-%08x", i%100, scattered), Namespace: "ci",
					Node: fmt.Sprintf("node-%d", scattered%1000), Pool: fmt.Sprintf("pool-%d", i%100),
					PodUID: fmt.Sprintf("%08x-7a3c-4c1f-9a52-6d1f3a7c2b10", scattered),
					Label:  rules.Labels[i%len(rules.Labels)], Confidence: rules.Confirmed, Revision: 1, DiedAt: &died,
					Job: rules.Job{
						ID:         fmt.Sprint(30_000_000_000 + i),
						RunID:      fmt.Sprint(9_000_000_000 + i/4),
						Repository: fmt.Sprintf("o/r%d", scattered%300),
					},
					Summary: text,
					Evidence: []rules.EvidenceLine{
						{At: &died, Source: "kernel", Text: text, Decisive: true},
						{At: &died, Source: "kubelet", Text: text},
					}}
				c := Case{ID: NewCaseID("", "ci", v.Runner, v.PodUID), Namespace: "ci", Name: v.Runner, UID: v.PodUID,
					Node: v.Node, Runner: true,
					Opened: died.Add(-time.Hour), Heard: died, State: StateJudged, Revision: 1}
				err = errors.Join(err, tx.PutCase(c), tx.AddVerdict(c.ID, v, died, false))
			}
			return err
		})
	}
}
