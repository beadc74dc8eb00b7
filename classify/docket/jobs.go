package docket

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
)

// A job that waits is known by what does not come, so coroner itself says that it waits:
// that record is filed beside the verdict, which stands on it.

// takenOf is the pool whose runner took a job, by GitHub's word of it; "" where an entry
// tells of none.
func takenOf(e *ingest.Entry) string {
	if e.Source != ingest.GitHub || e.Fields["status"] != "in_progress" {
		return ""
	}
	return ingest.PoolName(e.Fields["labels"])
}

func takenKey(pool string) string { return "taken/" + pool }

// decideJob judges a job that waits for a runner longer than those of its pool usually
// do. One that has waited for less is due when it has not.
func (j *standingJudge) decideJob(
	ctx context.Context, q ledger.Questions, o *episode, entries []ingest.Entry,
) error {
	if len(entries) == 0 {
		return nil
	}
	now, since := j.now(), entries[0].At
	tick := waitsEntry(&o.Case, now, since, j.options.JobWait)
	v := j.opinion(&o.Case, append(entries, tick))
	if !v.Label.Lasting() {
		return nil // it was taken
	}
	usual, err := j.usualWait(ctx, q, o.Cluster, v.Pool)
	if err != nil {
		return err
	}
	if due := since.Add(usual); due.After(now) {
		o.Due = due
		return nil
	}
	tick = waitsEntry(&o.Case, now, since, usual)
	v = j.opinion(&o.Case, append(entries, tick))
	o.own = &tick
	o.takeVerdict(&v)
	return nil
}

// waitsEntry says that a job waits.
func waitsEntry(c *ledger.Case, now, since time.Time, usual time.Duration) ingest.Entry {
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

// usualWait is how long at most jobs of a pool usually wait: 19 of 20 that its runners
// took last waited no longer. It is never less nor more than the options say.
func (j *standingJudge) usualWait(
	ctx context.Context, q ledger.Questions, cluster, pool string,
) (time.Duration, error) {
	taken, err := q.In(cluster).Latest(ctx, takenKey(pool), learnFrom)
	var waits []time.Duration
	for i := range taken {
		queued, bad := time.Parse(time.RFC3339, taken[i].Fields["created_at"])
		if bad == nil && !taken[i].At.Before(queued) {
			waits = append(waits, taken[i].At.Sub(queued))
		}
	}
	if err != nil || len(waits) < fewest {
		return j.options.JobWait, err
	}
	slices.Sort(waits)
	return min(max(waits[len(waits)*95/100], j.options.JobWait), j.options.JobWaitMost), nil
}
