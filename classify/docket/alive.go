package docket

import (
	"slices"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/signal"
)

// A runner that hangs after its job says nothing, and neither does anybody else. That it
// lives is known by a watch that goes on and saw no end: coroner itself says so then, and
// files that record beside the verdict, which stands on it.

// hangLooks are when, after a word that its job is over, a runner's open case is judged. The
// rulebook wants more than 45 seconds of life after a job, or three minutes where the runner was
// asked to stop; up to when it watches the server learns every ten seconds, or once a minute from
// a relay of an earlier version.
var hangLooks = []time.Duration{47 * time.Second, 57 * time.Second, 3*time.Minute + 90*time.Second}

// hangDue is when a case is judged for an entry that came now and says that its job is over.
func hangDue(e *ingest.Entry, now time.Time) time.Time {
	if e.At.IsZero() || e.At.After(now) {
		return now.Add(hangLooks[0])
	}
	return ingest.LaterOf(now, e.At.Add(hangLooks[0]))
}

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
			until = ingest.LaterOf(until, e.Mark.To)
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

// hangTime is when a case that stays open is judged once more; zero where nothing says that its
// runner's job is over, or has long said so.
func hangTime(c *ledger.Case, found []*classify.Scanned, book *rules.Rulebook, now time.Time) time.Time {
	var said time.Time
	for _, s := range found {
		over := func(one signal.Signal) bool { return classify.SaysJobOver(&one, book) }
		if s.Entry.At.After(said) && slices.ContainsFunc(s.Signals, over) {
			said = s.Entry.At
		}
	}
	for _, wait := range hangLooks {
		if at := said.Add(wait); c.State == ledger.StateOpen && at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// podKeys are the names that a record of a case's pod is found by.
func podKeys(c *ledger.Case) []string {
	return classify.Subject{Namespace: c.Namespace, Name: c.Name, UID: c.UID}.Keys()
}
