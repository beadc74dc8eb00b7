package docket

import (
	"context"
	"testing"
	"time"

	"coroner/ingest"
)

// A case is judged from what was read over its own time: what was read, or
// lost, long after it says nothing of it and is not in its incident file.
func TestGatherLeavesLaterMarks(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.born()...)
	w.pass(time.Minute)
	w.tell(w.died(137)...)
	at := w.clock.at
	mark := func(source ingest.Source, from, to time.Duration) ingest.Entry {
		e := w.entry(source, "")
		e.Mark = &ingest.Mark{Kind: ingest.Covered, From: at.Add(from), To: at.Add(to)}
		return e
	}
	w.tell(mark(ingest.Kernel, -time.Hour, time.Second), mark(ingest.Kernel, 48*time.Hour, 49*time.Hour),
		mark(ingest.Controller, -time.Hour, time.Hour), mark(ingest.Controller, 48*time.Hour, 49*time.Hour))
	cases, _, err := w.ledger.FindRunners(context.Background(), nil, pod, 1)
	if err != nil || len(cases) != 1 {
		t.Fatal(cases, err)
	}
	found, err := w.Gather(context.Background(), cases[0])
	if err != nil {
		t.Fatal(err)
	}
	marks := map[ingest.Source]int{}
	for _, e := range found {
		if e.Mark != nil && e.Mark.Kind == ingest.Covered {
			marks[e.Source]++
		}
	}
	if marks[ingest.Kernel] != 1 || marks[ingest.Controller] != 1 {
		t.Errorf("marks %v, want one of each", marks)
	}
}
