package docket

import (
	"context"
	"fmt"
	"testing"
	"time"

	"coroner/ingest"
)

// The more agents are heard, the more seldom each says that all is well, and never so seldom
// that it counts as silent. Who fell silent is not counted.
func TestPaceOfManyAgents(t *testing.T) {
	for agents, want := range map[int]time.Duration{
		0: 0, 10: 50 * time.Millisecond, 1000: 5 * time.Second, 4000: 20 * time.Second, 20_000: 30 * time.Second,
	} {
		if got := paceOf(agents, 2*time.Minute); got != want {
			t.Errorf("%d agents: %s, want %s", agents, got, want)
		}
	}
	w := newWorld(t, Options{})
	var marks []ingest.Entry
	for n := range 400 {
		marks = append(marks, ingest.Entry{
			Source: ingest.Agent, Node: fmt.Sprint("n-", n), At: w.clock.at, Clock: ingest.WallClock,
			Mark: &ingest.Mark{Kind: ingest.Reached, To: w.clock.at},
		})
	}
	w.tell(marks...)
	for _, x := range []struct{ after, want time.Duration }{{time.Second, 2 * time.Second}, {10 * time.Minute, 0}} {
		w.clock.at = w.clock.at.Add(x.after)
		if err := w.Due(context.Background()); err != nil || w.Pace() != x.want {
			t.Errorf("after %s: %s, %v", x.after, w.Pace(), err)
		}
	}
}
