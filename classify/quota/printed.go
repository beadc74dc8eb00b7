package quota

import (
	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
)

// What is kept as evidence of the recognised lines of one container, and of one pod,
// which can say that it has any number of containers: a job may print what it
// likes. Runners print some hundred in their life, of some hundred bytes.
const (
	MaxPrinted      = 2000
	MaxPrintedBytes = 1 << 20
	PodPrints       = 3 // times as much
)

// Printed counts what containers and pods have printed. It is only a bound, so it
// may forget.
type Printed struct{ of *lru.Cache[stream, amount] }

type amount struct{ lines, bytes int }

// stream is a container of a pod, or all of the pod.
type stream struct{ cluster, pod, container string }

// NewPrinted returns a bound that nobody has used up yet.
func NewPrinted() Printed {
	of, _ := lru.New[stream, amount](100_000) // an error only for a size below 1
	return Printed{of}
}

// streamsOf are the container of an entry and its pod.
func streamsOf(e *ingest.Entry, pod string) (container, whole stream) {
	return stream{e.Cluster, pod, "/" + e.Container}, stream{e.Cluster, pod, ""}
}

// HasRoom says whether more of an entry's container and pod is kept.
func (p Printed) HasRoom(e *ingest.Entry, pod string) bool {
	container, whole := streamsOf(e, pod)
	c, _ := p.of.Get(container)
	all, _ := p.of.Get(whole)
	return c.lines < MaxPrinted && c.bytes < MaxPrintedBytes &&
		all.lines < PodPrints*MaxPrinted && all.bytes < PodPrints*MaxPrintedBytes
}

// CountKept counts an entry that is kept: whoever may not speak for a pod does not use up
// what is its own.
// With -1 it is taken back.
func (p Printed) CountKept(e *ingest.Entry, pod string, times int) {
	container, whole := streamsOf(e, pod)
	for _, key := range []stream{container, whole} {
		n, _ := p.of.Get(key)
		p.of.Add(key, amount{max(0, n.lines+times), max(0, n.bytes+times*len(e.Text))})
	}
}
