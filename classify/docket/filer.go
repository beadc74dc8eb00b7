package docket

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/quota"
	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
)

// filer files what is received.
type filer struct {
	*store
	queue     queue
	recorded  chan struct{} // something may be due; never closed
	clusters  clustersSeen
	printed   quota.Printed
	steady    quota.Steady
	wide      quota.Node
	strangers *lru.Cache[string, bool] // pods that were warned of
}

func newFiler(s *store) *filer {
	strangers, _ := lru.New[string, bool](1000) // an error only for a size below 1
	return &filer{store: s, recorded: make(chan struct{}, 1), printed: quota.NewPrinted(),
		steady: quota.NewSteady(), wide: quota.NewNode(), strangers: strangers}
}

// fileEntries files entries in portions, between which others have their turn.
func (f *filer) fileEntries(ctx context.Context, from Origin, entries []ingest.Entry) error {
	for {
		if err := ctx.Err(); err != nil || len(entries) == 0 {
			return err
		}
		n := portionSize(entries, f.queue.nextShare())
		if err := f.fileSome(ctx, from, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
}

func (f *filer) fileSome(ctx context.Context, from Origin, some []ingest.Entry) error {
	p := &pushRequest{from: from, entries: f.examineAll(some), weight: weightOf(some), filed: make(chan struct{})}
	few := f.queue.addPush(p)
	if few && f.ledger.Shared() && len(clustersOf([]*pushRequest{p})) == 0 {
		p.waitForOthers(ctx)
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if !p.done { // nobody took it along
		f.fileAll(context.WithoutCancel(ctx), f.queue.takeFitting(p))
	}
	if p.err != nil && ledger.IsAway(p.err) {
		return errAway // whoever pushes need not know what the ledger is called; the log has it
	}
	return p.err
}

var errAway = errors.New("the ledger cannot be reached")

// fileAll files requests in one write. When that fails each is tried by itself:
// none must fail for another's sake.
func (f *filer) fileAll(ctx context.Context, all []*pushRequest) {
	err := f.fileTogether(ctx, all)
	if err != nil && len(all) > 1 && !ledger.IsAway(err) {
		for i := range all {
			f.fileAll(ctx, all[i:i+1])
		}
		return
	}
	for _, p := range all {
		p.done, p.err = true, err
		close(p.filed)
	}
}

func (f *filer) fileTogether(ctx context.Context, all []*pushRequest) error {
	var clusters []string
	if f.ledger.Shared() {
		clusters = clustersOf(all)
	}
	b, err := f.writeBatch(ctx, f.now(), clusters, func(b *batch) error {
		for _, p := range all {
			b.from = p.from
			for i := range p.entries {
				if err := b.fileEntry(&p.entries[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.metrics.received(b)
	select {
	case f.recorded <- struct{}{}:
	default:
	}
	return nil
}

// writeBatch writes one batch. Where another server's write was in its way it is made anew.
func (f *filer) writeBatch(
	ctx context.Context, now time.Time, clusters []string, fill func(*batch) error,
) (b *batch, err error) {
	err = f.ledger.Write(ctx, now, func(tx *ledger.Tx) error {
		if b != nil {
			b.forget()
		}
		b = newBatch(f, tx)
		if err := tx.Hold(clusters); err != nil {
			return err
		}
		if err := fill(b); err != nil {
			return err
		}
		return b.endBatch()
	})
	if err != nil && b != nil {
		b.forget()
	}
	return b, err
}

// clustersOf are those whose cases the requests can change. How far a node was read changes
// none: most pushes say nothing else, and wait for nobody.
func clustersOf(all []*pushRequest) (out []string) {
	for _, p := range all {
		for i := range p.entries {
			e := p.entries[i].entry
			ofNode := e.Mark != nil && e.Pod == "" && e.PodUID == ""
			if !ofNode && !slices.Contains(out, e.Cluster) {
				out = append(out, e.Cluster)
			}
		}
	}
	return out
}

// fillCluster gives a record that names no cluster the server's own.
func (f *filer) fillCluster(e *ingest.Entry) {
	if e.Cluster == "" {
		e.Cluster = f.options.Cluster
	}
	if named, mixed := f.clusters.mixedKinds(e.Cluster); mixed {
		f.log.Warn().Str("cluster", named).Msg("some records name a cluster and others none: " +
			"records of the two kinds are never joined; set --cluster to the cluster of those that name none")
	}
}

// clustersSeen is what clusters records came from: one with a name, and the one without.
type clustersSeen struct {
	mu      sync.Mutex
	named   string
	unnamed bool
	warned  bool
}

// mixedKinds says, once, that records of both kinds came.
func (s *clustersSeen) mixedKinds(cluster string) (named string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named = cmp.Or(s.named, cluster); cluster == "" {
		s.unnamed = true
	}
	first = s.named != "" && s.unnamed && !s.warned
	s.warned = s.warned || first
	return cmp.Or(cluster, s.named), first
}

// demoteImpostor makes a job's of what stands in the log of a pod that only looks like
// a controller: anybody who may create pods can name one so.
func (f *filer) demoteImpostor(e *ingest.Entry) {
	if !fromController(e) || e.Pod == "" || f.options.controller(e.Namespace, e.Pod) {
		return
	}
	e.Source, e.Trust = ingest.Job, ingest.Claimed
	if pod := e.Namespace + "/" + e.Pod; !f.strangers.Contains(pod) {
		f.strangers.Add(pod, true)
		f.log.Warn().Str("pod", pod).
			Msg("a pod prints a controller's lines but matches no --controller glob; its lines prove nothing")
	}
}

// fromController says whether an entry is the word of a controller or a listener.
func fromController(e *ingest.Entry) bool {
	return e.Source == ingest.Controller || e.Source == ingest.Listener
}
