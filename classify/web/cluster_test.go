package web

import (
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Where one cluster is known no page names it; where there are several every page
// says which one it speaks of, and its links stay there.
func TestClustersOnThePages(t *testing.T) {
	s := open(t)
	in := func(cluster string) func(*rules.Verdict) { return func(v *rules.Verdict) { v.Cluster = cluster } }
	path := func(cluster string) string {
		return lookup.PagePath(casefile.OfRunner, "ci", "amber", ledger.NewCaseID(cluster, "ci", "amber", "uid-amber"))
	}
	s.add("amber", t0, in("east"))
	for _, page := range []string{"/", "/?node=build-7"} {
		s.holds(page, 200, "amber", "!Cluster", "!east")
	}
	s.holds(path("east"), 200, "amber", "!Cluster east")
	s.add("amber", t0.Add(-time.Minute), in("west"))
	s.holds("/", 200, "Cluster", "east", "west", "2 verdicts in this time", "build-7 east", "build-7 west")
	s.holds("/?cluster=west", 200, "1 verdict in this time", "!build-7 east")
	s.holds("/?q=amber", 200, "2 runners for amber", "Cluster", "east", "west")
	s.holds("/runners/ci/amber", 200, "2 runners for ci/amber", "Cluster")
	for _, cluster := range []string{"east", "west"} {
		body := s.holds(path(cluster), 200, "Cluster "+cluster,
			"Of other runners on this node at that time nothing is known")
		for _, link := range []string{
			`href="/?node=build-7&amp;cluster=` + cluster + `"`, `href="/?cluster=` + cluster + `"`,
			`href="/api/v1/runners/uid-amber?cluster=` + cluster + `"`,
		} {
			if !strings.Contains(body, link) {
				t.Errorf("%s: no %s in %s", cluster, link, body)
			}
		}
		s.holds("/runners/ci/amber?cluster="+cluster, 200, "Cluster "+cluster, "Timeline")
	}
	if w, _ := s.get("/?q=amber&cluster=west"); w.Code != 303 || w.Header().Get("Location") != path("west") {
		t.Errorf("%d to %s", w.Code, w.Header().Get("Location"))
	}
}

// A cluster's name is text like all others.
func TestHostileCluster(t *testing.T) {
	s := open(t)
	s.add("amber", t0, nil)
	s.add("birch", t0, func(v *rules.Verdict) { v.Cluster = `"><script>alert(1)</script>&x=y` })
	for _, page := range []string{"/", "/?cluster=%22%3E%3Cscript%3E", "/runners/ci/birch"} {
		if _, body := s.get(page); strings.Contains(body, "<script>alert") {
			t.Errorf("%s holds the name as it is", page)
		}
	}
	s.holds("/runners/ci/amber", 200, "Cluster not known")
}
