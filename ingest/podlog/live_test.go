package podlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// running is a reader that runs, with what it gave so far.
type running struct {
	*harvest
	mu     sync.Mutex
	t      testing.TB
	r      *Reader
	news   chan struct{} // holds a value after a batch
	cancel context.CancelFunc
	done   chan error
	gate   chan struct{} // emit waits until it is closed; nil: it does not
	stuck  chan struct{} // holds a value once it waits
	refuse func() error  // what emit returns
}

// run starts a reader on the node. slow has it list the tree once only.
func (n *node) run(c Config, slow bool, with func(*running)) *running {
	c.Dir, c.Node, c.MaxAge = n.dir, "node-a", 200*365*24*time.Hour // the lines bear the node's time, not the clock's
	ctx, cancel := context.WithCancel(n.t.Context())
	x := &running{harvest: &harvest{}, t: n.t, r: New(c), news: make(chan struct{}, 1), cancel: cancel,
		done: make(chan error, 1)}
	x.r.env.every = intervals{poll: 5 * time.Millisecond, round: 20 * time.Millisecond, batch: 10 * time.Millisecond,
		heartbeat: time.Second, linger: 10 * time.Millisecond}
	if slow {
		x.r.env.every.round = time.Hour
	}
	if with != nil {
		with(x)
	}
	go func() { x.done <- x.r.Run(ctx, x.emit) }()
	n.t.Cleanup(cancel)
	return x
}

func (x *running) emit(b Batch) error {
	if x.gate != nil {
		select {
		case x.stuck <- struct{}{}:
		default:
		}
		<-x.gate
	}
	if x.refuse != nil {
		if err := x.refuse(); err != nil {
			return err
		}
	}
	x.mu.Lock()
	x.add(b)
	x.mu.Unlock()
	select {
	case x.news <- struct{}{}:
	default:
	}
	return nil
}

// until waits for a batch after which ok holds.
func (x *running) until(what string, ok func() bool) {
	x.t.Helper()
	late := time.After(30 * time.Second)
	for {
		x.mu.Lock()
		is := ok()
		x.mu.Unlock()
		if is {
			return
		}
		select {
		case <-x.news:
		case <-late:
			x.mu.Lock()
			defer x.mu.Unlock()
			x.t.Fatalf("waited in vain for %s: %d records, %d lines, %d open, gaps %v", what, len(x.entries), x.lines,
				x.r.Open(), x.gaps)
		}
	}
}

// eventually waits for what needs no batch.
func (x *running) eventually(what string, ok func() bool) {
	x.t.Helper()
	for late := time.Now().Add(30 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(late) {
			x.t.Fatalf("waited in vain until %s: %d open", what, x.r.Open())
		}
	}
}

// held is how many files the watcher has caught.
func (x *running) held() int {
	x.r.watch.mu.Lock()
	defer x.r.watch.mu.Unlock()
	return len(x.r.watch.caught)
}

// stop ends the run as a done context does.
func (x *running) stop() {
	x.t.Helper()
	x.cancel()
	if err := <-x.done; err != nil {
		x.t.Fatal(err)
	}
	if x.r.Open() != 0 {
		x.t.Errorf("%d files are left open", x.r.Open())
	}
}

// Pods that are gone before the tree is listed again are caught all the same.
func TestShortLivedPods(t *testing.T) {
	n := newNode(t)
	x := n.run(Config{}, true, nil)
	x.until("a round", func() bool { return !x.reached.IsZero() })
	var slowest time.Duration
	for i := range 20 {
		began := time.Now()
		c := n.runner(fmt.Sprint("p", i))
		x.eventually("it is open", func() bool { return x.r.Open() > 0 })
		slowest = max(slowest, time.Since(began))
		c.count(0, 5)
		c.line("P", "killed here")
		c.delete()
		x.until("its end", func() bool { return x.ended(c.doc()) })
		x.mu.Lock()
		same(t, "texts", texts(x.entries, c.doc()), append(numbered(0, 5), "killed here"))
		same(t, "context", texts(x.context, c.doc()), append(numbered(0, 5), "killed here"))
		x.mu.Unlock()
	}
	t.Logf("open %v after the pod's begin at worst", slowest)
	if slowest > 10*time.Second {
		t.Errorf("it took %v to open a new log", slowest)
	}
	x.stop()
}

// A pod that comes and goes while a batch is being stored is caught too.
func TestShortLivedPodWhileBusy(t *testing.T) {
	n := newNode(t)
	gate := make(chan struct{})
	x := n.run(Config{}, true, func(x *running) { x.gate, x.stuck = gate, make(chan struct{}, 1) })
	<-x.stuck
	var all []*container
	for i := range 5 {
		c := n.runner(fmt.Sprint("p", i))
		all = append(all, c)
		x.eventually("it is caught", func() bool { return x.held() == i+1 })
		c.count(0, 5)
	}
	for _, c := range all {
		c.delete()
	}
	close(gate)
	for _, c := range all {
		x.until("its end", func() bool { return x.ended(c.doc()) })
		same(t, "texts", texts(x.entries, c.doc()), numbered(0, 5))
	}
	x.stop()
	if len(x.gaps) != 0 {
		t.Errorf("gaps %v", x.gaps)
	}
}

// The watcher and the rescans may find the same file; what it opened too much is
// closed, and what only it has seen is read.
func TestAdopt(t *testing.T) {
	n := newNode(t)
	c, d := n.runner("a"), n.runner("b")
	c.count(0, 3)
	s := n.steps(Config{})
	s.polls(1)
	catch := func(c *container) caughtFile {
		f, err := openLog(c.file(""), false, &s.r.env.opened)
		n.must(err)
		return caughtFile{key{c.path, c.restart}, f}
	}
	s.r.tracker.adoptCaught(catch(c)) // it is open
	if s.r.Open() != 2 {
		t.Errorf("%d open", s.r.Open())
	}
	c.rotate()
	c.count(3, 6)
	young := catch(c)
	c.delete()
	s.r.tracker.adoptCaught(young) // it came and went
	d.count(0, 3)
	e := n.container(d.path, 1)
	e.count(0, 3)
	s.polls(3)
	s.r.tracker.adoptCaught(catch(d)) // it has ended
	gone := catch(e)
	e.delete()
	d.clean()
	s = s.again(n, Config{})
	s.r.tracker.adoptCaught(gone) // only the rescan knows whether that is the file of the position
	s.polls(3)
	same(t, "a", texts(s.entries, c.doc()), numbered(0, 6))
	same(t, "b", texts(s.entries, d.doc()), numbered(0, 3))
	same(t, "b again", texts(s.entries, e.doc()), numbered(0, 3))
	if s.r.Open() != 0 || len(s.positions) != 0 || !s.ended(c.doc()) || !s.ended(d.doc()) || !s.ended(e.doc()) {
		t.Errorf("%d open, positions %+v", s.r.Open(), s.positions)
	}
}

// A file that was caught and is open again, compressed, is read once, and so are those
// that came after it.
func TestAdoptCompressed(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.count(0, 3)
	s := n.steps(Config{})
	s.polls(1)
	c.rotate()
	c.count(3, 6)
	f, err := openLog(c.file(""), false, &s.r.env.opened)
	n.must(err)
	second := c.rotate()
	c.count(6, 9)
	c.zip(second)
	s.r.tree.fullRescan(s.clock)
	c.rename() // the runtime has yet to open the next
	s.r.tracker.adoptCaught(caughtFile{key{c.path, 0}, f})
	s.polls(2)
	n.must(c.out.Close())
	c.reopen()
	c.count(9, 12)
	s.polls(2)
	same(t, "a", texts(s.entries, c.doc()), numbered(0, 12))
}

// A file between the one that is open and the one that was caught is not left out, though
// the log has no newest file just now.
func TestAdoptLeavesNothingOut(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.count(0, 3)
	s := n.steps(Config{})
	s.polls(1)
	c.rotate()
	c.count(3, 6)
	c.rotate()
	c.count(6, 9)
	f, err := openLog(c.file(""), false, &s.r.env.opened)
	n.must(err)
	c.rename()
	s.r.tracker.adoptCaught(caughtFile{key{c.path, 0}, f})
	s.polls(2)
	n.must(c.out.Close())
	c.reopen()
	c.count(9, 12)
	s.polls(2)
	same(t, "a", texts(s.entries, c.doc()), numbered(0, 12))
}

// A file that was emptied and written to again is another one, also where its first
// bytes are as many as before.
func TestStartOverHasAnotherPrint(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.say("before")
	f, err := openLog(c.file(""), false, new(atomic.Int64))
	n.must(err)
	defer f.closeFile()
	before := f.offsetAt(0)
	f.startOver()
	n.must(c.out.Truncate(0))
	c.say("behind")
	_, err = f.readInto(make([]byte, 100))
	if f.contains(before) || f.offsetAt(0) == before {
		t.Errorf("%v, the file is taken for the one that it was", err)
	}
}

// Names that appear wake the reader, and directories are watched from their
// begin, also when they come again.
func TestWakes(t *testing.T) {
	n := newNode(t)
	x := n.run(Config{}, true, func(x *running) { x.r.env.every.poll = time.Hour })
	x.eventually("the tree was listed", func() bool { return x.r.watch.has("") })
	for range 3 {
		dir := filepath.Join(n.dir, "ci_a_"+uid, "runner")
		n.must(os.MkdirAll(dir, 0o755))
		x.eventually("it is watched", func() bool { return x.r.watch.has("ci_a_" + uid + "/runner") })
		c := n.runner("a")
		x.eventually("it is taken", func() bool { return x.held() == 0 && x.r.Open() == 1 })
		c.clean()
		n.must(os.RemoveAll(dir))
		x.eventually("it is closed", func() bool { return x.r.Open() == 0 && !x.r.watch.has("ci_a_"+uid+"/runner") })
	}
	x.stop()
}

// Writes are found without a notification and without a rescan.
func TestWritesArePolled(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	x := n.run(Config{}, true, nil)
	x.until("a round", func() bool { return !x.reached.IsZero() })
	x.r.watch.inotify.Remove("ci_a_" + uid + "/runner")
	c.count(0, 5)
	x.until("the lines", func() bool { return x.lines == 5 })
	x.stop()
}

// Names whose notifications were too many for the kernel are found by a full rescan.
func TestOverflow(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	x := n.run(Config{}, true, nil)
	x.until("a round", func() bool { return !x.reached.IsZero() })
	x.r.watch.inotify.Remove("ci_a_" + uid + "/runner")
	c.rotate()
	c.count(0, 5)
	x.r.watch.Overflow()
	x.until("the lines", func() bool { return x.lines == 5 })
	x.stop()
}

// The watcher is not held up by a batch that is being stored.
func TestWatchesWhileBusy(t *testing.T) {
	n := newNode(t)
	gate := make(chan struct{})
	x := n.run(Config{}, true, func(x *running) { x.gate, x.stuck = gate, make(chan struct{}, 1) })
	<-x.stuck
	n.must(os.MkdirAll(filepath.Join(n.dir, "ci_a_"+uid, "runner"), 0o755))
	x.eventually("it is watched", func() bool { return x.r.watch.has("ci_a_" + uid + "/runner") })
	c := n.runner("a")
	x.eventually("it is caught", func() bool { return x.held() == 1 })
	c.say("last lines")
	c.delete()
	close(gate)
	x.until("its end", func() bool { return x.ended(c.doc()) })
	same(t, "texts", texts(x.entries, ""), []string{"last lines"})
	x.stop()
}

func (w *watcher) has(rel string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watched[rel]
}

// Pods that came and went leave nothing behind.
func TestManyPods(t *testing.T) {
	n := newNode(t)
	x := n.run(Config{}, false, nil)
	before := descriptors(t)
	for i := range 500 {
		c := n.runner(fmt.Sprint("p", i))
		c.say("hello")
		x.until("its line", func() bool { return x.lines == i+1 })
		c.delete()
	}
	x.until("the end of all", func() bool {
		return x.r.Open() == 0 && len(x.positions) == 0 && len(x.context) == 500
	})
	if after := descriptors(t); after > before+3 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	x.cancel()
	if err := <-x.done; err != nil {
		t.Fatal(err)
	}
	r := x.r
	if len(
		r.tails.byKey,
	)+len(
		r.tails.order,
	)+len(
		r.tails.byPod,
	)+len(
		r.env.problems.logged,
	)+len(
		r.watch.changed,
	)+len(
		r.watch.caught,
	) != 0 ||
		len(r.watch.watched) > 1 {
		t.Errorf(
			"left: %d streams, %v, %v, %v",
			len(r.tails.byKey),
			r.tails.byPod,
			r.env.problems.logged,
			r.watch.watched,
		)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// Without notifications the tree is listed again and again.
func TestPolling(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	x := n.run(Config{}, false, func(x *running) {
		x.r.watch.lost = true // and a lost one does no harm
	})
	x.until("a round", func() bool { return !x.reached.IsZero() })
	x.r.watch.Overflow()
	x.r.watch.inotify.Close()
	c.count(0, 5)
	d := n.runner("b")
	d.count(0, 5)
	x.until("the lines", func() bool { return x.lines == 10 })
	c.delete()
	x.until("the end", func() bool { return x.ended(c.doc()) })
	x.stop()
}

// A done context lets what was written before come through.
func TestStopReadsToTheEnd(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	x := n.run(Config{}, true, nil)
	x.until("a round", func() bool { return !x.reached.IsZero() })
	c.count(0, 5000)
	c.rotate()
	c.count(5000, 6000)
	x.stop()
	same(t, "texts", texts(x.entries, ""), numbered(0, 6000))
	same(t, "context", texts(x.context, "")[len(x.context)-10:], numbered(5990, 6000))
	if p := x.positions; len(p) != 1 || p[0].Lines != 6000 || p[0].PendingLastLines != nil {
		t.Errorf("positions %+v", p)
	}
}

// Someone who writes without end does not keep a stop waiting.
func TestStopUnderFire(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	var writer sync.WaitGroup
	quit := make(chan struct{})
	writer.Go(func() {
		for i := 0; i < 2_000_000; i++ {
			select {
			case <-quit:
				return
			default:
				c.raw("2026-05-04T10:00:00Z stdout F " + strings.Repeat("x", 200) + "\n")
			}
		}
	})
	x := n.run(Config{}, false, nil)
	x.until("some lines", func() bool { return x.lines > 1000 && !x.reached.IsZero() })
	x.stop()
	close(quit)
	writer.Wait()
}

// The directory of all pods may come later than the reader.
func TestDirComesLater(t *testing.T) {
	n := newNode(t)
	n.dir = filepath.Join(n.dir, "pods")
	x := n.run(Config{}, false, nil)
	x.until("a batch", func() bool { return x.batches > 3 })
	c := n.runner("a")
	c.count(0, 3)
	x.until("the lines", func() bool { return x.lines == 3 })
	x.stop()
	if !slices.Equal(texts(x.entries, ""), numbered(0, 3)) {
		t.Error(texts(x.entries, ""))
	}
}
