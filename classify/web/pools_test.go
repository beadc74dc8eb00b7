package web

import (
	"errors"
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
