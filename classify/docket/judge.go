package docket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/classify/scans"
	"coroner/ingest"
	"coroner/rules"
)

// together is how many verdicts are recorded in one write: to sync the file
// costs as much as to judge some cases.
const together = 32

// judge gives cases their verdicts and records them.
type judge struct {
	*store
	scans *scans.Cache
	mu    sync.Mutex // a case is judged by one at a time
}

// judgeDue judges every case that is settled, or whose time is up.
func (j *judge) judgeDue(ctx context.Context) error {
	for {
		cases, more, err := j.ledger.TakePending(ctx, j.now(), j.options.Settle)
		for some := range slices.Chunk(cases, together) {
			if ctx.Err() != nil {
				return nil
			}
			err = errors.Join(err, j.judgeSome(ctx, some))
		}
		if err != nil || !more {
			return err
		}
	}
}

// judgeSome gives cases their verdicts and records them, unless a case has the same
// one already.
func (j *judge) judgeSome(ctx context.Context, cases []ledger.Case) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []outcome
	err = j.ledger.View(ctx, func(q ledger.Questions) (err error) {
		for i := range cases {
			o, ok, bad := j.decideCase(ctx, q, cases[i].ID)
			if bad != nil { // one that cannot be judged must not hold up the others
				c := &cases[i]
				err = errors.Join(err, fmt.Errorf("case %s (%s/%s): %w", c.ID, c.Namespace, c.Name, bad))
			} else if ok {
				all = append(all, o)
			}
		}
		return err
	})
	return errors.Join(err, j.recordOutcomes(ctx, all))
}

// decideCase judges one case as it is now; ok is false when somebody else has.
func (j *judge) decideCase(ctx context.Context, q ledger.Questions, id string) (o outcome, ok bool, err error) {
	c, ok, err := q.Case(ctx, id)
	if err != nil || !ok || c.State == ledger.StateJudged {
		return o, false, err
	}
	now, err := j.judgeLives(ctx, q, &c)
	o.Case, o.again = c, now.again
	for _, v := range now.lives {
		one := death{id: ledger.LifeID(c.ID, v.Attempt)}
		lost := false
		if err == nil {
			one.last, lost, err = verdictBefore(ctx, q, &c, one.id)
		}
		// Of an open case nothing is known to have ended, or what was looked like no death then.
		unended := c.State == ledger.StateOpen && c.Died.IsZero()
		alive := v.Label == rules.None || unended && !v.Label.Lasting() && !v.Waits
		if one.last != nil || !alive {
			one.verdict = newVerdict(one.last, v, lost)
		}
		if one.verdict != nil && one.verdict.Label.Lasting() {
			o.own = now.sign
		}
		o.addDeath(one)
	}
	if err == nil {
		o.jobs, err = j.jobsToTell(ctx, q, &o, now.jobs)
	}
	return o, err == nil, err
}

// judgement is what a case's evidence says at one time.
type judgement struct {
	lives []*rules.Verdict // on every life of its container, the first first; at least one
	sign  *ingest.Entry    // what coroner itself says of it; nil where nothing
	again time.Time        // when it is judged once more if it stays open; zero if nothing is waited for
	jobs  []string         // what the jobs are found by that were given to it
}

// judgeLives gives a case the verdicts that it would be given now.
func (j *judge) judgeLives(ctx context.Context, q ledger.Questions, c *ledger.Case) (found judgement, err error) {
	book := j.Book()
	all, err := gatherCase(ctx, q, c, book, j.scans)
	if err != nil {
		return found, err
	}
	found.again, found.jobs = hangTime(c, all, book, j.now()), classify.RunnersJobs(all, c.Name)
	if found.sign = lifeSign(c, all, j.now()); found.sign != nil {
		all = append(all, scanEntry(found.sign, book))
	}
	options := classify.Options{Runner: nameOf(c), Strict: true}
	found.lives = pickOwn(classify.ReplayScanned(slices.Values(all), book, options), c)
	for _, v := range found.lives {
		v.Cluster = c.Cluster // also where nothing is left of it
		v.Runner, v.Namespace = cmp.Or(v.Runner, c.Name), cmp.Or(v.Namespace, c.Namespace)
		v.PodUID, v.Node = cmp.Or(v.PodUID, c.UID), cmp.Or(v.Node, c.Node)
	}
	return found, nil
}

// recordOutcomes writes what became of cases: verdicts, their places in the outbox and
// the cases' new states in one go. When that fails each is tried by itself.
func (j *judge) recordOutcomes(ctx context.Context, all []outcome) error {
	if len(all) == 0 {
		return nil
	}
	at := j.now()
	err := j.recordAll(ctx, all, at)
	if err != nil && len(all) > 1 && ctx.Err() == nil {
		err = nil
		for i := range all {
			err = errors.Join(err, j.recordOutcomes(ctx, all[i:i+1]))
		}
		return err
	}
	for _, o := range all {
		for _, one := range o.newDeaths() {
			if err == nil && one.verdict != nil {
				j.announce(one.verdict, at)
			}
		}
	}
	return err
}

func (j *judge) recordAll(ctx context.Context, all []outcome, at time.Time) error {
	var clusters []string
	for i := range all {
		clusters = append(clusters, all[i].Cluster)
	}
	return j.writeAt(ctx, at, func(tx *ledger.Tx) error {
		if err := tx.Hold(clusters); err != nil {
			return err
		}
		for i := range all {
			if err := j.updateCase(tx, &all[i], at); err != nil {
				return err
			}
		}
		return nil
	})
}

// announce counts and logs a verdict that is recorded.
func (j *judge) announce(v *rules.Verdict, at time.Time) {
	j.metrics.countJudged(v, at)
	j.log.Info().Str("runner", v.Runner).Str("verdict", string(v.Label)).Str("confidence", string(v.Confidence)).
		Str("rule", v.Rule).Int("revision", v.Revision).Msg("verdict")
}

// publishTime is the time that a verdict is published under: that of the death, as
// long as Loki takes lines of that age. A revision must not hide behind the
// verdict that it revises, so it has its own time.
func (j *judge) publishTime(v *rules.Verdict, now time.Time) time.Time {
	if v.Revision > 1 || v.DiedAt == nil || v.DiedAt.After(now) || now.Sub(*v.DiedAt) > j.options.LokiWindow {
		return now
	}
	return *v.DiedAt
}

// updateCase rewrites a case unless new evidence came in between: then it is due
// again with that evidence, and a verdict stands beside it. What another server judged
// meanwhile stays as that one left it.
func (j *judge) updateCase(tx *ledger.Tx, o *outcome, at time.Time) error {
	now, ok, err := tx.FindByID(o.ID)
	if err != nil || !ok {
		return err
	}
	if !now.Claimed.Equal(o.Claimed) || now.Revision != o.Revision || now.State == ledger.StateJudged {
		o.verdict, o.later, o.own, o.jobs = nil, nil, nil, nil
		return nil
	}
	again := now.Died.After(o.Died) || now.Version != o.Version && now.State == ledger.StateEnding
	due := now.Due
	now.State, now.Due = ledger.StateOpen, o.again
	if !now.Heard.Equal(o.Heard) { // of which it was not judged yet
		now.Due = at.Add(min(j.options.Deadline, hangLooks[0]))
	}
	if o.had {
		now.State = ledger.StateJudged
	}
	for _, one := range o.newDeaths() {
		if one.verdict == nil {
			continue
		}
		if err := j.addVerdict(tx, &one, at); err != nil {
			return err
		}
		now.State = ledger.StateJudged
	}
	if o.verdict != nil {
		now.Revision = o.verdict.Revision
	}
	if err := j.tellJobs(tx, o, at); err != nil {
		return err
	}
	if o.own != nil {
		if _, err := tx.AddEvidence(o.own, podKeys(&now), false); err != nil {
			return err
		}
	}
	if again {
		now.State, now.Due = ledger.StateEnding, due
	}
	return tx.SettleCase(now)
}

// addVerdict records the verdict of a death.
func (j *judge) addVerdict(tx *ledger.Tx, one *death, at time.Time) error {
	v := one.verdict
	v.Revision = 1
	if one.last != nil {
		v.Revision = one.last.Revision + 1
		v.Revises = &rules.Revised{Label: one.last.Label, Confidence: one.last.Confidence}
	}
	return tx.AddVerdict(one.id, v, j.publishTime(v, at), j.options.Publish)
}

// forceCase judges an open case now and closes it.
func (j *judge) forceCase(ctx context.Context, id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var o outcome
	open := false
	err := j.ledger.View(ctx, func(q ledger.Questions) error {
		c, ok, err := q.Case(ctx, id)
		if err != nil || !ok || c.State != ledger.StateOpen {
			return err
		}
		now, err := j.judgeLives(ctx, q, &c)
		if err != nil {
			return err
		}
		o, open = outcome{Case: c}, true
		for _, v := range now.lives {
			o.addDeath(death{id: ledger.LifeID(c.ID, v.Attempt), verdict: v})
		}
		return nil
	})
	if err != nil || !open {
		return err
	}
	j.metrics.forced.Inc()
	return j.recordOutcomes(ctx, []outcome{o})
}
