// Package agent is what runs on every node: it follows the node's journal and the
// output of runner and controller pods, keeps the lines that the rulebook recognises,
// and sends them to coroner serve.
//
// Invariant: a source's position is stored only after everything up to it is on disk in
// the spool or with the server, and nothing leaves the spool before the server has it,
// so no recognised line is lost by a stop of either. Every line that is not sent is
// counted by reason.
//
// Crash behaviour: started again, it goes on at the stored positions; what was sent
// twice the server keeps once.
package agent

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/push"
	"coroner/ingest/spool"
	"coroner/rules/signal"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Config says what an Agent follows, and where it sends what it finds.
type Config struct {
	Node    string
	Cluster string // of every record; "" leaves that to the server

	Journal    []string      // folders, as in journal.Config
	Pods       string        // folder, as in podlog.Config
	Follow     []string      // globs NAMESPACE/POD/CONTAINER of the logs to follow
	Controller []string      // globs NAMESPACE/POD of the controllers' and listeners' pods, which are followed, too
	MaxAge     time.Duration // how far a first start, and a changed rulebook, looks back
	LastLines  int           // of a container

	Spool    Spool
	Rulebook Rulebook
	Sender   *push.Sender

	Now func() time.Time // the agent's clock; nil is the machine's
}

// Spool is where records wait for the server, and when they are sent.
type Spool struct {
	Dir      string
	MaxBytes int64
	Batch    time.Duration // between two pushes while there is something to send
	Idle     time.Duration // between two pushes that only say how far the node was read
}

// Rulebook is where the server's rulebook is, and how often it is asked for.
type Rulebook struct {
	URL      string
	Interval time.Duration
	First    *signal.Book // until the server gave another one; nil is the built-in one

	Compile func(source []byte) (*signal.Book, error) // nil: as a server gives it
}

// DefaultFollow are the logs that are followed when nothing else is said: runners,
// and the pods of the usual controllers.
const DefaultFollow = "*/*/runner,*/*-runner-*/*,arc-systems/*/*,actions-runner-system/*/*," +
	"*/*-listener/*,*/*gha-rs-controller*/*"

// Defaults are what is read of a node where nothing else is said. The agent's flags have
// theirs from here.
func Defaults() Config {
	return Config{
		Journal: journal.DefaultDirs, Pods: podlog.DefaultDir, Follow: strings.Split(DefaultFollow, ","),
		Controller: ingest.DefaultControllers, MaxAge: ingest.DefaultMaxAge, LastLines: ingest.DefaultLastLines,
	}
}

// Agent joins the sources, the scan and the spool. Make it with New.
type Agent struct {
	c        Config
	log      zerolog.Logger
	metrics  *metrics
	spool    *spool.Spool
	rulebook *rulebook
	delivery *delivery
	lost     lostRange

	mu     sync.Mutex // guards what follows
	queue  queue
	marks  marks
	allow  *allowance
	state  state
	stored time.Time // when the positions were
	pushed time.Time // when something was spooled last
}

// state is what survives a restart.
type state struct {
	Cursor string            `json:"cursor"`
	At     time.Time         `json:"at"`
	Pods   []podlog.Position `json:"pods"`
	Lost   timeRange         `json:"hole,omitzero"` // where it was stored before the spool did that
}

const (
	fromJournal = "journal"
	fromPods    = "pods"
)

// New opens the spool and takes up the state of an earlier run. It starts nothing.
func New(c Config, log zerolog.Logger, registry prometheus.Registerer) (*Agent, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	a := &Agent{c: c, log: log, allow: newAllowance(c.Now), marks: newMarks(c.Node)}
	var err error
	if a.spool, err = spool.Open(c.Spool.Dir, c.Spool.MaxBytes, losses{a}); err != nil {
		return nil, err
	}
	var untold timeRange
	if err := a.spool.LoadUntold(&untold); err != nil {
		return nil, err
	}
	if _, err := a.spool.LoadState("positions", &a.state); err != nil {
		return nil, err
	}
	a.lost.extendBy(untold)
	a.lost.extendBy(a.state.Lost)
	a.state.Lost = timeRange{}
	a.metrics = newMetrics(registry, a.spool)
	a.queue = queue{spool: a.spool, cluster: c.Cluster, now: c.Now}
	a.rulebook = newRulebook(c.Rulebook, c.Sender, a.spool, log, a.metrics)
	a.delivery = &delivery{spool: a.spool, sender: c.Sender, rulebook: a.rulebook, lost: &a.lost,
		gaps: a.gaps, log: log, metrics: a.metrics}
	return a, a.rulebook.loadFirst()
}

// RulebookHash names the rulebook in force.
func (a *Agent) RulebookHash() string { return a.rulebook.inForce.Load().Hash }

// Run follows the sources until ctx is done, then spools what they still had.
func (a *Agent) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	j, p := a.newJournal(a.state.Cursor, a.state.At), a.newPods(a.state.Pods)
	a.metrics.addReaders(j, p)
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g.Go(func() error { return j.Run(ctx, a.takeJournal) })
	g.Go(func() error { return p.Run(ctx, a.takePods) })
	g.Go(func() error { return a.flushLoop(ctx) })
	g.Go(func() error { return a.rulebook.refreshLoop(ctx) })
	g.Go(func() error { return a.rescanLoop(ctx) })
	var sender sync.WaitGroup
	sender.Go(func() { a.delivery.sendLoop(sending) })
	err := g.Wait()
	a.flushOnce(context.Background(), true)
	stop()
	sender.Wait()
	return err
}

func (a *Agent) newJournal(cursor string, since time.Time) *journal.Reader {
	return journal.New(journal.Config{
		Dirs: a.c.Journal, Node: a.c.Node, Cursor: cursor, Since: since, MaxAge: a.c.MaxAge,
		Wanted: a.rulebook.wantsRecord, Log: a.log,
	})
}

func (a *Agent) newPods(resume []podlog.Position) *podlog.Reader {
	return podlog.New(podlog.Config{
		Dir: a.c.Pods, Node: a.c.Node, Want: a.c.followsLog, Next: a.rulebook.nextMatch,
		Controller: ingest.PodGlobs(a.c.Controller).Name, Resume: resume,
		MaxAge: a.c.MaxAge, LastLines: a.c.LastLines, Log: a.log,
	})
}

// followsLog reports whether a container's log is followed.
func (c *Config) followsLog(namespace, pod, container string) bool {
	for _, glob := range c.Follow {
		if hit, _ := filepath.Match(glob, namespace+"/"+pod+"/"+container); hit {
			return true
		}
	}
	return ingest.PodGlobs(c.Controller).Fit(namespace, pod)
}

// takeJournal takes what the journal's reader gives.
func (a *Agent) takeJournal(b journal.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scanEntries(fromJournal, b.Entries, b.Lines, b.Passed)
	for _, e := range b.Covered {
		a.marks.addCovered(e)
	}
	if b.Cursor != "" {
		a.state.Cursor, a.state.At = b.Cursor, b.At
	}
	a.marks.reached[fromJournal] = b.Reached
	a.metrics.lag.WithLabelValues(fromJournal).Set(b.Behind.Seconds())
	a.queue.spoolIfFull(a.delivery.away.Load())
	return nil
}

// takePods takes what the pods' reader gives.
func (a *Agent) takePods(b podlog.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scanEntries(fromPods, b.Entries, b.Lines, b.Passed)
	a.queue.addLastLines(redacted(a.rulebook.inForce.Load(), b.LastLines))
	a.metrics.contextLines.Add(float64(len(b.LastLines)))
	for _, m := range b.Marks {
		if m.Mark.Kind == ingest.Covered && m.Source == ingest.Runner {
			a.marks.addHeartbeat(m)
			continue
		}
		a.queue.evidence = append(a.queue.evidence, m)
	}
	a.state.Pods = append(a.state.Pods[:0], b.Positions...)
	if !b.Reached.IsZero() {
		a.marks.reached[fromPods] = b.Reached
		a.metrics.lag.WithLabelValues(fromPods).Set(max(0, time.Since(b.Reached).Seconds()))
	}
	a.queue.spoolIfFull(a.delivery.away.Load())
	return nil
}

// redacted takes the secrets out of last lines, which are log by log.
func redacted(book *signal.Book, lines []ingest.Entry) []ingest.Entry {
	same := func(x, y *ingest.Entry) bool {
		return x.PodUID == y.PodUID && x.Pod == y.Pod && x.Container == y.Container
	}
	for from, i := 0, 1; i <= len(lines); i++ {
		if i == len(lines) || !same(&lines[from], &lines[i]) {
			book.RedactTail(lines[from:i])
			from = i
		}
	}
	return lines
}

// scanEntries keeps what the rulebook recognises and counts the rest, of which the
// reader made no entries of what it skipped.
func (a *Agent) scanEntries(source string, entries []ingest.Entry, lines, passed int) {
	book := a.rulebook.inForce.Load()
	read, matched, flood := 0, 0, 0
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Mark != nil:
			a.addEvidence(e)
			continue
		case e.Source.Forgeable() && !a.allow.hasSome(e):
			flood++
		case a.recognised(book, e):
			matched++
			a.addEvidence(e)
		}
		read++
	}
	a.metrics.lines.WithLabelValues(source).Add(float64(lines))
	a.metrics.matched.WithLabelValues(source).Add(float64(matched))
	a.metrics.dropped.WithLabelValues(source, "flood").Add(float64(flood))
	a.metrics.dropped.WithLabelValues(source, "unrecognised").Add(float64(read + passed - matched - flood))
	a.metrics.dropped.WithLabelValues(source, "part-of-a-line").Add(float64(max(0, lines-read-passed)))
}

// recognised reports whether the rulebook knows an entry, and takes that from the
// allowance of its container.
func (a *Agent) recognised(book *signal.Book, e *ingest.Entry) bool {
	found, short := book.ScanWithin(e)
	if e.Source.Forgeable() {
		a.allow.chargeLine(e, len(found) > 0)
	}
	if short {
		a.metrics.short.Inc()
	}
	for i := range found {
		a.metrics.signals.WithLabelValues(found[i].Def.Name).Inc()
	}
	return len(found) > 0
}

// addEvidence takes an entry as evidence.
func (a *Agent) addEvidence(e *ingest.Entry) { a.queue.addEvidence(e, a.delivery.away.Load()) }

// flushLoop spools at the batch's pace.
func (a *Agent) flushLoop(ctx context.Context) error {
	ticker := time.NewTicker(a.c.Spool.Batch)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			a.flushOnce(ctx, false)
		}
	}
}

// flushOnce spools what is waiting. When the spool cannot be written it tries until
// it can. The sources wait until then.
func (a *Agent) flushOnce(ctx context.Context, last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.c.Now()
	if !last && now.Sub(a.pushed) < a.pushPause(now) {
		return
	}
	a.marks.moveTo(&a.queue)
	for {
		err := a.storeAll(now, last || a.delivery.away.Load())
		if err == nil {
			a.pushed = now
			return
		}
		a.metrics.spoolErrors.Inc()
		a.log.Error().Err(err).Msg("the spool cannot be written; reading waits until it can")
		if !pauseFor(ctx, 2*time.Second) {
			return
		}
	}
}

// pushPause is how long after a push the next may come. Evidence does not wait, nor do
// the marks for a while after it: a case may wait for them. Heartbeats alone go with every
// other tick, and the mark of how far everything was read goes seldom; both go no more often than
// the server asks for.
func (a *Agent) pushPause(now time.Time) time.Duration {
	switch {
	case a.queue.length() > 0 || now.Before(a.queue.busyUntil):
		return 0
	case len(a.marks.beats) > 0:
		return max(a.c.Spool.Batch*3/2, a.c.Sender.Pace())
	}
	return max(a.c.Spool.Idle, a.c.Sender.Pace())
}

// keepEvery is how old the positions become, and how long an item may be only in
// memory, while the server takes what it is sent and there is something to send.
const keepEvery = 2 * time.Second

// storeAll spools context before evidence, so that the mark that settles a case
// comes after its last lines. The positions are stored with what they stand for,
// now and then: after a crash what was read since is read again.
func (a *Agent) storeAll(now time.Time, keep bool) error {
	if err := a.queue.putAll(a.delivery.away.Load()); err != nil {
		return err
	}
	if !keep && now.Sub(a.stored) < keepEvery {
		return nil
	}
	err := a.spool.SaveState("positions", a.state)
	if err == nil {
		a.stored = now
	}
	return err
}

// losses is the account of what the agent's spool lost. Lost evidence is a gap in everything that
// the node and its pods said at that time. It is no file, which would cost another, but is
// sent before the next one.
type losses struct{ *Agent }

// Lost takes what the spool dropped.
func (a losses) Lost(i spool.Item, body []byte) {
	a.metrics.dropped.WithLabelValues("spool", "spool-full-"+string(i.Class)).Add(float64(i.Entries))
	a.log.Error().Str("class", string(i.Class)).Int("entries", i.Entries).Msg("the spool is full; the oldest file went")
	if i.Class == spool.Evidence {
		a.lost.extendBy(timeRange{i.From, i.To, tellersOf(body)})
	}
}

// Untold is what the server is still to be told of.
func (a losses) Untold() any { return a.lost.currentRange() }
