package web

import (
	"errors"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
	"coroner/rules/casefile"
)

// addPool records that something is wrong with a pool since a time, and until when it was.
func (s *site) addPool(name string, since time.Time, until *time.Time) {
	s.t.Helper()
	v := &rules.Verdict{Pool: name, Label: rules.ListenerDown, Confidence: rules.Probable, Retry: "helps",
		Domain: "platform", Initiator: "unknown", Rule: "listener-down-refused", Revision: 1,
		Summary: "Nobody asks for the jobs of the pool.",
		Evidence: []rules.EvidenceLine{
			{At: &since, Source: "listener", Text: "403 Forbidden", Decisive: true, Mine: true}}}
	v.Kind, v.State, v.Since, v.Until = casefile.OfPool, rules.Open, &since, until
	if until != nil {
		v.State = rules.Resolved
	}
	id := ledger.NewStandingID(casefile.OfPool, "", name)
	s.write(since, func(tx *ledger.Tx) error {
		return errors.Join(tx.PutCase(ledger.Case{ID: id, Kind: v.Kind, Name: name, State: ledger.StateJudged,
			Opened: since, Heard: since, Turn: ledger.Turn{Episodes: 1}}), tx.AddVerdict(id, v, since, false))
	})
}

// What is wrong now stands above what died, however long ago it began; what is over does
// not, and no pool is counted among the deaths.
func TestWrongNowStandsAbove(t *testing.T) {
	s := open(t)
	s.holds("/", 200, "!Wrong now")
	over := t0.Add(-time.Hour)
	s.addPool("heron", t0.Add(-5*24*time.Hour), nil)
	s.addPool("egret", t0.Add(-2*time.Hour), &over)
	s.add("amber", t0, nil)
	s.holds("/", 200, "Wrong now", "pool heron", "since 5 days ago", "!egret",
		"1 verdict in this time", "amber")
	s.holds("/?verdict=host-teardown", 200, "!Wrong now")
	s.holds("/?verdict=listener-down", 200, "Wrong now", "pool heron")
	s.holds("/?pool=egret", 200, "!Wrong now", "!heron")
	s.holds("/?verdict=all&kind=pool", 200, "egret", "!amber")
	s.holds("/?kind=host", 400, `kind="host"`)
	s.holds("/?state=dead", 400, `state="dead"`)
}

// A pool has a page of its own, also where runners have names that begin so.
func TestPoolPage(t *testing.T) {
	s := open(t)
	s.addPool("heron", t0.Add(-time.Hour), nil)
	s.add("heron-x7k2m-runner-aq2wz", t0, nil)
	s.holds("/pools/heron", 200, "pool heron", "listener-down", "Wrong now", "since 2026-05-04 09:00:00Z",
		"403 Forbidden", "!Died at", "!Exit", "!Node")
	s.holds("/?q=heron", 200, "2 runners for heron", "pool heron", "heron-x7k2m-runner-aq2wz")
	s.holds("/pools/gull", 404)
}

// The page of a job that waits leads to the page of the runner that was to take it.
func TestJobPageLeadsToItsRunner(t *testing.T) {
	s := open(t)
	v := &rules.Verdict{Label: rules.Stranded, Confidence: rules.Probable, Retry: "useless", Rule: "stranded-runner",
		Revision: 1, Cluster: "east", Job: rules.Job{ID: "41"}, Summary: "Its runner never came."}
	v.Kind, v.State, v.Since = casefile.OfJob, rules.Open, &t0
	v.RunnerVerdict = &rules.RunnerVerdict{Runner: "heron-1", Namespace: "a b", Label: rules.ImagePullFailure,
		Confidence: rules.Confirmed}
	id := ledger.NewStandingID(casefile.OfJob, "east", "41")
	s.write(t0, func(tx *ledger.Tx) error {
		return errors.Join(tx.PutCase(ledger.Case{ID: id, Kind: v.Kind, Name: "41", State: ledger.StateJudged,
			Cluster: "east", Opened: t0, Heard: t0, Turn: ledger.Turn{Episodes: 1}}), tx.AddVerdict(id, v, t0, false))
	})
	s.holds("/jobs/41", 200, "Its runner", "image-pull-failure", "heron-1")
	const link = `<a href="/runners/a%20b/heron-1?cluster=east"><bdi>heron-1</bdi></a>`
	if _, body := s.get("/jobs/41"); !strings.Contains(body, link) {
		t.Errorf("no link %s in\n%s", link, body)
	}
}
