package docket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// Due judges every case that is settled, or whose time is up.
func (d *Docket) Due(ctx context.Context) error {
	cases, err := d.ledger.Pending(ctx, d.now(), d.options.Settle)
	for some := range slices.Chunk(cases, together) {
		if ctx.Err() != nil {
			return nil
		}
		err = errors.Join(err, d.judge(ctx, some))
	}
	return errors.Join(err, d.vanished(ctx))
}

// together is how many verdicts are recorded in one write: to sync the file
// costs as much as to judge some cases.
const together = 32

// judge gives cases their verdicts and records them, unless a case has the same
// one already.
func (d *Docket) judge(ctx context.Context, cases []ledger.Case) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []outcome
	err = d.ledger.View(ctx, func(q ledger.Questions) (err error) {
		for i := range cases {
			o, ok, bad := d.decide(ctx, q, cases[i].ID)
			if bad != nil { // one that cannot be judged must not hold up the others
				err = errors.Join(err, fmt.Errorf("case %s (%s/%s): %w", cases[i].ID, cases[i].Namespace, cases[i].Name, bad))
			} else if ok {
				all = append(all, o)
			}
		}
		return err
	})
	return errors.Join(err, d.settle(ctx, all))
}

// outcome is what becomes of one case.
type outcome struct {
	ledger.Case
	death
	later []death // new ones of further lives of its container, which was started again
	had   bool    // one of its deaths has a verdict already
}

// death is one death of a pod's container.
type death struct {
	id      string         // that its verdict is kept under
	last    *rules.Verdict // the one that it has; nil if there is none
	verdict *rules.Verdict // a new one; nil if there is none
}

// decide judges one case as it is now; ok is false when somebody else has.
func (d *Docket) decide(ctx context.Context, q ledger.Questions, id string) (o outcome, ok bool, err error) {
	c, ok, err := q.Case(ctx, id)
	if err != nil || !ok || c.State == ledger.StateJudged {
		return o, false, err
	}
	lives, err := d.lives(ctx, q, &c)
	o.Case = c
	for _, v := range lives {
		one := death{id: ledger.LifeID(c.ID, v.Attempt)}
		stands := false
		if err == nil {
			one.last, stands, err = before(ctx, q, &c, one.id, v)
		}
		alive := v.Label == rules.None || c.State == ledger.StateOpen && !v.Label.BeforeStart()
		if !stands && (one.last != nil || !alive) {
			one.verdict = v
		}
		o.add(one)
	}
	return o, err == nil, err
}

// add takes in one of the case's deaths.
func (o *outcome) add(one death) {
	o.had = o.had || one.last != nil
	if one.id == o.ID {
		o.death = one
	} else if one.verdict != nil {
		o.later = append(o.later, one)
	}
}

// deaths are the deaths that a verdict can be new of, the first first.
func (o *outcome) deaths() []death { return append([]death{o.death}, o.later...) }

// before is the verdict that a death of the case has, nil if it has none, and
// whether that one stands beside v.
func before(ctx context.Context, q ledger.Questions, c *ledger.Case, id string, v *rules.Verdict) (*rules.Verdict, bool, error) {
	if c.Revision == 0 && id == c.ID {
		return nil, false, nil
	}
	last, had, err := q.LastVerdict(ctx, id)
	if err != nil || !had {
		return nil, false, err
	}
	lost, err := incomplete(ctx, q, c)
	return &last.Verdict, lost || same(&last.Verdict, v), err
}

// Opinion is what a case would be judged now, without recording it: of several
// lives of its container, the last.
func (d *Docket) Opinion(ctx context.Context, c ledger.Case) (*rules.Verdict, error) {
	all, err := d.lives(ctx, d.ledger.Questions, &c)
	if err != nil {
		return nil, err
	}
	return all[len(all)-1], nil
}

// lives are the verdicts on every life of the case's container as they would be
// given now, the first first; at least one.
func (d *Docket) lives(ctx context.Context, q ledger.Questions, c *ledger.Case) ([]*rules.Verdict, error) {
	book := d.Book()
	found, err := d.gather(ctx, q, c, book)
	if err != nil {
		return nil, err
	}
	own := pick(classify.ReplayScanned(slices.Values(found), book, classify.Options{Runner: nameOf(c), Strict: true}), c)
	for _, v := range own {
		v.Cluster = c.Cluster // also where nothing is left of it
		v.Runner, v.Namespace = cmp.Or(v.Runner, c.Name), cmp.Or(v.Namespace, c.Namespace)
		v.PodUID, v.Node = cmp.Or(v.PodUID, c.UID), cmp.Or(v.Node, c.Node)
	}
	return own, nil
}

func nameOf(c *ledger.Case) string {
	switch {
	case c.UID != "":
		return c.UID
	case c.Namespace != "":
		return c.Namespace + "/" + c.Name
	}
	return c.Name
}

// pick takes the verdicts of the case's own pod, for a name can be the start of
// another's: one for each life.
func pick(all []rules.Verdict, c *ledger.Case) (own []*rules.Verdict) {
	for i := range all {
		v := &all[i]
		life := func(other *rules.Verdict) bool { return max(other.Attempt, 1) == max(v.Attempt, 1) }
		if v.Runner == c.Name && (c.UID == "" || v.PodUID == c.UID) && !slices.ContainsFunc(own, life) {
			own = append(own, v)
		}
	}
	if own == nil {
		return []*rules.Verdict{&all[0]}
	}
	slices.SortFunc(own, func(a, b *rules.Verdict) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return own
}

// same says whether a new verdict of one death says nothing new: more evidence for
// the same finding is no revision.
func same(a, b *rules.Verdict) bool {
	return a.Label == b.Label && a.Confidence == b.Confidence && a.Rule == b.Rule && a.Initiator == b.Initiator &&
		a.Resource == b.Resource && a.Exit.Reason == b.Exit.Reason && sameCode(a.Exit.Code, b.Exit.Code)
}

func sameCode(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// incomplete says whether evidence of the case may have been swept: then a new
// judgement knows less than the one before, and that one stands.
func incomplete(ctx context.Context, q ledger.Questions, c *ledger.Case) (bool, error) {
	swept, err := q.SweptTo(ctx)
	return c.Opened.Before(swept), err
}

// settle writes what became of cases: verdicts, their places in the outbox and
// the cases' new states in one go. When that fails each is tried by itself.
func (d *Docket) settle(ctx context.Context, all []outcome) error {
	if len(all) == 0 {
		return nil
	}
	at := d.now()
	err := d.put(ctx, all, at)
	if err != nil && len(all) > 1 && ctx.Err() == nil {
		err = nil
		for i := range all {
			err = errors.Join(err, d.settle(ctx, all[i:i+1]))
		}
		return err
	}
	for _, o := range all {
		for _, one := range o.deaths() {
			if err == nil && one.verdict != nil {
				d.told(one.verdict, at)
			}
		}
	}
	return err
}

func (d *Docket) put(ctx context.Context, all []outcome, at time.Time) error {
	d.filing.Lock()
	defer d.filing.Unlock()
	return d.ledger.Write(ctx, at, func(tx *ledger.Tx) error {
		for i := range all {
			if err := d.update(tx, &all[i], at); err != nil {
				return err
			}
		}
		return nil
	})
}

// told notes a verdict that is recorded.
func (d *Docket) told(v *rules.Verdict, at time.Time) {
	d.metrics.judged(v, at)
	d.log.Info().Str("runner", v.Runner).Str("verdict", string(v.Label)).Str("confidence", string(v.Confidence)).
		Str("rule", v.Rule).Int("revision", v.Revision).Msg("verdict")
}

// stamp is the time that a verdict is published under: that of the death, as
// long as Loki takes lines of that age. A revision must not hide behind the
// verdict that it revises, so it has its own time.
func (d *Docket) stamp(v *rules.Verdict, now time.Time) time.Time {
	if v.Revision > 1 || v.DiedAt == nil || v.DiedAt.After(now) || now.Sub(*v.DiedAt) > d.options.LokiWindow {
		return now
	}
	return *v.DiedAt
}

// update rewrites a case unless new evidence came in between: then it is due
// again with that evidence, and a verdict stands beside it.
func (d *Docket) update(tx *ledger.Tx, o *outcome, at time.Time) error {
	now, ok, err := tx.FindByID(o.ID)
	if err != nil || !ok {
		return err
	}
	again := now.Died.After(o.Died) || now.Heard.After(o.Heard) && now.State == ledger.StateEnding
	due := now.Due
	now.State, now.Due = ledger.StateOpen, time.Time{}
	if o.had {
		now.State = ledger.StateJudged
	}
	for _, one := range o.deaths() {
		if one.verdict == nil {
			continue
		}
		if err := d.add(tx, &one, at); err != nil {
			return err
		}
		now.State = ledger.StateJudged
	}
	if o.verdict != nil {
		now.Revision = o.verdict.Revision
	}
	if again {
		now.State, now.Due = ledger.StateEnding, due
	}
	return tx.SettleCase(now)
}

// add records the verdict of a death.
func (d *Docket) add(tx *ledger.Tx, one *death, at time.Time) error {
	v := one.verdict
	v.Revision = 1
	if one.last != nil {
		v.Revision, v.Revises = one.last.Revision+1, &rules.Revised{Label: one.last.Label, Confidence: one.last.Confidence}
	}
	return tx.AddVerdict(one.id, v, d.stamp(v, at), d.options.Publish)
}

// vanished looks for nodes whose agents went silent. That is evidence of its
// own: every runner there may have died unseen.
func (d *Docket) vanished(ctx context.Context) error {
	now := d.now()
	if now.Sub(d.started) < d.options.Silent { // who was not heard of while nobody listened
		return nil
	}
	quiet, err := d.ledger.Quiet(ctx, now.Add(-d.options.Silent))
	for _, n := range quiet {
		d.log.Warn().Str("cluster", n.Cluster).Str("node", n.Name).Time("heard", n.Heard).
			Msg("the agent of a node is silent; its runners are judged as they stand")
		err = errors.Join(err, d.silence(ctx, n, now))
	}
	return err
}

func (d *Docket) silence(ctx context.Context, n ledger.Node, now time.Time) error {
	d.filing.Lock()
	defer d.filing.Unlock()
	return d.ledger.Write(ctx, now, func(tx *ledger.Tx) error {
		b := newBatch(d, tx)
		e := ownEntry(n, n.Heard, `coroner agent of node "`+n.Name+`" is silent`)
		if err := errors.Join(b.fileOwn(e), b.end()); err != nil {
			return err
		}
		n.Silent = true
		return tx.PutNode(n)
	})
}

// back notes a push of a node, and that it is heard of again if it was silent.
func (b *batch) back(n ledger.Node) error {
	was, err := b.tx.Node(n.Cluster, n.Name)
	if err != nil {
		return err
	}
	if was.Silent {
		e := ownEntry(n, b.now, `coroner agent of node "`+n.Name+`" is heard of again`)
		if err := b.fileOwn(e); err != nil {
			return err
		}
		if err := b.again(n, was.Heard); err != nil {
			return err
		}
	}
	return b.tx.PutNode(n)
}

// again has every runner of a node judged anew that was heard of since.
func (b *batch) again(n ledger.Node, since time.Time) error {
	if err := b.hand.flush(); err != nil { // what is asked for next must be in the ledger
		return err
	}
	all, err := b.tx.JudgedOn(n.Cluster, n.Name, since)
	for i := range all {
		b.d.ending(&b.hand.take(all[i]).Case, b.now, b.now)
	}
	return err
}

// fileOwn files a record that coroner itself makes.
func (b *batch) fileOwn(e ingest.Entry) error {
	x := b.d.look(&e, b.book)
	return b.file(&x)
}

// ownEntry is a record that coroner itself makes.
func ownEntry(n ledger.Node, at time.Time, text string) ingest.Entry {
	return ingest.Entry{At: at.UTC(), Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested,
		Cluster: n.Cluster, Node: n.Name, Text: text, Doc: "coroner"}
}
