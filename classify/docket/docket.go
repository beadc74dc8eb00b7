// Package docket runs the live classification: it files what the agents and
// shippers push, keeps the open cases, decides when one is settled, has it
// judged and records the verdict.
//
// Invariant: Receive returns without an error only after everything that it
// was given is in the ledger. A verdict is judged from what the ledger holds
// and nothing else, by the same pure path that coroner explain takes, so the
// order in which evidence came, and how often, does not matter. Every runner
// that ended gets one verdict; later evidence that changes it gives a revision.
//
// Several dockets, each in a server of its own, can share a ledger in PostgreSQL: a case is
// judged by one at a time, and what another one filed meanwhile makes it due again.
//
// Crash behaviour: the docket holds nothing that the ledger does not; a new
// one, or another server's, goes on where the old one was.
package docket

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/classify/scans"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Options are what an operator may set. The zero value of each means its default, as
// Defaults has it.
type Options struct {
	// Cluster is the cluster of records that name none.
	Cluster string
	// Runners are globs NAMESPACE/POD of the pods that are runners. None: whatever prints
	// or is treated like one.
	Runners ingest.PodGlobs
	// Controllers are globs NAMESPACE/POD of the controllers' and listeners' pods; those of
	// actions-runner-controller where none are given.
	Controllers ingest.PodGlobs
	// Settle is how long evidence must be complete after a death before the case is
	// judged.
	Settle time.Duration
	// Deadline is how long after a death the case is judged whatever is missing.
	Deadline time.Duration
	// Silent is how long after its last push an agent counts as silent.
	Silent time.Duration
	// LastLines is how many lines of each container's output are kept.
	LastLines int
	// MaxOpen is how many cases may be open; beyond, the oldest are judged early.
	MaxOpen int
	// JobWait is how long a job waits for a runner at least before it counts as stranded,
	// however soon others of its pool were taken. JobWaitMost is how long at most,
	// however long others waited.
	JobWait, JobWaitMost time.Duration
	// PoolSilent is how long nobody speaks of a pool before what was wrong with it counts as
	// over.
	PoolSilent time.Duration
	// LokiWindow: a death longer ago is published under the time of its verdict.
	LokiWindow time.Duration
	// Keep is how much is kept.
	Keep Keep
	// Publish puts verdicts into the outbox.
	Publish bool
}

// Keep says how much is kept.
type Keep struct {
	Verdicts  time.Duration
	Evidence  time.Duration // what verdicts are made of
	Completed time.Duration // the evidence in the verdict of a runner that ended well
	Bytes     int64         // of the ledger, beyond which the oldest evidence is dropped
}

// Defaults are the options that stand where nothing else is said. The server's flags have
// theirs from here.
func Defaults() Options {
	return Options{
		Controllers: ingest.DefaultControllers,
		Settle:      5 * time.Second, Deadline: time.Minute, Silent: 2 * time.Minute,
		LastLines: ingest.DefaultLastLines, MaxOpen: 200_000,
		JobWait: 5 * time.Minute, JobWaitMost: time.Hour, PoolSilent: 24 * time.Hour,
		LokiWindow: 50 * time.Minute,
		Keep: Keep{
			Verdicts: 90 * 24 * time.Hour, Evidence: 48 * time.Hour, Completed: 48 * time.Hour, Bytes: 8 << 30,
		},
	}
}

// fill gives what is not set its default.
func (o *Options) fill() {
	d := Defaults()
	for at, value := range map[*time.Duration]time.Duration{
		&o.Settle: d.Settle, &o.Deadline: d.Deadline, &o.Silent: d.Silent, &o.JobWait: d.JobWait,
		&o.JobWaitMost: d.JobWaitMost, &o.PoolSilent: d.PoolSilent, &o.LokiWindow: d.LokiWindow,
		&o.Keep.Verdicts: d.Keep.Verdicts, &o.Keep.Evidence: d.Keep.Evidence, &o.Keep.Completed: d.Keep.Completed,
	} {
		*at = cmp.Or(*at, value)
	}
	if o.Controllers == nil {
		o.Controllers = d.Controllers
	}
	o.LastLines, o.MaxOpen = cmp.Or(o.LastLines, d.LastLines), cmp.Or(o.MaxOpen, d.MaxOpen)
	o.Keep.Bytes = cmp.Or(o.Keep.Bytes, d.Keep.Bytes)
}

// Docket is the list of open cases. It is safe for concurrent use.
type Docket struct {
	*store
	filer   *filer
	judge   *judge
	waiting *standingJudge
	upkeep  *upkeep
	silence *silenceWatch
	pace    *pace
}

// New returns a docket over a ledger; it starts nothing.
func New(
	l *ledger.Ledger, book *rules.Rulebook, o Options, m *Metrics, log zerolog.Logger, now func() time.Time,
) *Docket {
	o.fill()
	s := &store{ledger: l, options: o, metrics: m, log: log, now: now}
	s.book.Store(book)
	f := newFiler(s)
	j := &judge{store: s, scans: scans.New()}
	return &Docket{
		store:   s,
		filer:   f,
		judge:   j,
		waiting: &standingJudge{s},
		upkeep:  &upkeep{store: s, judge: j},
		silence: &silenceWatch{store: s, filer: f, since: now()},
		pace:    &pace{store: s},
	}
}

// store is the ledger, and what every part of the docket needs beside it.
type store struct {
	ledger  *ledger.Ledger
	options Options
	metrics *Metrics
	log     zerolog.Logger
	now     func() time.Time
	book    atomic.Pointer[rules.Rulebook]
	writing sync.Mutex // one part of the docket writes at a time
}

// Book is the rulebook in force.
func (s *store) Book() *rules.Rulebook { return s.book.Load() }

// SetBook changes the rulebook: what is judged from now on is judged by it.
func (s *store) SetBook(b *rules.Rulebook) { s.book.Store(b) }

// writeAt runs f as one write at a time.
func (s *store) writeAt(ctx context.Context, at time.Time, f func(*ledger.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.ledger.Write(ctx, at, f)
}

// Receive files entries: what the rulebook recognises as evidence, runners'
// other lines as their last words, marks as coverage. The rest is counted and
// dropped. It returns once all of it is on disk.
func (d *Docket) Receive(ctx context.Context, entries []ingest.Entry) error {
	return d.ReceiveFrom(ctx, Origin{}, entries)
}

// ReceiveFrom is Receive for entries whose origin says more or less than that they
// are a node's.
func (d *Docket) ReceiveFrom(ctx context.Context, from Origin, entries []ingest.Entry) error {
	return d.filer.fileEntries(ctx, from, entries)
}

// Due judges every case that is settled, or whose time is up, notices agents that
// fell silent, and counts the others.
func (d *Docket) Due(ctx context.Context) error {
	err := d.judge.judgeDue(ctx)
	if err != nil && ledger.IsAway(err) {
		d.silence.since = d.now() // what was told meanwhile could not be filed
		return err
	}
	err = errors.Join(err, d.waiting.judgeDue(ctx))
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, d.silence.findSilent(ctx), d.pace.renew(ctx))
}

// Pace is how long agents are asked to wait between two pushes that only say how far they
// read.
func (d *Docket) Pace() time.Duration { return time.Duration(d.pace.value.Load()) }

// Upkeep bounds what is kept: by age, by size, and by the number of open cases.
func (d *Docket) Upkeep(ctx context.Context) error { return d.upkeep.runOnce(ctx) }

// Gather returns everything that a case is judged from.
func (d *Docket) Gather(ctx context.Context, c ledger.Case) ([]ingest.Entry, error) {
	if c.Kind != casefile.OfRunner {
		return d.waiting.gather(ctx, d.ledger.Questions, &c, firstMoment(&c))
	}
	found, err := gatherCase(ctx, d.ledger.Questions, &c, d.Book(), d.judge.scans)
	var out []ingest.Entry
	for _, s := range found {
		out = append(out, s.Entry)
	}
	return out, err
}

// Opinion is what a case would be judged now, without recording it: of several
// lives of its container, the last.
func (d *Docket) Opinion(ctx context.Context, c ledger.Case) (*rules.Verdict, error) {
	now, err := d.judge.judgeLives(ctx, d.ledger.Questions, &c)
	if err != nil {
		return nil, err
	}
	return now.lives[len(now.lives)-1], nil
}

// The docket looks for settled cases each dueInterval and after every push, but never
// sooner than duePause after it has looked.
const (
	dueInterval = 500 * time.Millisecond
	duePause    = 20 * time.Millisecond
)

// Run judges what settles until ctx is done.
func (d *Docket) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.runJudging(ctx) })
	g.Go(func() error { return d.runUpkeep(ctx) })
	return g.Wait()
}

func (d *Docket) runJudging(ctx context.Context) error {
	ticker := time.NewTicker(dueInterval)
	defer ticker.Stop()
	for {
		if err := d.Due(ctx); err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("cannot judge the cases that are due; retrying")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(duePause):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.filer.recorded:
		case <-ticker.C:
		}
	}
}

// runUpkeep runs the upkeep beside the judging: nobody's verdict waits for it.
func (d *Docket) runUpkeep(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := d.Upkeep(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("cannot remove old records from the ledger; retrying")
			}
		}
	}
}

// globsName says whether the operator's globs make a pod a runner; ok is false
// when there are none.
func (o *Options) globsName(namespace, name string) (is, ok bool) {
	return o.Runners.Fit(namespace, name), len(o.Runners) > 0
}

// controller says whether a pod is one whose word on others counts.
func (o *Options) controller(namespace, name string) bool {
	return o.Controllers.Fit(namespace, name)
}

// isRunner decides whether a pod is a runner: by the globs, else by what is
// said of it or by the name that controllers give.
func (o *Options) isRunner(c *ledger.Case, said bool) bool {
	if (classify.Subject{Name: c.Name}).Helps() != nil && !c.Runner && !said {
		return false // its job's steps run in it, whatever the globs fit
	}
	if is, ok := o.globsName(c.Namespace, c.Name); ok {
		return is
	}
	return c.Runner || said || strings.Contains(c.Name, "-runner-")
}

// ownerKey is the key, in its cluster, that marks and last lines of a pod are kept under.
func ownerKey(e *ingest.Entry) string {
	if e.PodUID != "" {
		return "uid:" + e.PodUID
	}
	return "pod:" + e.Pod
}

// Nameless says whether an entry is of a kind that only people's files have: a
// runner's output that does not say whose it is, a document of mixed origin.
func Nameless(e ingest.Entry) bool {
	return e.Mark != nil && e.Mark.Kind == ingest.Mixed || e.Source.Forgeable() && e.Mark == nil && e.Pod == ""
}
