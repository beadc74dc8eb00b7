package docket

import (
	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"
)

// examined is an entry and what the rulebook says of it. Finding that out takes no
// lock: no client waits for what another one's lines cost.
type examined struct {
	entry  *ingest.Entry
	filing classify.Filing
	known  bool // the rulebook recognises it
	flood  bool // its container has printed so much that the rulebook was not asked
}

// examineEntry asks the rulebook, and takes the secrets out of what may be kept.
func (f *filer) examineEntry(e *ingest.Entry, book *rules.Rulebook) examined {
	f.fillCluster(e)
	f.demoteImpostor(e)
	x := examined{entry: e}
	switch {
	case e.Mark != nil:
	case e.Source.Forgeable() && !f.printed.HasRoom(e, ownerKey(e)):
		x.flood = true
	default:
		x.filing, x.known = classify.File(e, book)
	}
	if e.Mark != nil || !x.known && mayBeLast(e) {
		book.Redact(e)
	}
	return x
}

// examineAll asks the rulebook about some entries.
func (f *filer) examineAll(some []ingest.Entry) []examined {
	out, book := make([]examined, len(some)), f.Book()
	for i := range some {
		out[i] = f.examineEntry(&some[i], book)
	}
	return out
}

// admitStream is admit for the pod whose stream an entry stands in. An entry that is
// another's word after that is examined again; a job's word is none either way.
func (b *batch) admitStream(x *examined) (bool, error) {
	source, trust := x.entry.Source, x.entry.Trust
	ok, err := b.mayFile(x.entry, streamOf(x.entry), false)
	if ok && !source.Forgeable() && (x.entry.Source != source || x.entry.Trust != trust) {
		*x = b.filer.examineEntry(x.entry, b.book)
	}
	return ok, err
}
