package podlog

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// While many lines are written, rotated, compressed and refused, every one of
// them comes once.
func TestBurst(t *testing.T) {
	n := newNode(t)
	const lines = 30000
	var all []*container
	for i := range 3 {
		all = append(all, (&node{t: t, dir: n.dir, now: dawn}).runner(fmt.Sprint("p", i)))
	}
	var writers sync.WaitGroup
	for _, c := range all {
		writers.Go(func() { c.burst(lines, 2500) })
	}
	b := &bursts{node: n, harvest: &harvest{}, lines: len(all) * lines, late: time.Now().Add(time.Minute)}
	for round := 0; b.round(round); round++ {
	}
	writers.Wait()
	for _, c := range all {
		same(t, c.doc(), texts(b.entries, c.doc()), numbered(0, lines))
	}
	if len(b.gaps) != 0 {
		t.Errorf("gaps %v", b.gaps)
	}
}

// burst writes lines and rotates the log after every so many, in the middle of
// a burst.
func (c *container) burst(lines, every int) {
	last := ""
	for i := 0; i < lines; i += every {
		c.count(i, i+every/2)
		name := c.rename()
		c.count(i+every/2, i+every)
		_ = c.out.Close()
		c.reopen()
		if last != "" {
			c.zip(last)
		}
		last = name
	}
}

// bursts are the runs of a reader over what writers leave behind.
type bursts struct {
	*node
	*harvest
	lines int
	late  time.Time
}

var errRefused, errEnough = errors.New("no room"), errors.New("enough")

func (b *bursts) whole() bool { return b.harvest.lines >= b.lines }

// round is one run, which ends with a refused batch, a done context, or all
// lines; more says that lines are missing.
func (b *bursts) round(k int) (more bool) {
	var batches atomic.Int64
	x := b.run(Config{Resume: b.positions}, k%2 == 0, func(x *running) {
		x.harvest = b.harvest
		x.refuse = func() error {
			if batches.Add(1) > 30 && k < 6 {
				return errRefused
			}
			if b.whole() || time.Now().After(b.late) {
				return errEnough
			}
			return nil
		}
	})
	if k%3 == 2 {
		x.until("some lines", func() bool { return batches.Load() > 3 || b.whole() })
		x.cancel()
	}
	err := <-x.done
	if err != nil && err != errRefused && err != errEnough || x.r.Open() != 0 {
		b.t.Fatalf("%v, %d files are left open", err, x.r.Open())
	}
	return err != errEnough && !b.whole()
}

// However fast a log is rotated, no file is missing among those that are opened
// together.
func TestFileSetIsWhole(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var names []string
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			c.say(fmt.Sprint(i))
			names = append(names, c.rotate())
			if len(names) > 4 {
				c.must(os.Remove(c.file(names[0])))
				names = names[1:]
			}
		}
	}()
	st, err := newTail(key{c.path, 0}, s.r.env, s.r.out)
	n.must(err)
	for whole := 0; whole < 2000; {
		ch, err := s.r.read.files.openAll(st)
		if err != nil {
			continue // it was too fast
		}
		whole++
		checkWhole(t, ch)
		ch.closeAllBut(nil)
	}
	close(quit)
	<-done
}

func checkWhole(t *testing.T, c fileSet) {
	t.Helper()
	last := -1
	for i, f := range c.files {
		_, text, ok := strings.Cut(strings.TrimSpace(string(f.head.text)), " stdout F ")
		k, err := strconv.Atoi(text)
		if !ok && i == len(c.files)-1 {
			return // just opened
		}
		if err != nil || last >= 0 && k != last+1 {
			t.Fatalf("%q follows %d", f.head.text, last)
		}
		last = k
	}
}
