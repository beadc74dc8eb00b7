package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/push"
	"coroner/ingest/spool"
	"coroner/rules"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// agent joins the sources, the scan and the spool.
type agent struct {
	c       *cli
	log     zerolog.Logger
	spool   *spool.Spool
	sender  *push.Sender
	metrics *metrics
	book    atomic.Pointer[rules.Rulebook]
	rescan  chan *rules.Rulebook // holds the rulebook that changed; owned by run, never closed
	away    atomic.Bool          // the server did not take the last push
	hole    hole

	mu sync.Mutex // guards what follows
	pending
	allow     *allowance
	covered   map[string]ingest.Entry // the latest span of each source and boot
	beats     map[string]ingest.Entry // and of each runner's log
	state     state
	reached   map[string]time.Time // by source
	told      time.Time            // the Reached mark that was spooled last
	pushed    time.Time            // when something was spooled last
	stored    time.Time            // when the positions were
	busyUntil time.Time            // evidence came lately: its death may wait for the marks
}

// pending is what waits for the next flush.
type pending struct {
	evidence []ingest.Entry
	context  []ingest.Entry
	held     int // bytes of text in it
}

// state is what survives a restart.
type state struct {
	Cursor string            `json:"cursor"`
	At     time.Time         `json:"at"`
	Pods   []podlog.Position `json:"pods"`
	Hole   lapse             `json:"hole,omitzero"`
}

const (
	fromJournal = "journal"
	fromPods    = "pods"
)

func newAgent(c *cli, d *daemon.Daemon) (*agent, error) {
	a := &agent{c: c, log: d.Log, allow: newAllowance(time.Now), rescan: make(chan *rules.Rulebook, 1),
		covered: map[string]ingest.Entry{}, beats: map[string]ingest.Entry{}, reached: map[string]time.Time{}}
	var err error
	if a.spool, err = spool.Open(c.State, c.SpoolSize, a.lost); err != nil {
		return nil, err
	}
	if _, err := a.spool.LoadState("positions", &a.state); err != nil {
		return nil, err
	}
	a.hole.add(a.state.Hole)
	if a.sender, err = c.sender(); err != nil {
		return nil, err
	}
	a.metrics = newMetrics(d.Registry, a.spool)
	book, err := a.firstBook()
	a.book.Store(book)
	return a, err
}

// run follows the sources until ctx is done, then spools what they still had.
func (a *agent) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	j, p := a.journal(a.state.Cursor, a.state.At), a.pods(a.state.Pods)
	a.metrics.readers(j, p)
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g.Go(func() error { return j.Run(ctx, a.takeJournal) })
	g.Go(func() error { return p.Run(ctx, a.takePods) })
	g.Go(func() error { return a.flushes(ctx) })
	g.Go(func() error { return a.rulebooks(ctx) })
	g.Go(func() error { return a.rescans(ctx) })
	var sender sync.WaitGroup
	sender.Go(func() { a.send(sending) })
	err := g.Wait()
	a.flush(context.Background(), true)
	stop()
	sender.Wait()
	return err
}

// takeJournal takes what the journal's reader gives.
func (a *agent) takeJournal(b journal.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scan(fromJournal, b.Entries, b.Lines, b.Passed)
	for _, e := range b.Covered {
		a.covered[string(e.Source)+" "+e.Boot+" "+e.Mark.From.String()] = e
	}
	if b.Cursor != "" {
		a.state.Cursor, a.state.At = b.Cursor, b.At
	}
	a.reached[fromJournal] = b.Reached
	a.metrics.lag.WithLabelValues(fromJournal).Set(b.Behind.Seconds())
	a.relieve()
	return nil
}

// takePods takes what the pods' reader gives.
func (a *agent) takePods(b podlog.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scan(fromPods, b.Entries, b.Lines, b.Passed)
	a.context = append(a.context, a.redacted(b.LastLines)...)
	for i := range b.LastLines {
		a.held += len(b.LastLines[i].Text)
	}
	a.metrics.contextLines.Add(float64(len(b.LastLines)))
	for _, m := range b.Marks {
		if m.Mark.Kind == ingest.Covered && m.Source == ingest.Runner {
			a.beats[m.Doc+" "+m.Mark.From.String()] = m
			continue
		}
		a.evidence = append(a.evidence, m)
	}
	a.state.Pods = append(a.state.Pods[:0], b.Positions...)
	if !b.Reached.IsZero() {
		a.reached[fromPods] = b.Reached
		a.metrics.lag.WithLabelValues(fromPods).Set(max(0, time.Since(b.Reached).Seconds()))
	}
	a.relieve()
	return nil
}

// redacted takes the secrets out of last lines, which stand stream by stream.
func (a *agent) redacted(lines []ingest.Entry) []ingest.Entry {
	book := a.book.Load()
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

// wanted says whether the rulebook could recognise a record of the journal. The
// rulebook may change between this and scan: the look-back is read again then.
func (a *agent) wanted(by ingest.Source, message []byte) bool {
	return a.book.Load().Wanted(by, message)
}

// scan keeps what the rulebook recognises and counts the rest, of which the
// reader made no entries of what it passed over.
func (a *agent) scan(source string, entries []ingest.Entry, lines, passed int) {
	book := a.book.Load()
	read, matched, flood := 0, 0, 0
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Mark != nil:
			a.collect(e)
			continue
		case e.Source.Forgeable() && !a.allow.open(e):
			flood++
		case a.recognised(book, e):
			matched++
			a.collect(e)
		}
		read++
	}
	a.metrics.lines.WithLabelValues(source).Add(float64(lines))
	a.metrics.matched.WithLabelValues(source).Add(float64(matched))
	a.metrics.dropped.WithLabelValues(source, "flood").Add(float64(flood))
	a.metrics.dropped.WithLabelValues(source, "unrecognised").Add(float64(read + passed - matched - flood))
	a.metrics.dropped.WithLabelValues(source, "part-of-a-line").Add(float64(max(0, lines-read-passed)))
}

// recognised says whether the rulebook knows an entry, and takes that from the
// allowance of its container.
func (a *agent) recognised(book *rules.Rulebook, e *ingest.Entry) bool {
	found, short := book.ScanWithin(e)
	if e.Source.Forgeable() {
		a.allow.charge(e, len(found) > 0)
	}
	if short {
		a.metrics.short.Inc()
	}
	for i := range found {
		a.metrics.signals.WithLabelValues(found[i].Def.Name).Inc()
	}
	return len(found) > 0
}

// collect takes an entry as evidence. Much that came at once goes into the spool.
func (a *agent) collect(e *ingest.Entry) {
	a.evidence = append(a.evidence, *e)
	a.held += len(e.Text)
	a.busyUntil = time.Now().Add(busy)
	a.relieve()
}

// busy is how long after evidence the marks are sent at the batch's pace.
const busy = 15 * time.Second

// flushes spools at the batch's pace.
func (a *agent) flushes(ctx context.Context) error {
	ticker := time.NewTicker(a.c.Batch)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			a.flush(ctx, false)
		}
	}
}

// flush spools what is waiting. When the spool cannot be written it tries until
// it can: the sources wait meanwhile.
func (a *agent) flush(ctx context.Context, last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !last && now.Sub(a.pushed) < a.pace(now) {
		return
	}
	a.marks()
	for {
		err := a.store(now, last || a.away.Load())
		if err == nil {
			a.pushed = now
			return
		}
		a.metrics.spoolErrors.Inc()
		a.log.Error().Err(err).Msg("the spool cannot be written; reading waits until it can")
		if !pause(ctx, 2*time.Second) {
			return
		}
	}
}

// pace is how long after a push the next may come. That logs grow, and nothing
// else, is told at every other tick, and that not even they do seldom: except for
// a while after evidence, whose death may wait for the marks.
func (a *agent) pace(now time.Time) time.Duration {
	switch {
	case len(a.evidence)+len(a.context) > 0 || now.Before(a.busyUntil):
		return 0
	case len(a.beats) > 0:
		return a.c.Batch * 3 / 2
	}
	return a.c.Idle
}

// marks adds what is covered and how far everything was read.
func (a *agent) marks() {
	a.gaps()
	for key, e := range a.covered {
		a.evidence = append(a.evidence, e)
		delete(a.covered, key)
	}
	for key, e := range a.beats {
		a.context = append(a.context, e)
		delete(a.beats, key)
	}
	reached := a.reached[fromJournal]
	if p := a.reached[fromPods]; p.Before(reached) {
		reached = p
	}
	if !reached.After(a.told) {
		return
	}
	a.told = reached
	a.evidence = append(a.evidence, ingest.Entry{Node: a.c.Node, At: reached, Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested,
		Mark: &ingest.Mark{Kind: ingest.Reached, To: reached}})
}

// keepEvery is how old the positions become, and how long an item may be only in
// memory, while the server takes what it is sent and there is something to send.
const keepEvery = 2 * time.Second

// store spools context before evidence, so that the mark that settles a case
// comes after its last words. The positions are stored with what they stand for,
// now and then: after a crash what was read since is read again.
func (a *agent) store(now time.Time, keep bool) error {
	if err := a.putAll(); err != nil {
		return err
	}
	if !keep && now.Sub(a.stored) < keepEvery {
		return nil
	}
	a.state.Hole = a.hole.seen()
	err := a.spool.SaveState("positions", a.state)
	if err == nil {
		a.stored = now
	}
	return err
}

func (a *agent) putAll() error {
	if !a.away.Load() { // nothing will have to be dropped: one push is less work than two
		a.evidence = slices.Insert(a.evidence, 0, a.context...)
		a.context = emptied(a.context)
	}
	return errors.Join(a.put(spool.Context, &a.context), a.put(spool.Evidence, &a.evidence))
}

// relieve puts much that came at once into the spool, where it takes a small part
// of the room. What cannot be encoded the next flush says.
func (a *agent) relieve() {
	if len(a.evidence)+len(a.context) >= maxHeld || a.held >= maxHeldBytes {
		_ = a.putAll()
		a.busyUntil = time.Now().Add(busy) // its mark is not to wait either
	}
}

// maxEntries and maxPush, bytes of text, keep a push well under the server's limit:
// entries have at most 16 KiB, and nearly all of them some hundred bytes.
const (
	maxEntries = 400
	maxPush    = 1 << 20
)

// maxHeld is how many entries wait for the next flush at most, and of how many the
// room is kept; maxHeldBytes is the same in bytes of text.
const (
	maxHeld      = 4 * maxEntries
	maxHeldBytes = 4 * maxPush
)

// emptied is a list's room for the next entries, if it is not that of a burst.
func emptied(list []ingest.Entry) []ingest.Entry {
	if cap(list) > maxHeld {
		return nil
	}
	clear(list)
	return list[:0]
}

// put spools entries and empties the list.
func (a *agent) put(class spool.Class, entries *[]ingest.Entry) error {
	all := *entries
	for len(*entries) > 0 {
		some := (*entries)[:pushful(*entries)]
		for i := range some {
			some[i].Cluster = a.c.Cluster
		}
		body, err := push.Encode(some)
		if err != nil {
			return err
		}
		item := spool.Item{Class: class, Entries: len(some)}
		l := lapseOf(some)
		item.From, item.To = l.From, l.To
		a.spool.Put(item, body)
		*entries = (*entries)[len(some):]
	}
	*entries = emptied(all)
	a.held = 0
	return nil
}

// pushful is how many of the entries one push takes.
func pushful(entries []ingest.Entry) int {
	size := 0
	for i := range entries {
		if size += len(entries[i].Text); i == maxEntries || i > 0 && size > maxPush {
			return i
		}
	}
	return len(entries)
}

// send delivers the spool's files in order.
func (a *agent) send(ctx context.Context) {
	wait := time.Duration(0)
	for {
		item, body, err := a.spool.Next()
		if errors.Is(err, spool.ErrEmpty) {
			select {
			case <-ctx.Done():
				return
			case <-a.spool.More():
				continue
			}
		}
		if err != nil {
			a.metrics.spoolErrors.Inc()
			a.log.Error().Err(err).Msg("the spool cannot be read; sending waits until it can, or until that file is removed")
			if !pause(ctx, 2*time.Second) {
				return
			}
			continue
		}
		err = a.sender.Post(ctx, body)
		if wait = a.sent(item, err, wait); wait > 0 && !pause(ctx, wait) || ctx.Err() != nil {
			return
		}
	}
}

// sent handles the answer to a push and says how long to wait before the next.
func (a *agent) sent(item spool.Item, err error, waited time.Duration) time.Duration {
	var refused push.Refused
	var later push.Later
	switch {
	case err == nil:
		a.metrics.pushes.WithLabelValues("sent").Inc()
		a.away.Store(false)
		a.spool.Done(item)
		return 0
	case errors.As(err, &refused):
		a.metrics.pushes.WithLabelValues("refused").Inc()
		a.metrics.dropped.WithLabelValues("spool", "refused").Add(float64(item.Entries))
		a.log.Error().Err(err).Int("entries", item.Entries).Msg("the server refused a push; it is dropped")
		a.spool.Done(item)
		return 0
	}
	a.metrics.pushes.WithLabelValues("postponed").Inc()
	a.away.Store(true)
	a.keep()
	wait := min(30*time.Second, max(500*time.Millisecond, 2*waited))
	if errors.As(err, &later) && later.After > wait {
		wait = later.After
	}
	a.log.Warn().Err(err).Dur("again_in", wait).Msg("the server did not take a push; it is sent again")
	return wait
}

// keep writes what the server did not take. Where that fails, so will the next
// flush, and wait until it can be done.
func (a *agent) keep() {
	if err := a.spool.Keep(); err != nil {
		a.metrics.spoolErrors.Inc()
		a.log.Error().Err(err).Msg("the spool cannot be written")
	}
}

// pause waits; false means that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
