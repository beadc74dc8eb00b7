package docket

import (
	"context"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules/casefile"
)

// What becomes of a runner is of use to the job that was given to it: a record of its verdict is
// filed with the job, which then is judged anew.

// mostTold is how many jobs of one run and name are told of a runner: its attempts.
const mostTold = 20

// jobsToTell are the numbers of the jobs that a runner was given, by what they are found by; none
// where its new verdicts are of no use to them.
func (j *judge) jobsToTell(ctx context.Context, q ledger.Questions, o *outcome, ties []string) (out []string, _ error) {
	if len(o.toTell()) == 0 {
		return nil, nil
	}
	for _, tie := range ties {
		if id := classify.JobOfTie(tie); id != "" {
			out = append(out, id)
			continue
		}
		filed, err := q.In(o.Cluster).Latest(ctx, tie, mostTold)
		if err != nil {
			return nil, err
		}
		out = append(out, classify.JobIDs(filed, j.Book())...)
	}
	return out, nil
}

// toTell are the runner's deaths whose new verdicts are of use to its jobs.
func (o *outcome) toTell() (out []death) {
	for _, one := range o.newDeaths() {
		if one.verdict != nil && (one.last != nil || classify.TellsJob(one.verdict)) {
			out = append(out, one)
		}
	}
	return out
}

// tellJobs files a runner's new verdicts with its jobs, which are due then.
func (j *judge) tellJobs(tx *ledger.Tx, o *outcome, at time.Time) error {
	for _, id := range o.jobs {
		s := classify.Standing{Kind: casefile.OfJob, Name: id}
		died := at
		for _, one := range o.toTell() {
			e := classify.RunnerJudged(one.verdict, id, at)
			died = e.At
			if _, err := tx.AddEvidence(&e, []string{s.Key()}, false); err != nil {
				return err
			}
		}
		c, err := standingCase(tx, o.Cluster, s, at)
		if err != nil {
			return err
		}
		c.Heard, c.Died = at, ingest.LaterOf(c.Died, died)
		if due := at.Add(j.options.Settle); c.Due.IsZero() || due.Before(c.Due) {
			c.Due = due
		}
		if err := tx.PutCase(c); err != nil {
			return err
		}
	}
	return nil
}
