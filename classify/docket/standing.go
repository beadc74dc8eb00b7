package docket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coroner/classify"
	"coroner/classify/jobwait"
	"coroner/classify/ledger"
	"coroner/classify/quota"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// The case of a pool is opened when a line tells that something is wrong with it, that of a
// job with its first line. What was wrong can be over: the verdict is open or resolved then,
// and the next trouble of a pool is a new episode, with a verdict of its own.

const (
	// poolWait is how long after a line that tells of trouble a pool is judged: what is
	// over by then nobody felt.
	poolWait = 45 * time.Second
	// poolWindow is how far back a pool's evidence counts.
	poolWindow = 6 * time.Hour
)

// steadyLine is an entry as one that speaks of pools or jobs.
func steadyLine(e *ingest.Entry, f *classify.Filing) quota.Line {
	l := quota.Line{At: e.At}
	for _, s := range f.Standing {
		if name := e.Cluster + "\x00" + s.Key(); s.Telling {
			l.Trouble = append(l.Trouble, name)
		} else {
			l.Of = append(l.Of, name)
		}
	}
	if f.Steady != "" && len(f.Subjects) == 0 && f.Wide == "" {
		l.Says = fmt.Sprint(e.Cluster, "\x00", f.Standing, f.Steady)
	}
	return l
}

// touchStandings makes the cases of the pools and jobs due that an entry speaks of. Where
// nothing is wrong with one, only what tells of trouble matters.
func (b *batch) touchStandings(e *ingest.Entry, all []classify.Standing) error {
	for _, s := range all {
		c, err := b.standingCase(e.Cluster, s)
		if err != nil {
			return err
		}
		due := b.now.Add(poolWait)
		switch {
		case c.State == ledger.StateJudged:
			due = b.now.Add(b.filer.options.Settle)
		case !s.Telling:
			continue
		case s.Kind == casefile.OfJob:
			due = ingest.LaterOf(due, e.At.Add(b.filer.options.JobWait))
		}
		c.Heard, c.Died = b.now, ingest.LaterOf(c.Died, e.At)
		if c.Due.IsZero() || due.Before(c.Due) {
			c.Due = due
		}
		b.standing[c.ID] = c
	}
	return nil
}

// standingCase is the case of a pool or a job, a new one where there is none.
func (b *batch) standingCase(cluster string, s classify.Standing) (*ledger.Case, error) {
	id := ledger.NewStandingID(s.Kind, cluster, s.Name)
	if c := b.standing[id]; c != nil {
		return c, nil
	}
	c, err := standingCase(b.tx, cluster, s, b.now)
	return &c, err
}

// standingCase is the case of a pool or a job as it is filed, a new one where there is none.
func standingCase(tx *ledger.Tx, cluster string, s classify.Standing, now time.Time) (ledger.Case, error) {
	id := ledger.NewStandingID(s.Kind, cluster, s.Name)
	c, ok, err := tx.FindByID(id)
	if err != nil || ok {
		return c, err
	}
	return ledger.Case{ID: id, Kind: s.Kind, Cluster: cluster, Name: s.Name, Opened: now, State: ledger.StateOpen}, nil
}

func (b *batch) putStandings() error {
	for _, c := range b.standing {
		if err := b.tx.PutCase(*c); err != nil {
			return err
		}
	}
	return nil
}

// standingKeys are the names that an entry is found by as one about pools and jobs.
func standingKeys(e *ingest.Entry, all []classify.Standing) (out []string) {
	for _, s := range all {
		out = append(out, s.Key())
	}
	if taken := jobwait.TakenKey(e); taken != "" {
		out = append(out, taken)
	}
	return out
}

// standingJudge gives pools and jobs their verdicts and records them.
type standingJudge struct{ *store }

// judgeDue judges every pool and every job that is due.
func (j *standingJudge) judgeDue(ctx context.Context) error {
	for {
		cases, more, err := j.ledger.TakeStanding(ctx, j.now())
		for i := range cases {
			c := &cases[i]
			if ctx.Err() != nil {
				return nil
			}
			if bad := j.judgeOne(ctx, c); bad != nil { // it must not hold up the others
				err = errors.Join(err, fmt.Errorf("case %s (%s %s): %w", c.ID, c.Kind, c.Name, bad))
			}
		}
		if err != nil || !more {
			return err
		}
	}
}

func (j *standingJudge) judgeOne(ctx context.Context, c *ledger.Case) error {
	var o episode
	err := j.ledger.View(ctx, func(q ledger.Questions) (err error) {
		o, err = j.decide(ctx, q, c)
		return err
	})
	if err != nil {
		return err
	}
	at := j.now()
	err = j.writeAt(ctx, at, func(tx *ledger.Tx) error { return j.record(tx, &o, at) })
	if err == nil && o.verdict != nil {
		j.metrics.countJudged(o.verdict, at)
		j.log.Info().Str(c.Kind.Word(), c.Name).Str("verdict", string(o.verdict.Label)).
			Str("state", string(o.verdict.State)).Str("rule", o.verdict.Rule).
			Int("revision", o.verdict.Revision).Msg("verdict")
	}
	return err
}

// episode is what becomes of such a case: one time that something was wrong with it.
type episode struct {
	ledger.Case
	last    *rules.Verdict // on its last episode; nil if there was none
	verdict *rules.Verdict // a new one; nil where nothing new is to say
	own     *ingest.Entry  // what coroner itself says of it, which the verdict stands on
	ownKey  string         // that it is filed under
}

// isOpen says whether something is wrong with it as far as is recorded.
func (o *episode) isOpen() bool { return o.last != nil && o.last.State == rules.Open }

// decide judges a case by what is filed of it since the last time that all was well.
func (j *standingJudge) decide(ctx context.Context, q ledger.Questions, c *ledger.Case) (o episode, err error) {
	o.Case, o.Due = *c, time.Time{}
	from := firstMoment(c)
	if c.Episodes > 0 {
		record, had, err := q.LastVerdict(ctx, ledger.LifeID(c.ID, c.Episodes))
		if err != nil {
			return o, err
		}
		if had {
			o.last = &record.Verdict
			from = o.beganAt(from)
		}
	}
	entries, err := j.gather(ctx, q, c, from)
	if err != nil {
		return o, err
	}
	if c.Kind == casefile.OfJob && !o.isOpen() {
		return o, j.decideJob(ctx, q, &o, entries)
	}
	v := j.opinion(c, entries)
	if wait, ok := jobwait.Find(entries, j.Book()); ok && c.Kind == casefile.OfJob {
		o.learn(&wait, v.Pool)
	}
	silent := c.Kind == casefile.OfPool && !j.now().Before(c.Heard.Add(j.options.PoolSilent))
	switch {
	case silent && o.isOpen() && v.State == rules.Open:
		over := resolvedAt(o.last, c.Died)
		over.Summary += " Nobody has spoken of the pool since " + c.Heard.UTC().Format("2006-01-02 15:04:05Z") +
			", so it counts as over."
		o.takeVerdict(over)
	case v.Label.Lasting() && (o.isOpen() || !classify.Passed(&v)):
		o.takeVerdict(&v)
	case o.isOpen() && !v.Label.Lasting():
		o.takeVerdict(resolvedAt(o.last, c.Died))
	}
	return o, nil
}

// firstMoment is from when on evidence of a case counts.
func firstMoment(c *ledger.Case) time.Time {
	if c.Kind == casefile.OfJob {
		return time.Time{}
	}
	return c.Died.Add(-poolWindow)
}

func (j *standingJudge) opinion(c *ledger.Case, entries []ingest.Entry) rules.Verdict {
	return classify.JudgeStanding(slices.Values(entries), j.Book(), c.Kind, c.Cluster, c.Name)
}

// resolvedAt is a verdict that nothing on file speaks for any longer.
func resolvedAt(last *rules.Verdict, at time.Time) *rules.Verdict {
	v := *last
	v.State, v.Until, v.Revises = rules.Resolved, &at, nil
	return &v
}

// beganAt is from when on evidence is of the episode at hand, or could be of the next.
func (o *episode) beganAt(from time.Time) time.Time {
	switch {
	case !o.isOpen() && o.last.Until != nil:
		return ingest.LaterOf(from, o.last.Until.Add(1))
	case o.isOpen() && o.last.Since != nil && o.last.Since.Before(from):
		return *o.last.Since
	}
	return from
}

// takeVerdict makes v the new verdict of the episode at hand, or of a new one, unless
// it says nothing new.
func (o *episode) takeVerdict(v *rules.Verdict) {
	v.Revision = 1
	if o.isOpen() {
		if v.Since == nil || o.last.Since != nil && o.last.Since.Before(*v.Since) {
			v.Since = o.last.Since
		}
		if saysNothingNew(o.last, v) {
			return
		}
		v.Revision = o.last.Revision + 1
		v.Revises = &rules.Revised{Label: o.last.Label, Confidence: o.last.Confidence}
	} else {
		o.Episodes++
	}
	if o.Episodes > 1 {
		v.Attempt = o.Episodes
	}
	o.verdict = v
}

// gather is what is filed of a pool or a job from a time on.
func (j *standingJudge) gather(
	ctx context.Context, q ledger.Questions, c *ledger.Case, from time.Time,
) ([]ingest.Entry, error) {
	return q.In(c.Cluster).Since(ctx, classify.Standing{Kind: c.Kind, Name: c.Name}.Key(), from)
}

// record writes what became of a case. Where more was filed meanwhile it stays due.
func (j *standingJudge) record(tx *ledger.Tx, o *episode, at time.Time) error {
	now, ok, err := tx.FindByID(o.ID)
	if err != nil || !ok {
		return err
	}
	if !now.Claimed.Equal(o.Claimed) { // another server has it by now
		o.verdict = nil
		return nil
	}
	if now.Version == o.Version {
		now.Due = o.Due
	}
	now.Episodes, now.State = o.Episodes, ledger.StateOpen
	stands := o.last
	if o.own != nil {
		if _, err := tx.AddEvidence(o.own, []string{o.ownKey}, false); err != nil {
			return err
		}
	}
	if o.verdict != nil {
		stands = o.verdict
		if err := tx.AddVerdict(ledger.LifeID(o.ID, o.Episodes), o.verdict, at, j.options.Publish); err != nil {
			return err
		}
	}
	if stands != nil && stands.State == rules.Open {
		now.State = ledger.StateJudged
		if o.Kind == casefile.OfPool && now.Due.IsZero() {
			now.Due = now.Heard.Add(j.options.PoolSilent)
		}
	}
	err = tx.PutCase(now)
	if err == nil && !now.Claimed.IsZero() {
		err = tx.SettleCase(now)
	}
	return err
}
