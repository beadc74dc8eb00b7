package classify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// told is a record of the listener's or the controller's about the incident's runner.
func (g *gate) told(at time.Time, source ingest.Source, logger, message, fields string) ingest.Entry {
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested, Doc: "told",
		Cluster: g.list[0].Cluster,
		Text:    fmt.Sprintf("%s\tINFO\t%s\t%s\t{%s}", at.Format(time.RFC3339), logger, message, fields)}
}

// Given up: a runner whose job its listener tells to have begun before the runner's end, and to
// have been given up long after it, did not end well, whatever else was read; no all-clear of it
// is more than suspected.
func TestGateGivenUp(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		well := !g.was.Label.Death() && !g.was.Label.Lasting() && g.was.Confidence != rules.Suspected
		from, to := g.span()
		if !well || g.was.Runner == "" || to.IsZero() {
			continue
		}
		end := to
		if g.was.DiedAt != nil {
			end = *g.was.DiedAt
		}
		tried++
		names := fmt.Sprintf(`"runnerName": %q, "RunnerName": %[1]q, "RequestId": 7`, g.was.Runner)
		began := end.Add(-time.Second)
		if began.Before(from) {
			began = from
		}
		list := append(slices.Clone(g.list),
			g.told(began, ingest.Listener, "service", "job started message received.", names),
			g.told(end.Add(15*time.Minute), ingest.Listener, "service", "job completed message received.",
				names+`, "Result": "abandoned"`))
		if v := g.judge(list); !v.Death() && !v.Wrong() && v.Confidence != rules.Suspected {
			t.Errorf("%s: its job was given up, and it is %s, was %s", g.name, said(v), said(g.was))
		}
	}
	if tried < 15 {
		t.Errorf("%d ends only", tried)
	}
}

// Afterwards: what the controller thinks of a runner after its end is no sign of its life.
func TestGateThoughtAfterwards(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		if g.was.Runner == "" || g.was.DiedAt == nil || g.was.Exit.Code == nil || g.was.Label.Lasting() {
			continue
		}
		tried++
		names := fmt.Sprintf(`"runnerName": %q, "RunnerName": %[1]q, "RequestId": 7`, g.was.Runner)
		list := append(slices.Clone(g.list),
			g.told(g.was.DiedAt.Add(-5*time.Second), ingest.Listener, "service", "job completed message received.",
				names+`, "Result": "failed"`),
			g.told(g.was.DiedAt.Add(10*time.Minute), ingest.Controller, "EphemeralRunner",
				"Runner job is still running, cannot remove the runner",
				fmt.Sprintf(`"ephemeralrunner": {"name": %q, "namespace": %q}`, g.was.Runner, g.was.Namespace)))
		if v := g.judge(list); v.Label == rules.Zombie && v.Confidence != rules.Suspected {
			t.Errorf("%s: thought to run after its end, and it is %s, was %s", g.name, said(v), said(g.was))
		}
	}
	if tried < 100 {
		t.Errorf("%d ends only", tried)
	}
}
