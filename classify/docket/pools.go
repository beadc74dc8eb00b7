package docket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A pool's case is opened when a line tells that something is wrong with it. What was
// wrong can be over: its verdict is open or resolved then, and the next trouble of the
// pool is a new episode, with a verdict of its own.

const (
	// poolWait is how long after a line that tells of trouble a pool is judged: what is
	// over by then nobody felt.
	poolWait = 45 * time.Second
	// poolWindow is how far back a pool's evidence counts.
	poolWindow = 6 * time.Hour
)

// steadyPools remembers what was said last of each pool: listeners say the same all day.
// It is only a bound, so it may forget.
type steadyPools struct{ said *lru.Cache[string, time.Time] }

// sayAgain is how often what a pool's lines say the same of is filed.
const sayAgain = time.Minute

func newSteadyPools() steadyPools {
	said, _ := lru.New[string, time.Time](10_000) // an error only for a size below 1
	return steadyPools{said}
}

// isRepeat says whether an entry is about a pool only and says what another one said
// within the last minute.
func (p steadyPools) isRepeat(e *ingest.Entry, f *classify.Filing) bool {
	if f.Pool.Steady == "" || len(f.Subjects) > 0 || f.Wide || e.At.IsZero() {
		return false
	}
	key := fmt.Sprint(e.Cluster, "\x00", f.Pool.Names, f.Pool.Steady)
	if last, ok := p.said.Get(key); ok && e.At.Sub(last).Abs() < sayAgain {
		return true
	}
	p.said.Add(key, e.At)
	return false
}

// touchPools makes the cases of the pools due that an entry speaks of. Where nothing is
// wrong with a pool, only what tells of trouble matters.
func (b *batch) touchPools(e *ingest.Entry, f *classify.PoolFiling) error {
	for _, name := range f.Names {
		c, err := b.poolCase(e.Cluster, name)
		if err != nil {
			return err
		}
		due := b.now.Add(poolWait)
		switch {
		case c.State == ledger.StateJudged:
			due = b.now.Add(b.filer.options.Settle)
		case !f.Telling:
			continue
		}
		c.Heard, c.Died = b.now, latestOf(c.Died, e.At)
		if c.Due.IsZero() || due.Before(c.Due) {
			c.Due = due
		}
		b.pools[c.ID] = c
	}
	return nil
}

// poolCase is the case of a pool, a new one where there is none.
func (b *batch) poolCase(cluster, name string) (*ledger.Case, error) {
	id := ledger.NewStandingID(casefile.OfPool, cluster, name)
	if c := b.pools[id]; c != nil {
		return c, nil
	}
	c, ok, err := b.tx.FindByID(id)
	if err != nil || ok {
		return &c, err
	}
	return &ledger.Case{ID: id, Kind: casefile.OfPool, Cluster: cluster, Name: name, Opened: b.now,
		State: ledger.StateOpen}, nil
}

func (b *batch) putPools() error {
	for _, c := range b.pools {
		if err := b.tx.PutCase(*c); err != nil {
			return err
		}
	}
	return nil
}

// poolJudge gives pools their verdicts and records them.
type poolJudge struct{ *store }

// judgeDue judges every pool that is due.
func (j *poolJudge) judgeDue(ctx context.Context) error {
	cases, err := j.ledger.Standing(ctx, j.now())
	for i := range cases {
		if ctx.Err() != nil {
			return nil
		}
		if bad := j.judgeOne(ctx, &cases[i]); bad != nil { // it must not hold up the others
			err = errors.Join(err, fmt.Errorf("case %s (pool %s): %w", cases[i].ID, cases[i].Name, bad))
		}
	}
	return err
}

func (j *poolJudge) judgeOne(ctx context.Context, c *ledger.Case) error {
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
		j.log.Info().Str("pool", o.verdict.Pool).Str("verdict", string(o.verdict.Label)).
			Str("state", string(o.verdict.State)).Str("rule", o.verdict.Rule).
			Int("revision", o.verdict.Revision).Msg("verdict")
	}
	return err
}

// episode is what becomes of a pool's case: one time that something was wrong with it.
type episode struct {
	ledger.Case
	last    *rules.Verdict // on its last episode; nil if there was none
	verdict *rules.Verdict // a new one; nil where nothing new is to say
}

// isOpen says whether something is wrong with the pool as far as is recorded.
func (o *episode) isOpen() bool { return o.last != nil && o.last.State == rules.Open }

// decide judges a pool by what is filed of it since the last time that all was well.
func (j *poolJudge) decide(ctx context.Context, q ledger.Questions, c *ledger.Case) (o episode, err error) {
	o.Case = *c
	from := c.Died.Add(-poolWindow)
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
	v := classify.JudgePool(slices.Values(entries), j.Book(), c.Cluster, c.Name)
	switch {
	case v.Label.Lasting() && (o.isOpen() || !classify.Passed(&v)):
		o.takeVerdict(&v)
	case o.isOpen() && !v.Label.Lasting():
		o.takeVerdict(resolvedAt(o.last, c.Died))
	}
	return o, nil
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
		return latestOf(from, o.last.Until.Add(1))
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

// gather is what is filed of a pool from a time on.
func (j *poolJudge) gather(
	ctx context.Context, q ledger.Questions, c *ledger.Case, from time.Time,
) ([]ingest.Entry, error) {
	return q.In(c.Cluster).Since(ctx, classify.KeyPool+c.Name, from)
}

// record writes what became of a case. Where more was filed meanwhile it stays due.
func (j *poolJudge) record(tx *ledger.Tx, o *episode, at time.Time) error {
	now, ok, err := tx.FindByID(o.ID)
	if err != nil || !ok {
		return err
	}
	if !now.Heard.After(o.Heard) {
		now.Due = time.Time{}
	}
	now.Episodes, now.State = o.Episodes, ledger.StateOpen
	stands := o.last
	if o.verdict != nil {
		stands = o.verdict
		if err := tx.AddVerdict(ledger.LifeID(o.ID, o.Episodes), o.verdict, at, j.options.Publish); err != nil {
			return err
		}
	}
	if stands != nil && stands.State == rules.Open {
		now.State = ledger.StateJudged
	}
	return tx.PutCase(now)
}
