package podlog

import (
	"fmt"
	"testing"
	"time"
)

// The last lines come once, when a stream has been quiet, and then only what is
// new.
func TestQuiet(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{LastLines: 4, Quiet: 3 * time.Second})
	s.polls(5)
	c.count(0, 10)
	s.polls(2)
	if len(s.context) != 0 {
		t.Fatalf("too early: %q", texts(s.context, ""))
	}
	s.polls(10)
	same(t, "context", texts(s.context, ""), numbered(6, 10))
	c.count(10, 12)
	s.polls(2)
	c.count(12, 13) // it was not quiet for long enough
	s.polls(1)
	same(t, "context", texts(s.context, ""), numbered(6, 10))
	s.polls(10)
	same(t, "context", texts(s.context, ""), numbered(6, 13))
	c.delete()
	s.polls(3)
	same(t, "context", texts(s.context, ""), numbered(6, 13))
}

// Whoever prints long lines does not get more memory for last lines.
func TestQuietIsBounded(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{LastLines: 1000})
	for i := range 40 {
		c.say(fmt.Sprint(i, long(8000)))
	}
	s.polls(5)
	if k := len(s.context); k < 7 || k > 9 {
		t.Errorf("%d records of 8 KB", k)
	}
}

// Reached trails the clock by Quiet once all was read, and not before.
func TestReached(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.count(0, 50000)
	s := n.steps(Config{Quiet: 2 * time.Second})
	s.clock = s.clock.Add(time.Second)
	for more := true; more; {
		var err error
		if more, err = s.r.pollOnce(); err != nil {
			t.Fatal(err)
		}
		if more && !s.reached.IsZero() {
			t.Fatalf("reached %v with %d lines", s.reached, s.lines)
		}
		n.must(s.r.out.sendBatch())
	}
	if want := s.clock.Add(-2 * time.Second); !s.reached.Equal(want) {
		t.Errorf("reached %v, want %v", s.reached, want)
	}
	last := s.reached
	s.clock = s.clock.Add(-time.Hour)
	s.polls(3)
	if s.reached.Before(last) {
		t.Errorf("went back to %v", s.reached)
	}
}

// When Reached has passed a stream's last line, its last lines were given.
func TestReachedHoldsContext(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Quiet: 3 * time.Second})
	s.polls(2)
	for i := range 30 {
		c.count(i, i+1)
		wrote := s.clock.Add(time.Millisecond)
		for range i % 7 {
			s.polls(1)
			if s.reached.After(wrote) &&
				(len(s.context) == 0 || s.context[len(s.context)-1].Text != fmt.Sprint("line ", i)) {
				t.Fatalf("round %d: reached %v, written %v, context %q", i, s.reached, wrote, texts(s.context, ""))
			}
		}
	}
}

// Old lines of a first start count, but are not given nor covered.
func TestMaxAge(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	n.now = dawn.Add(-9 * time.Hour)
	c.count(0, 5)
	old := c.rotate()
	n.now = dawn.Add(-8 * time.Hour)
	c.count(5, 10)
	c.rotate()
	c.zip(old)
	c.line("P", "old start ")
	n.now = dawn
	c.line("F", "young end")
	c.count(10, 15)
	quiet := n.runner("b")
	n.now = dawn.Add(-8 * time.Hour)
	quiet.count(0, 3)
	dead := n.runner("c")
	dead.count(0, 3)
	alive := n.container(dead.path, 1)
	n.now = dawn
	alive.say("alive")
	s := n.steps(Config{MaxAge: 2 * time.Hour})
	s.polls(2)
	same(t, "texts", texts(s.entries, c.doc()), numbered(10, 15))
	same(t, "marks", s.kinds(c.doc()), []string{"covered 6"})
	same(t, "quiet", s.kinds(quiet.doc()), []string{"covered 3"})
	same(t, "dead", s.kinds(dead.doc()), nil)
	same(t, "alive", s.kinds(alive.doc()), []string{"covered 1"})
	if s.entries[0].Line != 3 || s.lines != 7+3+3+1 { // files that are all too old are not even read
		t.Errorf("line %d, %d lines", s.entries[0].Line, s.lines)
	}
	s = s.again(n, Config{MaxAge: 2 * time.Hour})
	n.now = dawn.Add(-7 * time.Hour)
	quiet.count(0, 3)
	n.now = dawn
	quiet.count(3, 5)
	s.polls(2)
	same(t, "quiet", texts(s.entries, quiet.doc()), numbered(3, 5))
	late := n.runner("d")
	n.now = dawn.Add(-8 * time.Hour)
	late.say("of a pod with a clock of its own")
	s.polls(1)
	same(t, "late", s.kinds(late.doc()), []string{"covered 1"})
}

// Where many streams fall quiet at once, their last lines come in several batches
// and each once. Only the last of them says that all was read.
func TestManyFallQuiet(t *testing.T) {
	n := newNode(t)
	const pods = 250
	for i := range pods {
		n.runner(fmt.Sprint("p", i)).count(0, 10)
	}
	s := n.steps(Config{})
	words := 0
	s.r.out.emit = func(b Batch) error {
		if words += len(b.LastLines); len(b.LastLines) > batchSize+10 {
			t.Errorf("%d last lines in a batch", len(b.LastLines))
		}
		if !b.Reached.IsZero() && words < 10*pods {
			t.Errorf("reached with %d last lines", words)
		}
		return nil
	}
	s.polls(6)
	if words != 10*pods {
		t.Errorf("%d last lines", words)
	}
}
