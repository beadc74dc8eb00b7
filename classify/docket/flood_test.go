package docket

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// However often a node says one thing of its other pods, what else it said still decides.
// Every third death is tried, and each where CORONER_INCIDENTS is set (make incidents).
func TestFloodOfANodeDisplacesNothing(t *testing.T) {
	b := loadBook(t)
	tried := 0
	live(t, b, func(in fixtures.Incident, entries []ingest.Entry, want rules.Verdict) {
		if want.Domain == "workload" || want.Confidence != rules.Confirmed || want.DiedAt == nil || want.Node == "" {
			return
		}
		if tried++; tried%3 != 1 && !fixtures.Wholly() {
			return
		}
		told := slices.Clone(entries)
		for n := range 6000 {
			told = append(told, ingest.Entry{
				At: want.DiedAt.Add(time.Duration(n-5000) * 100 * time.Millisecond), Clock: ingest.WallClock,
				Source: ingest.Kernel, Trust: ingest.Attested, Node: want.Node, Doc: "flood.log", Line: n + 1,
				Text: fmt.Sprintf("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"+
					"oom_memcg=/kubepods/pod5eed0000-0000-4000-8000-%012[1]d/%064[1]x,"+
					"task_memcg=/kubepods/pod5eed0000-0000-4000-8000-%012[1]d/%064[1]x,"+
					"task=java,pid=%[1]d,uid=0", n+40000),
			})
		}
		before := judgedLive(t, b, Options{}, story("", entries, &want, 1))
		got := judgedLive(t, b, Options{}, story("", told, &want, 1))
		find := func(all map[string][]rules.Verdict) rules.Verdict {
			for _, v := range slices.Concat(slices.Collect(maps.Values(all))...) {
				if v.Runner == want.Runner && v.PodUID == want.PodUID {
					return v
				}
			}
			return rules.Verdict{}
		}
		if a, z := find(before), find(got); a.Label != z.Label || z.Confidence == rules.Suspected {
			t.Errorf("%s: %s (%s), with the flood %s (%s)", in.Name, a.Label, a.Confidence, z.Label, z.Confidence)
		}
	})
	t.Logf("%d deaths", tried)
	if tried < 12 && each() == 1 {
		t.Errorf("only %d incidents were tried", tried)
	}
}
