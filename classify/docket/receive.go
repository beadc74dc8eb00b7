package docket

import (
	"context"
	"slices"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
)

// Receive files entries: what the rulebook recognises as evidence, runners'
// other lines as their last words, marks as coverage. The rest is counted and
// let go. It returns once all of it is on disk.
func (d *Docket) Receive(ctx context.Context, entries []ingest.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &parcel{entries: entries}
	d.line.join(p)
	d.filing.Lock()
	defer d.filing.Unlock()
	if !p.done { // nobody took it along
		d.fileAll(context.WithoutCancel(ctx), d.line.leave(p))
	}
	return p.err
}

// fileAll files parcels in one write. When that fails each is tried by itself:
// none must fail for another's sake.
func (d *Docket) fileAll(ctx context.Context, all []*parcel) {
	err := d.fileTogether(ctx, all)
	if err != nil && len(all) > 1 {
		for i := range all {
			d.fileAll(ctx, all[i:i+1])
		}
		return
	}
	for _, p := range all {
		p.done, p.err = true, err
	}
}

func (d *Docket) fileTogether(ctx context.Context, all []*parcel) error {
	var b *batch
	err := d.ledger.Write(ctx, d.now(), func(tx *ledger.Tx) error {
		b = newBatch(d, tx)
		for _, p := range all {
			for i := range p.entries {
				if err := b.file(&p.entries[i]); err != nil {
					return err
				}
			}
		}
		return b.end()
	})
	if err != nil {
		return err
	}
	d.metrics.received(b)
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

// batch is what one write files.
type batch struct {
	d     *Docket
	tx    *ledger.Tx
	hand  hand
	now   time.Time
	tails map[string][]ingest.Entry // stream -> its lines that nothing recognised
	nodes map[string]ledger.Node

	evidence, repeated, marks, words, unknown, flooded int
	gaps                                               map[string]int // source -> gaps
}

func newBatch(d *Docket, tx *ledger.Tx) *batch {
	return &batch{d: d, tx: tx, hand: newHand(tx), now: d.now(), tails: map[string][]ingest.Entry{}, nodes: map[string]ledger.Node{}}
}

func (b *batch) file(e *ingest.Entry) error {
	b.d.demote(e)
	if e.Mark != nil {
		return b.mark(e)
	}
	f, ok := classify.File(e, b.d.Book())
	if !ok {
		b.lastWords(e)
		return nil
	}
	if e.Source.Forgeable() && b.d.flood(e) {
		b.flooded++
		b.lastWords(e)
		return nil
	}
	added, err := b.tx.AddEvidence(e, f.Keys, f.Wide)
	if err != nil || !added {
		b.repeated++
		return err
	}
	b.evidence++
	for _, s := range f.Subjects {
		if err := b.touch(e, s, f.Runner, f.Ends); err != nil {
			return err
		}
	}
	if f.Wide && f.Ends {
		return b.nodeEnded(e.Node, e.At)
	}
	return nil
}

// demote makes a job's of what stands in the log of a pod that only looks like
// a controller: anybody who may create pods can name one so.
func (d *Docket) demote(e *ingest.Entry) {
	if e.Source != ingest.Controller && e.Source != ingest.Listener || e.Pod == "" || d.options.controller(e.Namespace, e.Pod) {
		return
	}
	e.Source, e.Trust = ingest.Job, ingest.Claimed
	if pod := e.Namespace + "/" + e.Pod; !d.strangers.Contains(pod) {
		d.strangers.Add(pod, true)
		d.log.Warn().Str("pod", pod).Msg("a pod prints a controller's lines and no --controller glob names it; they prove nothing")
	}
}

// flood says whether one container has printed so many recognised lines that
// another can only be its last words: a job may print what it likes.
func (d *Docket) flood(e *ingest.Entry) bool {
	key := owner(e) + "/" + e.Container
	n, _ := d.printed.Get(key)
	d.printed.Add(key, n+1)
	return n >= maxPrinted
}

// maxPrinted is how many recognised lines of one container are kept as
// evidence. Runners print some hundred in their life.
const maxPrinted = 2000

// lastWords keeps an unrecognised line of a runner for its stream's tail.
func (b *batch) lastWords(e *ingest.Entry) {
	if e.Source != ingest.Runner || e.Pod == "" && e.PodUID == "" || strings.TrimSpace(e.Text) == "" {
		b.unknown++
		return
	}
	b.words++
	stream := owner(e) + "/" + e.Container
	lines := append(b.tails[stream], *e)
	if n := b.d.options.LastLines; len(lines) > 2*n {
		lines = slices.Delete(lines, 0, n)
	}
	b.tails[stream] = lines
}

// mark files a statement about coverage.
func (b *batch) mark(e *ingest.Entry) error {
	b.marks++
	m := e.Mark
	if m.Kind == ingest.Gap {
		if b.gaps == nil {
			b.gaps = map[string]int{}
		}
		b.gaps[string(e.Source)]++
	}
	b.heard(e)
	if m.Kind == ingest.Reached {
		return nil
	}
	own := "node:" + e.Node
	switch {
	case e.Source == ingest.Controller || e.Source == ingest.Listener:
		own = "controller"
	case e.Pod != "" || e.PodUID != "":
		own = owner(e)
	case e.Source == ingest.Kube:
		own = "kube:" + e.Namespace
	}
	added, err := b.tx.AddMark(e, own)
	if err != nil || !added || own == "controller" || e.Pod == "" && e.PodUID == "" {
		return err
	}
	runner := e.Source == ingest.Runner
	return b.touch(e, classify.StreamSubject(e), runner, runner && m.Kind == ingest.Ended)
}

// heard notes that a node's agent lives and how far it has read.
func (b *batch) heard(e *ingest.Entry) {
	if e.Node == "" || e.Source == ingest.Kube {
		return
	}
	n := b.nodes[e.Node]
	n.Name, n.Heard = e.Node, b.now
	if e.Mark.Kind == ingest.Reached && e.Mark.To.After(n.Reached) {
		n.Reached = e.Mark.To
	}
	n.Controller = n.Controller || e.Source == ingest.Controller || e.Source == ingest.Listener
	b.nodes[e.Node] = n
}

// touch finds or opens the case of a pod that new evidence speaks of.
func (b *batch) touch(e *ingest.Entry, s classify.Subject, runner, ends bool) error {
	c, again, err := b.hand.find(&s)
	if err != nil || c == nil && !s.Named() {
		return err
	}
	if c == nil {
		c = b.hand.add(&held{Case: ledger.Case{ID: ledger.NewCaseID(s.Namespace, s.Name, s.UID), Opened: b.now, State: ledger.StateOpen}})
	}
	learn(&c.Case, e, s)
	if !c.found() {
		if c, err = b.merge(c); err != nil {
			return err
		}
	}
	c.Heard = b.now
	c.Runner = b.d.isRunner(&c.Case, runner)
	switch {
	case ends || c.State == ledger.StateJudged:
		b.d.ending(&c.Case, e.At, b.now)
	case c.Due.IsZero() && e.Mark == nil && !e.Source.Forgeable():
		c.Due = b.now.Add(b.d.options.Deadline) // it may never start; then nothing will end
	}
	return b.meet(c, &s, again)
}

// meet writes what a case can be found by, and remembers whose subject it is.
func (b *batch) meet(c *held, s *classify.Subject, again bool) error {
	if !c.found() {
		if err := b.hand.put(c); err != nil {
			return err
		}
	}
	if again {
		return nil
	}
	for _, id := range s.IDs {
		if err := b.tx.Tie(id, c.ID); err != nil {
			return err
		}
	}
	b.hand.meet(c, s)
	return nil
}

// merge joins a case with the one that was opened for the same pod while only
// its name was known. The id that was published first stays.
func (b *batch) merge(c *held) (*held, error) {
	if c.UID == "" || c.Name == "" {
		return c, nil
	}
	found, ok, err := b.tx.FindByName(c.Namespace, c.Name)
	if err != nil || !ok {
		return c, err
	}
	twin := b.hand.take(found)
	if twin == c || twin.Revision > 0 && c.Revision > 0 {
		return c, nil
	}
	if twin.Revision > 0 {
		c, twin = twin, c
		learn(&c.Case, &ingest.Entry{Node: twin.Node}, classify.Subject{Namespace: twin.Namespace, Name: twin.Name, UID: twin.UID})
	}
	c.Runner = c.Runner || twin.Runner
	c.Died = latest(c.Died, twin.Died)
	if twin.Opened.Before(c.Opened) {
		c.Opened = twin.Opened
	}
	if twin.State == ledger.StateEnding {
		b.d.ending(&c.Case, twin.Died, b.now)
	}
	return c, b.hand.absorb(twin, c)
}

// learn adds what a record says of a pod's names and node. What is known
// stays: names are only ever filled in.
func learn(c *ledger.Case, e *ingest.Entry, s classify.Subject) {
	fill := func(into *string, from string) {
		if *into == "" {
			*into = from
		}
	}
	fill(&c.Namespace, s.Namespace)
	fill(&c.Name, s.Name)
	fill(&c.UID, s.UID)
	fill(&c.Node, s.Node)
	if e.Source != ingest.Controller && e.Source != ingest.Listener && e.Source != ingest.Kube {
		fill(&c.Node, e.Node)
	}
}

// ending notes that something of the case ended at a time; it is due once the
// evidence up to then, and a little past it, is complete.
func (d *Docket) ending(c *ledger.Case, at, now time.Time) {
	if at.IsZero() || at.After(now) {
		at = now
	}
	if at.After(c.Died) {
		c.Died = at
	}
	if c.State != ledger.StateEnding {
		c.State, c.Due = ledger.StateEnding, now.Add(d.options.Deadline)
	}
}

// nodeEnded puts every runner on a node that went down on the list.
func (b *batch) nodeEnded(node string, at time.Time) error {
	if node == "" {
		return nil
	}
	if err := b.hand.flush(); err != nil { // what is asked for next must be in the ledger
		return err
	}
	live, err := b.tx.LiveOn(node)
	for i := range live {
		b.d.ending(&b.hand.take(live[i]).Case, at, b.now)
	}
	return err
}

// end writes what was collected over the batch.
func (b *batch) end() error {
	for stream, lines := range b.tails {
		e := &lines[0]
		if err := b.tx.AddTail(stream, owner(e), lines, b.d.options.LastLines); err != nil {
			return err
		}
		if err := b.touch(e, classify.StreamSubject(e), true, false); err != nil {
			return err
		}
	}
	for _, n := range b.nodes {
		if err := b.back(n); err != nil {
			return err
		}
	}
	return b.hand.flush()
}
