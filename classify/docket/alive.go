package docket

import (
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
)

// A runner that hangs after its job says nothing, and neither does anybody else. That it
// lives is known by a watch that goes on and saw no end: coroner itself says so then, and
// files that record beside the verdict, which stands on it.

// hangWait is how long after the last word of a runner's job its open case is judged
// once more: its job may be over, and then it must end. The rulebook wants three minutes of
// life after a job, and up to when it watches the server learns once a minute.
const hangWait = 3*time.Minute + 90*time.Second

// stillWatched is how old the last word of a watch may be.
const stillWatched = 2 * time.Minute

// lifeSign says that a pod lived at the last moment up to which its namespace was watched;
// nil where something of it ended, or where no watch that goes on has seen it.
func lifeSign(c *ledger.Case, found []*classify.Scanned, now time.Time) *ingest.Entry {
	if c.State != ledger.StateOpen || !c.Died.IsZero() || c.UID == "" {
		return nil
	}
	var until time.Time
	seen := false
	for _, s := range found {
		e := &s.Entry
		switch {
		case e.Source != ingest.Kube || e.Namespace != c.Namespace:
		case e.Mark == nil:
			seen = seen || e.PodUID == c.UID && e.Trust == ingest.Attested
		case e.Mark.Kind == ingest.Covered:
			until = latestOf(until, e.Mark.To)
		}
	}
	if !seen || now.Sub(until) > stillWatched {
		return nil
	}
	return &ingest.Entry{
		At: until.UTC(), Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested, Cluster: c.Cluster,
		Namespace: c.Namespace, Pod: c.Name, PodUID: c.UID, Doc: "coroner", Text: "coroner saw no end of the pod yet",
	}
}

// hangTime is when a case that stays open is judged once more; zero where neither the listener
// nor GitHub said anything of its runner, or long ago.
func hangTime(c *ledger.Case, found []*classify.Scanned, now time.Time) time.Time {
	var said time.Time
	for _, s := range found {
		if (s.Entry.Source == ingest.Listener || s.Entry.Source == ingest.GitHub) && s.Entry.Mark == nil {
			said = latestOf(said, s.Entry.At)
		}
	}
	if at := said.Add(hangWait); c.State == ledger.StateOpen && !said.IsZero() && at.After(now) {
		return at
	}
	return time.Time{}
}

// podKeys are the names that a record of a case's pod is found by.
func podKeys(c *ledger.Case) []string {
	return classify.Subject{Namespace: c.Namespace, Name: c.Name, UID: c.UID}.Keys()
}
