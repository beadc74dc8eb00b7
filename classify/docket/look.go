package docket

import (
	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"

	lru "github.com/hashicorp/golang-lru/v2"
)

// looked is an entry and what the rulebook has to say of it. To find that out takes
// no lock: what one client's lines cost is no other's time.
type looked struct {
	entry  *ingest.Entry
	filing classify.Filing
	known  bool // it is recognised
	flood  bool // its container has printed so much of that kind that it is not asked for
}

// look asks the rulebook, and takes the secrets out of what may be kept.
func (d *Docket) look(e *ingest.Entry, book *rules.Rulebook) looked {
	d.place(e)
	d.demote(e)
	x := looked{entry: e}
	switch {
	case e.Mark != nil:
	case e.Source.Forgeable() && !d.printed.room(e):
		x.flood = true
	default:
		x.filing, x.known = classify.File(e, book)
	}
	if e.Mark != nil || !x.known && mayBeLast(e) {
		book.Redact(e)
	}
	return x
}

// lookAt asks the rulebook about some entries.
func (d *Docket) lookAt(some []ingest.Entry) []looked {
	out, book := make([]looked, len(some)), d.Book()
	for i := range some {
		out[i] = d.look(&some[i], book)
	}
	return out
}

// admitStream is admit for the pod whose stream an entry stands in. What has become
// another's word by that is looked at again; a job's word was none before.
func (b *batch) admitStream(x *looked) (bool, error) {
	source, trust := x.entry.Source, x.entry.Trust
	ok, err := b.admit(x.entry, streamOf(x.entry), false)
	if ok && !source.Forgeable() && (x.entry.Source != source || x.entry.Trust != trust) {
		*x = b.d.look(x.entry, b.book)
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

// printed counts what containers and pods have printed. It is a bound, so it may
// forget.
type printed struct{ of *lru.Cache[inCluster, amount] }

type amount struct{ lines, bytes int }

func newPrinted() printed {
	of, _ := lru.New[inCluster, amount](100_000) // an error only for a size below 1
	return printed{of}
}

// keysOf are the container of an entry and its pod.
func keysOf(e *ingest.Entry) (container, pod inCluster) {
	return inCluster{e.Cluster, owner(e) + "/" + e.Container}, inCluster{e.Cluster, owner(e)}
}

// room says whether more of an entry's container and pod is kept.
func (p printed) room(e *ingest.Entry) bool {
	container, pod := keysOf(e)
	c, _ := p.of.Get(container)
	all, _ := p.of.Get(pod)
	return c.lines < maxPrinted && c.bytes < maxPrintedBytes &&
		all.lines < podPrints*maxPrinted && all.bytes < podPrints*maxPrintedBytes
}

// add counts an entry that is kept: whoever may not speak for a pod does not use up
// what is its own.
func (p printed) add(e *ingest.Entry) {
	container, pod := keysOf(e)
	for _, key := range []inCluster{container, pod} {
		n, _ := p.of.Get(key)
		p.of.Add(key, amount{n.lines + 1, n.bytes + len(e.Text)})
	}
}
