package docket

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/push"
)

// The more agents are heard, the more seldom each says that all is well, and never so seldom
// that it counts as silent. Who fell silent is not counted.
func TestPaceOfManyAgents(t *testing.T) {
	for agents, want := range map[int]time.Duration{
		0: 0, 10: 50 * time.Millisecond, 1000: 5 * time.Second, 4000: 20 * time.Second, 20_000: 54 * time.Second,
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

// An agent that keeps the pace that it is asked for is never called silent, a mark that is lost
// on the way and seconds of delay included; one that goes on saying nothing is.
func TestPaceIsNoSilence(t *testing.T) {
	const lost = 2 // which of its marks
	for _, silent := range []time.Duration{20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute} {
		w := newWorld(t, Options{Silent: silent})
		asked := followed(t, paceOf(100_000, silent))
		since, sent, late := time.Duration(0), 0, silent/20 // asked plus late is when the next mark is here
		for w.tell(w.reached("n1")); sent < 5; since += time.Second {
			w.pass(time.Second)
			if since >= asked+late {
				if since, sent = 0, sent+1; sent != lost {
					w.tell(w.reached("n1"))
				}
			}
			w.due()
			if is := silentNodes(t, w); is != 0 {
				t.Fatalf("silent after %s, pace %s: %d nodes are called silent after %d marks", silent, asked, is, sent)
			}
		}
		w.pass(silent + time.Second)
		if w.due(); silentNodes(t, w) != 1 {
			t.Errorf("silent after %s: who says nothing any more is not silent", silent)
		}
	}
}

// followed is the pace that an agent follows where the server asks for one.
func followed(t *testing.T, pace time.Duration) time.Duration {
	t.Helper()
	took := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	server := httptest.NewServer(push.Paced(took, func() time.Duration { return pace }))
	defer server.Close()
	s := &push.Sender{URL: server.URL, Node: "n1", Client: server.Client()}
	if err := s.Post(t.Context(), nil); err != nil || s.Pace() < pace/5 {
		t.Fatalf("%s is asked for, %s followed: %v", pace, s.Pace(), err)
	}
	return s.Pace()
}

func silentNodes(t *testing.T, w *world) (n int) {
	t.Helper()
	nodes, err := w.ledger.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if node.Silent {
			n++
		}
	}
	return n
}
