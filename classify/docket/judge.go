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
)

// Due judges every case that is settled, or whose time is up.
func (d *Docket) Due(ctx context.Context) error {
	now := d.now()
	cases, err := d.ledger.Pending(ctx, now)
	if err != nil || len(cases) == 0 {
		return errors.Join(err, d.vanished(ctx))
	}
	w, err := d.watermarks(ctx)
	if err != nil {
		return err
	}
	for i := range cases {
		if ctx.Err() != nil {
			return nil
		}
		if !w.settled(&cases[i], now, d.options.Settle) {
			continue
		}
		if bad := d.judge(ctx, cases[i].ID); bad != nil { // one that cannot be judged must not hold up the others
			err = errors.Join(err, fmt.Errorf("case %s (%s/%s): %w", cases[i].ID, cases[i].Namespace, cases[i].Name, bad))
		}
	}
	return errors.Join(err, d.vanished(ctx))
}

// watermarks say how far the nodes were read.
type watermarks struct {
	nodes       map[string]ledger.Node
	controllers []ledger.Node // those whose agents read a controller's log
}

func (d *Docket) watermarks(ctx context.Context) (watermarks, error) {
	w := watermarks{nodes: map[string]ledger.Node{}}
	all, err := d.ledger.Nodes(ctx)
	for _, n := range all {
		w.nodes[n.Name] = n
		if n.Controller && !n.Silent {
			w.controllers = append(w.controllers, n)
		}
	}
	return w, err
}

// settled says whether the evidence of a case is complete: its node and every
// controller's log were read a little past its end. A case whose node is not
// followed by an agent waits for its deadline.
func (w watermarks) settled(c *ledger.Case, now time.Time, settle time.Duration) bool {
	if !now.Before(c.Due) {
		return true
	}
	need := c.Died.Add(settle)
	node, followed := w.nodes[c.Node]
	if c.Node == "" || !followed || node.Silent || node.Reached.Before(need) {
		return false
	}
	return !slices.ContainsFunc(w.controllers, func(n ledger.Node) bool { return n.Reached.Before(need) })
}

// judge gives one case its verdict and records it, unless it is the one that
// it has.
func (d *Docket) judge(ctx context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok, err := d.ledger.Case(ctx, id)
	if err != nil || !ok || c.State == ledger.StateJudged {
		return err
	}
	v, err := d.opinion(ctx, &c)
	if err != nil {
		return err
	}
	last, had, err := d.ledger.LastVerdict(ctx, c.ID)
	if err != nil {
		return err
	}
	lost := false
	if had {
		lost, err = d.incomplete(ctx, &c)
	}
	alive := v.Label == rules.None || c.State == ledger.StateOpen && !v.Label.BeforeStart()
	if err != nil || lost || (had && same(&last.Verdict, v)) || (!had && alive) {
		return errors.Join(err, d.keep(ctx, c, had))
	}
	return d.record(ctx, c, v)
}

// Opinion is what a case would be judged now, without recording it.
func (d *Docket) Opinion(ctx context.Context, c ledger.Case) (*rules.Verdict, error) {
	return d.opinion(ctx, &c)
}

func (d *Docket) opinion(ctx context.Context, c *ledger.Case) (*rules.Verdict, error) {
	entries, err := d.gather(ctx, c)
	if err != nil {
		return nil, err
	}
	book := d.Book()
	v := pick(classify.Replay(slices.Values(entries), book, classify.Options{Runner: nameOf(c), Strict: true}), c)
	fill := func(into *string, from string) {
		if *into == "" {
			*into = from
		}
	}
	fill(&v.Runner, c.Name)
	fill(&v.Namespace, c.Namespace)
	fill(&v.PodUID, c.UID)
	fill(&v.Node, c.Node)
	return v, nil
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

// pick takes the verdict of the case's own pod: a name can be the start of another's.
func pick(all []rules.Verdict, c *ledger.Case) *rules.Verdict {
	for i := range all {
		if all[i].Runner == c.Name && (c.UID == "" || all[i].PodUID == c.UID) {
			return &all[i]
		}
	}
	return &all[0]
}

// same says whether a new verdict says nothing new: more evidence for the same
// finding is no revision.
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
func (d *Docket) incomplete(ctx context.Context, c *ledger.Case) (bool, error) {
	swept, err := d.ledger.SweptTo(ctx)
	return c.Opened.Before(swept), err
}

// keep puts a case back without a new verdict.
func (d *Docket) keep(ctx context.Context, c ledger.Case, judged bool) error {
	return d.update(ctx, c, func(tx *ledger.Tx, now *ledger.Case) error {
		now.State, now.Due = ledger.StateOpen, time.Time{}
		if judged {
			now.State = ledger.StateJudged
		}
		return nil
	})
}

// record writes the verdict, its place in the outbox and the case's new state
// in one go.
func (d *Docket) record(ctx context.Context, c ledger.Case, v *rules.Verdict) error {
	at := d.now()
	v.Revision = c.Revision + 1
	err := d.update(ctx, c, func(tx *ledger.Tx, now *ledger.Case) error {
		now.State, now.Due, now.Revision = ledger.StateJudged, time.Time{}, v.Revision
		return tx.AddVerdict(c.ID, v, d.stamp(v, at), d.options.Publish)
	})
	if err != nil {
		return err
	}
	d.metrics.judged(v, at)
	d.log.Info().Str("runner", v.Runner).Str("verdict", string(v.Label)).Str("confidence", string(v.Confidence)).
		Str("rule", v.Rule).Int("revision", v.Revision).Msg("verdict")
	return nil
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
// again with that evidence, and what f wrote stands beside it.
func (d *Docket) update(ctx context.Context, c ledger.Case, f func(*ledger.Tx, *ledger.Case) error) error {
	d.filing.Lock()
	defer d.filing.Unlock()
	return d.ledger.Write(ctx, d.now(), func(tx *ledger.Tx) error {
		now, ok, err := tx.FindByID(c.ID)
		if err != nil || !ok {
			return err
		}
		again := now.Died.After(c.Died) || now.Heard.After(c.Heard) && now.State == ledger.StateEnding
		due := now.Due
		if err := f(tx, &now); err != nil {
			return err
		}
		if again {
			now.State, now.Due = ledger.StateEnding, due
		}
		return tx.PutCase(now)
	})
}

// vanished looks for nodes whose agents went silent. That is evidence of its
// own: every runner there may have died unseen.
func (d *Docket) vanished(ctx context.Context) error {
	nodes, err := d.ledger.Nodes(ctx)
	now := d.now()
	for _, n := range nodes {
		since := latest(n.Heard, d.started)
		if err != nil || n.Silent || now.Sub(since) < d.options.Silent {
			continue
		}
		d.log.Warn().Str("node", n.Name).Time("heard", n.Heard).Msg("the agent of a node is silent; its runners are judged as they stand")
		err = d.silence(ctx, n, now)
	}
	return err
}

func (d *Docket) silence(ctx context.Context, n ledger.Node, now time.Time) error {
	d.filing.Lock()
	defer d.filing.Unlock()
	return d.ledger.Write(ctx, now, func(tx *ledger.Tx) error {
		b := &batch{d: d, tx: tx, now: now}
		e := ownEntry(n.Name, n.Heard, `coroner agent of node "`+n.Name+`" is silent`)
		if err := b.file(&e); err != nil {
			return err
		}
		n.Silent = true
		return tx.PutNode(n)
	})
}

// back notes a push of a node, and that it is heard of again if it was silent.
func (b *batch) back(n ledger.Node) error {
	was, err := b.tx.Node(n.Name)
	if err != nil {
		return err
	}
	if was.Silent {
		e := ownEntry(n.Name, b.now, `coroner agent of node "`+n.Name+`" is heard of again`)
		if err := b.file(&e); err != nil {
			return err
		}
		if err := b.again(n.Name, was.Heard); err != nil {
			return err
		}
	}
	return b.tx.PutNode(n)
}

// again has every runner of a node judged anew that was heard of since.
func (b *batch) again(node string, since time.Time) error {
	all, err := b.tx.JudgedOn(node, since)
	for i := range all {
		b.d.ending(&all[i], b.now, b.now)
		if err == nil {
			err = b.tx.PutCase(all[i])
		}
	}
	return err
}

// ownEntry is a record that coroner itself makes.
func ownEntry(node string, at time.Time, text string) ingest.Entry {
	return ingest.Entry{At: at.UTC(), Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested, Node: node, Text: text, Doc: "coroner"}
}
