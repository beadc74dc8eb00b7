// Package jobwait knows how long jobs of a pool usually wait for a runner, and says that one
// still waits: that is known by what does not come, so coroner itself says it.
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

// Since is when somebody said first that a job waits, by what is filed of it; ok is false where
// nobody did.
func Since(entries []ingest.Entry) (at time.Time, ok bool) {
	for i := range entries {
		if e := &entries[i]; e.Source == ingest.GitHub {
			return e.At, true
		}
	}
	return at, false
}

// StillWaits says that a job waits since a time, for longer than is usual.
func StillWaits(c *ledger.Case, now, since time.Time, usual time.Duration) ingest.Entry {
	fields := map[string]string{"msg": "github job is still queued", "job_id": c.Name,
		"waited": wholeSeconds(now.Sub(since)), "usual": wholeSeconds(usual)}
	return ingest.Entry{
		At: now.UTC(), Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested, Cluster: c.Cluster,
		Doc: "coroner", Fields: fields,
		Text: fmt.Sprintf("github job is still queued job_id=%s waited=%s usual=%s", c.Name, fields["waited"],
			fields["usual"]),
	}
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
