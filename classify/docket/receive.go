package docket

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// Receive files entries: what the rulebook recognises as evidence, runners'
// other lines as their last words, marks as coverage. The rest is counted and
// let go. It returns once all of it is on disk. Much is filed in portions, between
// which it is others' turn.
func (d *Docket) Receive(ctx context.Context, entries []ingest.Entry) error {
	return d.ReceiveFrom(ctx, Origin{}, entries)
}

// ReceiveFrom is Receive for entries whose origin says more or less than that they
// are a node's.
func (d *Docket) ReceiveFrom(ctx context.Context, from Origin, entries []ingest.Entry) error {
	for {
		if err := ctx.Err(); err != nil || len(entries) == 0 {
			return err
		}
		n := portion(entries, d.line.share())
		if err := d.receive(ctx, from, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
}

func (d *Docket) receive(ctx context.Context, from Origin, some []ingest.Entry) error {
	p := &parcel{from: from, looked: d.lookAt(some), weight: weigh(some)}
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
			b.from = p.from
			for i := range p.looked {
				if err := b.file(&p.looked[i]); err != nil {
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

// inCluster is a name of some kind in its cluster.
type inCluster struct{ cluster, name string }

// batch is what one write files.
type batch struct {
	d     *Docket
	book  *rules.Rulebook
	tx    *ledger.Tx
	from  Origin // of the entries that are being filed
	hand  hand
	now   time.Time
	tails map[inCluster][]ingest.Entry // stream -> its lines that nothing recognised
	nodes map[inCluster]ledger.Node

	unplaced map[string]bool // pods of which nobody knows where they are, see podOf
	counts
}

// counts are what became of a batch's entries.
type counts struct {
	evidence, repeated, marks, words, unknown, flooded, elsewhere int

	short int            // lines of which not all was matched
	gaps  map[string]int // source -> gaps
}

func newBatch(d *Docket, tx *ledger.Tx) *batch {
	return &batch{d: d, book: d.Book(), tx: tx, hand: newHand(tx), now: d.now(), tails: map[inCluster][]ingest.Entry{},
		nodes: map[inCluster]ledger.Node{}, unplaced: map[string]bool{}}
}

func (b *batch) file(x *looked) error {
	if x.filing.Short {
		b.short++
	}
	if ok, err := b.admitStream(x); !ok {
		return err
	}
	e := x.entry
	switch {
	case e.Mark != nil:
		return b.mark(e)
	case x.flood:
		b.flooded++
		b.lastWords(e)
		return nil
	case !x.known:
		b.lastWords(e)
		return nil
	}
	return b.recognised(e, &x.filing)
}

// recognised files what the rulebook knows as evidence.
func (b *batch) recognised(e *ingest.Entry, f *classify.Filing) error {
	if ofHost(e.Source) {
		if ok, err := b.admit(e, f.Subjects, f.Wide); !ok {
			return err
		}
	}
	if e.Source.Forgeable() && !b.d.printed.room(e) {
		b.flooded++
		b.lastWords(e)
		return nil
	}
	if e.Source.Forgeable() {
		b.d.printed.add(e)
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
		return b.nodeEnded(inCluster{e.Cluster, e.Node}, e.At)
	}
	return nil
}

// place gives a record that names no cluster the server's own.
func (d *Docket) place(e *ingest.Entry) {
	if e.Cluster == "" {
		e.Cluster = d.options.Cluster
	}
	if named, mixed := d.seen.mixed(e.Cluster); mixed {
		d.log.Warn().Str("cluster", named).Msg("some records name a cluster and others none: " +
			"they are never joined; --cluster says which one those are of that name none")
	}
}

// seen is what clusters records came from: one with a name, and the one without.
type seen struct {
	mu            sync.Mutex
	named         string
	unnamed, told bool
}

// mixed says, once, that records of both kinds came.
func (s *seen) mixed(cluster string) (named string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named = cmp.Or(s.named, cluster); cluster == "" {
		s.unnamed = true
	}
	first = s.named != "" && s.unnamed && !s.told
	s.told = s.told || first
	return cmp.Or(cluster, s.named), first
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

// mayBeLast says whether a line that is no evidence is a runner's last words.
func mayBeLast(e *ingest.Entry) bool {
	return e.Source == ingest.Runner && (e.Pod != "" || e.PodUID != "") && strings.TrimSpace(e.Text) != ""
}

// lastWords keeps an unrecognised line of a runner for its stream's tail.
func (b *batch) lastWords(e *ingest.Entry) {
	if !mayBeLast(e) {
		b.unknown++
		return
	}
	b.words++
	stream := inCluster{e.Cluster, owner(e) + "/" + e.Container}
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

// heard notes that a node's agent lives and how far it has read. A shipper's gap
// makes no node one that is followed.
func (b *batch) heard(e *ingest.Entry) {
	if b.from.Shipper || e.Node == "" || e.Source == ingest.Kube {
		return
	}
	on := inCluster{e.Cluster, e.Node}
	n := b.nodes[on]
	n.Cluster, n.Name, n.Heard = e.Cluster, e.Node, b.now
	if e.Mark.Kind == ingest.Reached && e.Mark.To.After(n.Reached) {
		n.Reached = e.Mark.To
	}
	n.Controller = n.Controller || e.Source == ingest.Controller || e.Source == ingest.Listener
	b.nodes[on] = n
}

// touch finds or opens the case of a pod that new evidence speaks of.
func (b *batch) touch(e *ingest.Entry, s classify.Subject, runner, ends bool) error {
	c, again, err := b.hand.find(&s)
	if err != nil || c == nil && !s.Named() {
		return err
	}
	if c == nil {
		id := ledger.NewCaseID(s.Cluster, s.Namespace, s.Name, s.UID)
		c = b.hand.add(&held{Case: ledger.Case{ID: id, Cluster: s.Cluster, Opened: b.now, State: ledger.StateOpen}})
	}
	learn(&c.Case, b.teacher(e, &s), s)
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
		if err := b.tx.Tie(c.Cluster, id, c.ID); err != nil {
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
	found, ok, err := b.tx.FindByName(c.Cluster, c.Namespace, c.Name)
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
func (b *batch) nodeEnded(node inCluster, at time.Time) error {
	if node.name == "" {
		return nil
	}
	if err := b.hand.flush(); err != nil { // what is asked for next must be in the ledger
		return err
	}
	live, err := b.tx.LiveOn(node.cluster, node.name)
	for i := range live {
		b.d.ending(&b.hand.take(live[i]).Case, at, b.now)
	}
	return err
}

// end writes what was collected over the batch.
func (b *batch) end() error {
	for stream, lines := range b.tails {
		e := &lines[0]
		if err := b.tx.AddTail(stream.name, owner(e), lines, b.d.options.LastLines, b.book.RedactTail); err != nil {
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
