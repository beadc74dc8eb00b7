// Package jobwait knows how long jobs of a pool usually wait for a runner, and says that one
// still waits: that is known by what does not come, so coroner itself says it. Who tells of
// waiting jobs is GitHub, or the listener of their pool.
//
// Invariant: what is usual is never less nor more than the limits say, and is learned from
// records alone.
//
// Crash behaviour: it keeps no state.
package jobwait

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// Limits are how long a job waits at least before it waits for too long, and at most.
type Limits struct{ Least, Most time.Duration }

// TakenKey is the name that an entry is found by as one of a job of a pool that a runner took,
// by GitHub's word of it; "" where it tells of none.
func TakenKey(e *ingest.Entry) string {
	if e.Source != ingest.GitHub || e.Fields["status"] != "in_progress" {
		return ""
	}
	return takenKey(ingest.PoolName(e.Fields["labels"]))
}

func takenKey(pool string) string {
	if pool == "" {
		return ""
	}
	return "taken/" + pool
}

// Wait is a job that waits, by what is filed of it.
type Wait struct {
	Since    time.Time
	assigned bool      // GitHub gave it to its pool, as the pool's listener says; else GitHub says that it is queued
	given    time.Time // when it was given to a runner, by the listener; zero: it was not
}

// Find is the wait of a job, by what is filed of it, the first first; ok is false where nobody
// said that it waits.
func Find(entries []ingest.Entry, book *rules.Rulebook) (w Wait, ok bool) {
	for i := range entries {
		e := &entries[i]
		if e.Source == ingest.GitHub && !ok {
			w, ok = Wait{Since: e.At}, true
		}
		if e.Source != ingest.Listener && e.Source != ingest.Controller {
			continue
		}
		for _, s := range book.Scan(e) {
			switch s.Def.Name {
			case "listener.job-assigned":
				if !ok {
					w, ok = Wait{Since: e.At, assigned: true}, true
				}
			case "listener.job-started", "listener.job-info":
				if w.given.IsZero() {
					w.given = e.At
				}
			}
		}
	}
	return w, ok
}

// Learned is a record that a runner took the job, for what is usual in its pool; ok is false
// where GitHub itself says so, or nobody does.
func (w *Wait) Learned(c *ledger.Case, pool string) (e ingest.Entry, key string, ok bool) {
	if pool == "" || !w.assigned || w.given.IsZero() || w.given.Before(w.Since) {
		return e, "", false
	}
	e = own(c.Cluster, w.given, "assigned job was taken", "job_id", c.Name,
		"created_at", w.Since.UTC().Format(time.RFC3339), "waited", wholeSeconds(w.given.Sub(w.Since)), "pool", pool)
	return e, takenKey(pool), true
}

// Lasts says that the job of a case waits still, for longer than is usual.
func (w *Wait) Lasts(c *ledger.Case, now time.Time, usual time.Duration) ingest.Entry {
	msg := "github job is still queued"
	if w.assigned {
		msg = "assigned job waits still"
	}
	return own(c.Cluster, now, msg, "job_id", c.Name, "waited", wholeSeconds(now.Sub(w.Since)),
		"usual", wholeSeconds(usual))
}

// own is a record that coroner itself makes.
func own(cluster string, at time.Time, msg string, pairs ...string) ingest.Entry {
	e := ingest.Entry{At: at.UTC(), Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested,
		Cluster: cluster, Doc: "coroner", Text: msg, Fields: map[string]string{"msg": msg}}
	for i := 0; i < len(pairs); i += 2 {
		e.Fields[pairs[i]] = pairs[i+1]
		e.Text += " " + pairs[i] + "=" + pairs[i+1]
	}
	return e
}

func wholeSeconds(d time.Duration) string { return fmt.Sprint(int(d.Seconds())) }

const (
	learnFrom = 200 // jobs of a pool that were taken last
	fewest    = 20  // of them; fewer teach nothing
)

// Usual is how long at most jobs of a pool usually wait: 19 of 20 that its runners took last
// waited no longer.
func (l Limits) Usual(ctx context.Context, q ledger.Questions, pool string) (time.Duration, error) {
	taken, err := q.Latest(ctx, takenKey(pool), learnFrom)
	var waits []time.Duration
	for i := range taken {
		queued, bad := time.Parse(time.RFC3339, taken[i].Fields["created_at"])
		if bad == nil && !taken[i].At.Before(queued) {
			waits = append(waits, taken[i].At.Sub(queued))
		}
	}
	if err != nil || len(waits) < fewest {
		return l.Least, err
	}
	slices.Sort(waits)
	return min(max(waits[len(waits)*95/100], l.Least), l.Most), nil
}
