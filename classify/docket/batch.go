package docket

import (
	"errors"
	"slices"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/classify/quota"
	"coroner/ingest"
	"coroner/rules"
)

// inCluster is a name of some kind in its cluster.
type inCluster struct{ cluster, name string }

// batch is what one write files.
type batch struct {
	filer *filer
	book  *rules.Rulebook
	tx    *ledger.Tx
	from  Origin // of the entries that are being filed
	cases caseCache
	now   time.Time
	tails map[inCluster][]ingest.Entry // stream -> its lines that nothing recognised
	nodes map[inCluster]ledger.Node

	covered  []ledger.OwnedMark      // marks that open no case
	standing map[string]*ledger.Case // cases of pools and jobs that were touched, by their ids
	unplaced map[string]bool         // pods of which nobody knows where they are, see podOf
	kept     []*ingest.Entry         // that count as printed
	said     []quota.Said
	counts
}

// counts are what became of a batch's entries.
type counts struct {
	evidence, repeated, marks, words, unknown, flooded, elsewhere int

	short int            // lines of which not all was matched
	gaps  map[string]int // source -> gaps
}

func newBatch(f *filer, tx *ledger.Tx) *batch {
	return &batch{
		filer:    f,
		book:     f.Book(),
		tx:       tx,
		cases:    newCaseCache(tx),
		now:      f.now(),
		tails:    map[inCluster][]ingest.Entry{},
		nodes:    map[inCluster]ledger.Node{},
		standing: map[string]*ledger.Case{},
		unplaced: map[string]bool{},
	}
}

func (b *batch) fileEntry(x *examined) error {
	if x.filing.Short {
		b.short++
	}
	if ok, err := b.admitStream(x); !ok {
		return err
	}
	e := x.entry
	switch {
	case e.Mark != nil:
		return b.fileMark(e)
	case x.flood:
		b.flooded++
		b.keepTail(e)
		return nil
	case !x.known:
		b.keepTail(e)
		return nil
	case b.filer.steady.IsRepeat(steadyLine(e, &x.filing), &b.said):
		b.repeated++
		return nil
	}
	return b.fileEvidence(e, &x.filing)
}

// fileEvidence files what the rulebook knows as evidence.
func (b *batch) fileEvidence(e *ingest.Entry, f *classify.Filing) error {
	if ofHost(e.Source) {
		if ok, err := b.mayFile(e, f.Subjects, f.Wide != ""); !ok {
			return err
		}
	}
	if e.Source.Forgeable() && !b.filer.printed.HasRoom(e, ownerKey(e)) {
		b.flooded++
		b.keepTail(e)
		return nil
	}
	if e.Source.Forgeable() {
		b.filer.printed.CountKept(e, ownerKey(e), 1)
		b.kept = append(b.kept, e)
	}
	wide := quota.SameOf(e, f.Wide, b.now)
	added, err := b.tx.AddEvidence(e, append(f.Keys, standingKeys(e, f.Standing)...), b.filer.wide.HasRoom(wide))
	if err != nil || !added {
		b.repeated++
		return err
	}
	b.filer.wide.CountFiled(wide)
	b.evidence++
	for _, s := range f.Subjects {
		if err := b.touchCase(e, s, f); err != nil {
			return err
		}
		if of := s.Helps(); of != nil {
			err = errors.Join(err, b.touchHelped(e, of))
		}
	}
	if err = errors.Join(err, b.touchStandings(e, f.Standing)); err != nil {
		return err
	}
	if f.Wide != "" && f.Ends {
		return b.nodeEnded(inCluster{e.Cluster, e.Node}, e.At)
	}
	return nil
}

// mayBeLast says whether a line that is no evidence is a runner's last words.
func mayBeLast(e *ingest.Entry) bool {
	return e.Source == ingest.Runner && (e.Pod != "" || e.PodUID != "") && strings.TrimSpace(e.Text) != ""
}

// keepTail keeps an unrecognised line of a runner for its stream's tail.
func (b *batch) keepTail(e *ingest.Entry) {
	if !mayBeLast(e) {
		b.unknown++
		return
	}
	b.words++
	stream := inCluster{e.Cluster, ownerKey(e) + "/" + e.Container}
	lines := append(b.tails[stream], *e)
	if n := b.filer.options.LastLines; len(lines) > 2*n {
		lines = slices.Delete(lines, 0, n)
	}
	b.tails[stream] = lines
}

// fileMark files a statement about coverage.
func (b *batch) fileMark(e *ingest.Entry) error {
	b.marks++
	m := e.Mark
	if m.Kind == ingest.Gap {
		if b.gaps == nil {
			b.gaps = map[string]int{}
		}
		b.gaps[string(e.Source)]++
	}
	b.noteReached(e)
	if m.Kind == ingest.Reached {
		return nil
	}
	own := "node:" + e.Node
	switch {
	case fromController(e):
		own = "controller"
	case e.Pod != "" || e.PodUID != "":
		own = ownerKey(e)
	case e.Source == ingest.Kube:
		own = "kube:" + e.Namespace
	}
	if own == "controller" || e.Pod == "" && e.PodUID == "" {
		b.covered = append(b.covered, ledger.OwnedMark{Entry: e, Owner: own})
		return nil
	}
	added, err := b.tx.AddMark(e, own)
	if err != nil || !added {
		return err
	}
	runner := e.Source == ingest.Runner
	says := classify.Filing{Runner: runner, Ends: runner && m.Kind == ingest.Ended}
	return b.touchCase(e, classify.StreamSubject(e), &says)
}

// noteReached notes that a node's agent lives and how far it has read. A shipper's gap
// makes no node one that is followed.
func (b *batch) noteReached(e *ingest.Entry) {
	if b.from.Shipper || e.Node == "" || e.Source == ingest.Kube {
		return
	}
	on := inCluster{e.Cluster, e.Node}
	n := b.nodes[on]
	n.Cluster, n.Name, n.Heard = e.Cluster, e.Node, b.now
	if e.Mark.Kind == ingest.Reached && e.Mark.To.After(n.Reached) {
		n.Reached = e.Mark.To
	}
	n.Controller = n.Controller || fromController(e)
	b.nodes[on] = n
}

// touchHelped makes the case of a runner due again whose verdict stands, where a record is about a
// pod that its job's steps ran in. Nothing of the runner itself ended.
func (b *batch) touchHelped(e *ingest.Entry, runner *classify.Subject) error {
	c, _, err := b.cases.findCase(runner)
	if err != nil || c == nil || c.State == ledger.StateOpen {
		return err
	}
	return b.touchCase(e, *runner, &classify.Filing{})
}

// touchCase finds or opens the case of a pod that new evidence speaks of, which says something.
func (b *batch) touchCase(e *ingest.Entry, s classify.Subject, says *classify.Filing) error {
	c, again, err := b.cases.findCase(&s)
	if err != nil || c == nil && !s.Named() {
		return err
	}
	if c == nil {
		id := ledger.NewCaseID(s.Cluster, s.Namespace, s.Name, s.UID)
		opened := ledger.Case{ID: id, Cluster: s.Cluster, Opened: b.now, State: ledger.StateOpen}
		c = b.cases.addCase(&cachedCase{Case: opened})
	}
	learnNames(&c.Case, b.asTeacher(e, &s), s)
	if !c.isIndexed() {
		if c, err = b.mergeCases(c); err != nil {
			return err
		}
	}
	c.Heard = b.now
	if b.filer.ledger.Shared() { // of another server's clock the same time can be another one
		c.Version++
	}
	c.Runner = b.filer.options.isRunner(&c.Case, says.Runner)
	switch over := hangDue(e, b.now); {
	case says.Ends || c.State == ledger.StateJudged:
		b.noteEnd(&c.Case, e.At)
	case says.JobOver && (c.Due.IsZero() || over.Before(c.Due)):
		c.Due = over
	case c.Due.IsZero() && e.Mark == nil && !e.Source.Forgeable():
		c.Due = b.now.Add(b.filer.options.Deadline) // it may never start; then nothing will end
	}
	return b.indexCase(c, &s, again)
}

// indexCase writes what a case can be found by, and remembers whose subject it is.
func (b *batch) indexCase(c *cachedCase, s *classify.Subject, again bool) error {
	if !c.isIndexed() {
		if err := b.cases.putCase(c); err != nil {
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
	b.cases.indexSubject(c, s)
	return nil
}

// mergeCases joins a case with the one that was opened for the same pod while only
// its name was known. The id that was published first stays.
func (b *batch) mergeCases(c *cachedCase) (*cachedCase, error) {
	if c.UID == "" || c.Name == "" {
		return c, nil
	}
	found, ok, err := b.tx.FindByName(c.Cluster, c.Namespace, c.Name)
	if err != nil || !ok {
		return c, err
	}
	twin := b.cases.asCached(found)
	if twin == c || twin.Revision > 0 && c.Revision > 0 {
		return c, nil
	}
	if twin.Revision > 0 {
		c, twin = twin, c
		names := classify.Subject{Namespace: twin.Namespace, Name: twin.Name, UID: twin.UID}
		learnNames(&c.Case, &ingest.Entry{Node: twin.Node}, names)
	}
	c.Runner = c.Runner || twin.Runner
	c.Died = ingest.LaterOf(c.Died, twin.Died)
	if twin.Opened.Before(c.Opened) {
		c.Opened = twin.Opened
	}
	if twin.State == ledger.StateEnding {
		b.noteEnd(&c.Case, twin.Died)
	}
	return c, b.cases.mergeInto(twin, c)
}

// learnNames adds what a record says of a pod's names and node. What is known
// stays: names are only ever filled in.
func learnNames(c *ledger.Case, e *ingest.Entry, s classify.Subject) {
	fill := func(into *string, from string) {
		if *into == "" {
			*into = from
		}
	}
	fill(&c.Namespace, s.Namespace)
	fill(&c.Name, s.Name)
	fill(&c.UID, s.UID)
	fill(&c.Node, s.Node)
	if !fromController(e) && e.Source != ingest.Kube {
		fill(&c.Node, e.Node)
	}
}

// noteEnd notes that something of the case ended at a time; it is due once the
// evidence up to then, and a little past it, is complete.
func (b *batch) noteEnd(c *ledger.Case, at time.Time) {
	if at.IsZero() || at.After(b.now) {
		at = b.now
	}
	if at.After(c.Died) {
		c.Died = at
	}
	if c.State != ledger.StateEnding {
		c.State, c.Due = ledger.StateEnding, b.now.Add(b.filer.options.Deadline)
	}
}

// nodeEnded puts every runner on a node that went down on the list.
func (b *batch) nodeEnded(node inCluster, at time.Time) error {
	if node.name == "" {
		return nil
	}
	if err := b.cases.flushCases(); err != nil { // what is asked for next must be in the ledger
		return err
	}
	live, err := b.tx.LiveOn(node.cluster, node.name)
	for i := range live {
		b.noteEnd(&b.cases.asCached(live[i]).Case, at)
	}
	return err
}

// endBatch writes what was collected over the batch.
func (b *batch) endBatch() error {
	for stream, lines := range b.tails {
		e := &lines[0]
		last := b.filer.options.LastLines
		if err := b.tx.AddTail(stream.name, ownerKey(e), lines, last, b.book.RedactTail); err != nil {
			return err
		}
		if err := b.touchCase(e, classify.StreamSubject(e), &classify.Filing{Runner: true}); err != nil {
			return err
		}
	}
	if err := b.putStandings(); err != nil {
		return err
	}
	if err := b.noteNodes(); err != nil {
		return err
	}
	if err := b.tx.AddMarks(b.covered); err != nil {
		return err
	}
	return b.cases.flushCases()
}

// forget takes back what is remembered of a batch that was not written.
func (b *batch) forget() {
	b.filer.steady.Forget(b.said)
	for _, e := range b.kept {
		b.filer.printed.CountKept(e, ownerKey(e), -1)
	}
	b.said, b.kept = nil, nil
}
