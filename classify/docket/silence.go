package docket

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
)

// silenceWatch notices agents that fall silent.
type silenceWatch struct {
	*store
	filer *filer
	since time.Time // what is told can be filed; only findSilent changes it
}

// findSilent finds the nodes whose agents went silent. That is evidence of its own: every
// runner there may have died unseen.
func (w *silenceWatch) findSilent(ctx context.Context) error {
	now := w.now()
	leads, err := w.ledger.Lead.Of(ctx, "silence", now)
	if err != nil {
		w.since = now
	}
	if err != nil || !leads || now.Sub(w.since) < w.options.Silent { // who was not heard of while nobody listened
		return err
	}
	quiet, err := w.ledger.Quiet(ctx, now.Add(-w.options.Silent))
	if err != nil {
		w.since = now
	}
	for _, n := range quiet {
		w.log.Warn().Str("cluster", n.Cluster).Str("node", n.Name).Time("heard", n.Heard).
			Msg("the agent of a node is silent; its runners are judged by the evidence that there is")
		err = errors.Join(err, w.noteSilent(ctx, n, now))
	}
	return err
}

func (w *silenceWatch) noteSilent(ctx context.Context, n ledger.Node, now time.Time) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.filer.writeBatch(ctx, now, []string{n.Cluster}, func(b *batch) error {
		is, err := b.tx.Node(n.Cluster, n.Name)
		if err != nil || is.Silent || is.Heard.After(n.Heard) { // another server heard of it
			return err
		}
		e := ownEntry(n, n.Heard, `coroner agent of node "`+n.Name+`" is silent`)
		if err := errors.Join(b.fileOwn(e), b.cases.flushCases()); err != nil {
			return err
		}
		n.Silent = true
		return b.tx.PutNodes(n)
	})
	return err
}

// noteNodes notes pushes of nodes. It looks for those that were silent where there are some.
func (b *batch) noteNodes() error {
	nodes := slices.SortedFunc(maps.Values(b.nodes), ledger.Node.Compare)
	if all, err := b.tx.HearNodes(nodes); all || err != nil {
		return err
	}
	for _, n := range nodes {
		if err := b.noteAgain(n); err != nil {
			return err
		}
	}
	return nil
}

// noteAgain notes that a node is heard of again if it was silent.
func (b *batch) noteAgain(n ledger.Node) error {
	was, err := b.tx.Node(n.Cluster, n.Name)
	if err != nil || !was.Silent {
		return err
	}
	e := ownEntry(n, b.now, `coroner agent of node "`+n.Name+`" is heard of again`)
	if err := b.fileOwn(e); err != nil {
		return err
	}
	if err := b.judgeAgain(n, was.Heard); err != nil {
		return err
	}
	return b.tx.PutNodes(n)
}

// judgeAgain has every runner of a node judged anew that was heard of since.
func (b *batch) judgeAgain(n ledger.Node, since time.Time) error {
	if err := b.cases.flushCases(); err != nil { // what is asked for next must be in the ledger
		return err
	}
	all, err := b.tx.JudgedOn(n.Cluster, n.Name, since)
	for i := range all {
		b.noteEnd(&b.cases.asCached(all[i]).Case, b.now)
	}
	return err
}

// fileOwn files a record that coroner itself makes.
func (b *batch) fileOwn(e ingest.Entry) error {
	x := b.filer.examineEntry(&e, b.book)
	return b.fileEntry(&x)
}

// ownEntry is a record that coroner itself makes.
func ownEntry(n ledger.Node, at time.Time, text string) ingest.Entry {
	return ingest.Entry{
		At:      at.UTC(),
		Clock:   ingest.WallClock,
		Source:  ingest.Agent,
		Trust:   ingest.Attested,
		Cluster: n.Cluster,
		Node:    n.Name,
		Text:    text,
		Doc:     "coroner",
	}
}
