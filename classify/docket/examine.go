package docket

import (
	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"

	lru "github.com/hashicorp/golang-lru/v2"
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
	case e.Source.Forgeable() && !f.printed.hasRoom(e):
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

// What is kept as evidence of the recognised lines of one container, and of one pod,
// which can say that it has any number of containers: a job may print what it
// likes. Runners print some hundred in their life, of some hundred bytes.
const (
	maxPrinted      = 2000
	maxPrintedBytes = 1 << 20
	podPrints       = 3 // times as much
)

// printQuota counts what containers and pods have printed. It is only a bound, so it
// may forget.
type printQuota struct{ of *lru.Cache[inCluster, amount] }

type amount struct{ lines, bytes int }

func newPrintQuota() printQuota {
	of, _ := lru.New[inCluster, amount](100_000) // an error only for a size below 1
	return printQuota{of}
}

// keysOf are the container of an entry and its pod.
func keysOf(e *ingest.Entry) (container, pod inCluster) {
	return inCluster{e.Cluster, ownerKey(e) + "/" + e.Container}, inCluster{e.Cluster, ownerKey(e)}
}

// hasRoom says whether more of an entry's container and pod is kept.
func (p printQuota) hasRoom(e *ingest.Entry) bool {
	container, pod := keysOf(e)
	c, _ := p.of.Get(container)
	all, _ := p.of.Get(pod)
	return c.lines < maxPrinted && c.bytes < maxPrintedBytes &&
		all.lines < podPrints*maxPrinted && all.bytes < podPrints*maxPrintedBytes
}

// countKept counts an entry that is kept: whoever may not speak for a pod does not use up
// what is its own.
// With -1 it is taken back.
func (p printQuota) countKept(e *ingest.Entry, times int) {
	container, pod := keysOf(e)
	for _, key := range []inCluster{container, pod} {
		n, _ := p.of.Get(key)
		p.of.Add(key, amount{max(0, n.lines+times), max(0, n.bytes+times*len(e.Text))})
	}
}
