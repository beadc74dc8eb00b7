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
// Crash behaviour: the docket holds nothing that the ledger does not; a new
// one goes on where the old one was.
package docket

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Options are what an operator may set. The zero value of each means its
// default.
type Options struct {
	Cluster      string          // that records which name none are of
	Runners      ingest.PodGlobs // globs NAMESPACE/POD of the pods that are runners; none: whatever prints or is treated like one
	Controllers  ingest.PodGlobs // globs NAMESPACE/POD of the controllers' and listeners' pods; those of actions-runner-controller
	Settle       time.Duration   // evidence must be complete so long past a death; 5 s
	Deadline     time.Duration   // a verdict comes so long after a death at the latest; 1 min
	Silent       time.Duration   // a node whose agent is not heard of so long has vanished; 2 min
	LastLines    int             // of each container's output; 10
	MaxOpen      int             // open cases; beyond, the oldest are judged as they are; 200000
	LokiWindow   time.Duration   // a death longer ago is published under the time of its verdict; 50 min
	KeepVerdicts time.Duration   // 90 days
	KeepEvidence time.Duration   // 48 h
	MaxBytes     int64           // the ledger's size; beyond, the oldest evidence goes first; 8 GiB
	Publish      bool            // verdicts go to the outbox
}

func (o *Options) defaults() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Settle, 5*time.Second)
	def(&o.Deadline, time.Minute)
	def(&o.Silent, 2*time.Minute)
	def(&o.LokiWindow, 50*time.Minute)
	def(&o.KeepVerdicts, 90*24*time.Hour)
	def(&o.KeepEvidence, 48*time.Hour)
	if o.Controllers == nil {
		o.Controllers = []string{"arc-systems/*", "actions-runner-system/*"}
	}
	if o.LastLines == 0 {
		o.LastLines = 10
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = 200_000
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 8 << 30
	}
}

// Docket is the list of open cases. It is safe for concurrent use.
type Docket struct {
	ledger  *ledger.Ledger
	options Options
	metrics *Metrics
	log     zerolog.Logger
	now     func() time.Time

	book    atomic.Pointer[rules.Rulebook]
	started time.Time
	line    line       // what waits to be filed
	filing  sync.Mutex // one Receive files at a time
	seen    seen
	wake    chan struct{} // something may be due; owned by Run, never closed
	mu      sync.Mutex    // guards record against a concurrent judgement of the same case

	printed   printed
	strangers *lru.Cache[string, bool] // pods that were warned of
	scans     *scans                   // what the ledger holds about nodes, as many cases ask for it
}

// New returns a docket over a ledger; it starts nothing.
func New(l *ledger.Ledger, book *rules.Rulebook, o Options, m *Metrics, log zerolog.Logger, now func() time.Time) *Docket {
	o.defaults()
	d := &Docket{ledger: l, options: o, metrics: m, log: log, now: now, started: now(), wake: make(chan struct{}, 1)}
	d.printed = newPrinted()
	d.strangers, _ = lru.New[string, bool](1000) // an error only for a size below 1
	d.scans = newScans()
	d.book.Store(book)
	return d
}

// Book is the rulebook in force.
func (d *Docket) Book() *rules.Rulebook { return d.book.Load() }

// SetBook changes the rulebook: what is judged from now on is judged by it.
func (d *Docket) SetBook(b *rules.Rulebook) { d.book.Store(b) }

// tick is how often the docket looks for settled cases without being woken, rest
// how long it does not look again in any case: every push wakes it.
const (
	tick = 500 * time.Millisecond
	rest = 20 * time.Millisecond
)

// Run judges what settles until ctx is done.
func (d *Docket) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.judging(ctx) })
	g.Go(func() error { return d.keeping(ctx) })
	return g.Wait()
}

func (d *Docket) judging(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := d.Due(ctx); err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("judging what is due; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rest):
		}
		select {
		case <-ctx.Done():
			return nil
		case <-d.wake:
		case <-ticker.C:
		}
	}
}

// keeping runs the upkeep beside the judging: nobody's verdict waits for it.
func (d *Docket) keeping(ctx context.Context) error {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := d.Upkeep(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("sweeping the ledger; it is tried again")
			}
		}
	}
}

// runner says whether the operator's globs make a pod a runner; ok is false
// when there are none.
func (o *Options) runner(namespace, name string) (is, ok bool) {
	return o.Runners.Fit(namespace, name), len(o.Runners) > 0
}

// controller says whether a pod is one whose word on others counts.
func (o *Options) controller(namespace, name string) bool {
	return o.Controllers.Fit(namespace, name)
}

// jobPod is the name of a pod that a runner made for its job's containers: its
// own name and an ending.
var jobPod = regexp.MustCompile(`-workflow$|-step-[^-]+$`)

// isRunner decides whether a pod is a runner: by the globs, else by what is
// said of it or by the name that controllers give.
func (d *Docket) isRunner(c *ledger.Case, told bool) bool {
	if is, ok := d.options.runner(c.Namespace, c.Name); ok {
		return is
	}
	return c.Runner || told || strings.Contains(c.Name, "-runner-") && !jobPod.MatchString(c.Name)
}

// owner is the key, in its cluster, that marks and last lines of a pod are kept under.
func owner(e *ingest.Entry) string {
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
