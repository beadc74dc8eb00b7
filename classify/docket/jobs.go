package docket

import (
	"context"

	"coroner/classify/jobwait"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// decideJob judges a job that waits for a runner longer than those of its pool usually
// do. One that has waited for less is due when it has not.
func (j *standingJudge) decideJob(
	ctx context.Context, q ledger.Questions, o *episode, entries []ingest.Entry,
) error {
	if len(entries) == 0 {
		return nil
	}
	v := j.opinion(&o.Case, entries)
	if v.Label.Lasting() { // its runner never came
		if v.State == rules.Open {
			o.takeVerdict(&v)
		}
		return nil
	}
	since, waits := jobwait.Since(entries)
	if !waits {
		return nil
	}
	now := j.now()
	limits := jobwait.Limits{Least: j.options.JobWait, Most: j.options.JobWaitMost}
	tick := jobwait.StillWaits(&o.Case, now, since, limits.Least)
	if v = j.opinion(&o.Case, append(entries, tick)); !v.Label.Lasting() {
		return nil // it was taken
	}
	usual, err := limits.Usual(ctx, q.In(o.Cluster), v.Pool)
	if err != nil {
		return err
	}
	if due := since.Add(usual); due.After(now) {
		o.Due = due
		return nil
	}
	tick = jobwait.StillWaits(&o.Case, now, since, usual)
	v = j.opinion(&o.Case, append(entries, tick))
	o.own = &tick
	o.takeVerdict(&v)
	return nil
}
