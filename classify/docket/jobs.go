package docket

import (
	"context"

	"coroner/classify"
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
	wait, waits := jobwait.Find(entries, j.Book())
	if !waits {
		return nil
	}
	now := j.now()
	limits := jobwait.Limits{Least: j.options.JobWait, Most: j.options.JobWaitMost}
	tick := wait.Lasts(&o.Case, now, limits.Least)
	if v = j.opinion(&o.Case, append(entries, tick)); !v.Label.Lasting() { // it was taken
		o.learn(&wait, v.Pool)
		return nil
	}
	usual, err := limits.Usual(ctx, q.In(o.Cluster), v.Pool)
	if err != nil {
		return err
	}
	if due := wait.Since.Add(usual); due.After(now) {
		o.Due = due
		return nil
	}
	tick = wait.Lasts(&o.Case, now, usual)
	v = j.opinion(&o.Case, append(entries, tick))
	o.own, o.ownKey = &tick, classify.Standing{Kind: o.Kind, Name: o.Name}.Key()
	o.takeVerdict(&v)
	return nil
}

// learn notes how long a job waited that a runner of its pool took.
func (o *episode) learn(w *jobwait.Wait, pool string) {
	if taken, key, ok := w.Learned(&o.Case, pool); ok {
		o.own, o.ownKey = &taken, key
	}
}
