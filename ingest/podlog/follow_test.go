package podlog

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
)

// A followed log gives the same records and marks as the saved one.
func TestSameAsDocument(t *testing.T) {
	n := newNode(t)
	c := n.runner("pool-runner-a")
	s := n.steps(Config{})
	c.say("√ Connected to GitHub", "", "  indented", "tab\there", "\x1b[31mred\x1b[0m")
	s.polls(1)
	c.line("P", "one ")
	c.line("P", "two ")
	s.polls(1)
	c.line("F", "three")
	c.raw("no header\r\n\n")
	c.line("P", "never goes on")
	data, err := os.ReadFile(c.file(""))
	n.must(err)
	s.polls(1)
	c.delete()
	s.polls(2)

	want := readDocument(t, c.doc(), strings.NewReader(string(data)))
	for i := range want {
		want[i].Node = "node-a"
	}
	got := append(s.entries, s.marks[len(s.marks)-2:]...)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("followed (+) and saved (-) differ:\n%s", d)
	}
	if s.lines != 11 || len(s.positions) != 0 || s.r.Open() != 0 {
		t.Errorf("%d lines, %d positions, %d open", s.lines, len(s.positions), s.r.Open())
	}
}

// An empty log says that the container printed nothing.
func TestEmptyLog(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	s.polls(12)
	same(t, "marks", s.kinds(c.doc()), []string{"covered 0"})
	if len(s.marks) != 2 {
		t.Errorf("%d heartbeats in 12 s, want 2", len(s.marks))
	}
	c.delete()
	s.polls(2)
	same(t, "marks", s.kinds(c.doc()), []string{"covered 0", "ended 0"})
}

// The runtime writes on to a renamed file until it has opened the new one, and
// a little after.
func TestRotationInABurst(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	s.r.env.every.linger = 2 * time.Second
	c.count(0, 10)
	s.polls(1)
	c.count(10, 20)
	c.rename()
	c.count(20, 30)
	s.polls(1)
	c.count(30, 40)
	old := c.out
	c.reopen()
	s.polls(1)
	young := c.out
	c.out = old
	c.count(40, 50)
	c.out = young
	c.count(50, 60)
	s.polls(4)
	same(t, "texts", texts(s.entries, ""), numbered(0, 60))
	if got := s.entries[59]; got.Line != 60 || got.Doc != c.doc() || got.Node != "node-a" {
		t.Errorf("%+v", got)
	}
	if s.r.Open() != 1 || len(s.gaps) != 0 || s.lines != 60 {
		t.Errorf("%d open, gaps %v, %d lines", s.r.Open(), s.gaps, s.lines)
	}
}

// Several rotations between two looks lose nothing, compressed or not, and also
// where the file was empty at the first.
func TestManyRotationsBetweenLooks(t *testing.T) {
	for _, seen := range []int{0, 3, 5} {
		n := newNode(t)
		c := n.runner("a")
		s := n.steps(Config{})
		c.count(0, seen)
		s.polls(1)
		c.count(seen, 5)
		var names []string
		for i := 1; i < 5; i++ {
			names = append(names, c.rotate())
			c.count(5*i, 5*i+5)
		}
		for _, name := range names[:3] {
			c.zip(name)
		}
		s.polls(3)
		same(t, "texts", texts(s.entries, ""), numbered(0, 25))
		if len(s.gaps) != 0 || s.r.Unreadable() != 0 {
			t.Errorf("gaps %v, %d unreadable", s.gaps, s.r.Unreadable())
		}
	}
}

// Files that wait to be read are not taken for new ones when the newest of them
// is lost sight of.
func TestRotatedAwayWhileWaiting(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	s.r.env.every.linger = 10 * time.Second
	c.count(0, 5)
	s.polls(1)
	c.rotate()
	c.count(5, 10)
	c.rotate()
	c.count(10, 15)
	s.polls(1)
	n.must(os.Remove(c.file(c.rotate())))
	c.count(15, 20)
	s.polls(40)
	same(t, "texts", texts(s.entries, ""), numbered(0, 20))
	if len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyRotated {
		t.Errorf("gaps %+v", s.gaps)
	}
}

// Where a rotated file is gone before it was read, that is said.
func TestRotatedAway(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 5)
	s.polls(1)
	first := c.now
	a := c.rotate()
	c.count(5, 10)
	b := c.rotate()
	c.count(10, 15)
	n.must(os.Remove(c.file(a)))
	n.must(os.Remove(c.file(b)))
	s.polls(3)
	same(t, "texts", texts(s.entries, ""), append(numbered(0, 5), numbered(10, 15)...))
	if len(s.gaps) != 1 {
		t.Fatalf("gaps %v", s.gaps)
	}
	g := s.gaps[0]
	if m := g.Mark; !m.From.Equal(first) || !m.To.Equal(first.Add(6*time.Millisecond)) || m.Why != whyRotated ||
		g.PodUID != uid || g.Source != ingest.Runner {
		t.Errorf("%+v %+v", g, m)
	}
	if m := s.marks[len(s.marks)-1].Mark; m.From.Before(g.Mark.To) || m.Lines != 10 {
		t.Errorf("covered over the gap: %+v", m)
	}
}

// A log that is unlinked while it is read is read to its end.
func TestUnlinkWhileReading(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 3)
	s.polls(1)
	c.count(3, 6)
	c.line("P", "half")
	n.must(os.Remove(c.file("")))
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), append(numbered(0, 6), "half"))
	same(t, "context", texts(s.context, ""), append(numbered(0, 6), "half"))
	same(t, "marks", s.kinds(c.doc()), []string{"covered 3", "covered 7", "ended 0"})
	if s.r.Open() != 0 {
		t.Error("still open")
	}
	s.polls(1)
	if len(s.positions) != 0 {
		t.Errorf("positions %+v", s.positions)
	}
}

// A listing that a rename hid the file from does not end the stream.
func TestHiddenByARename(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 3)
	s.polls(1)
	s.r.tracker.compareFiles(s.r.tails.order[0], listing{})
	c.count(3, 6)
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), numbered(0, 6))
	if s.ended(c.doc()) {
		t.Error("it has ended")
	}
}

// What was rotated is not read again while the kubelet removes the files one by
// one, the youngest first.
func TestRemovedOneByOne(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 3)
	name := c.rotate()
	c.count(3, 6)
	s.polls(3)
	n.must(os.Remove(c.file("")))
	s.polls(3)
	if !s.ended(c.doc()) || len(s.positions) != 1 || !s.positions[0].Ended {
		t.Fatalf("marks %v, positions %+v", s.kinds(c.doc()), s.positions)
	}
	n.must(os.Remove(c.file(name)))
	s.polls(3)
	same(t, "texts", texts(s.entries, ""), numbered(0, 6))
	if len(s.positions) != 0 {
		t.Errorf("positions %+v", s.positions)
	}
}

func TestTruncation(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 4)
	c.line("P", "line 4")
	s.polls(1)
	n.must(c.out.Truncate(0))
	c.count(5, 7)
	s.polls(1)
	c.count(7, 9)
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), numbered(0, 9))
	if len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyShrunk {
		t.Errorf("gaps %+v", s.gaps)
	}
	if s = s.again(n, Config{}); true {
		c.count(9, 10)
		s.polls(1)
	}
	same(t, "texts", texts(s.entries, ""), numbered(0, 10))
}

// A container that is started anew ends the instance before it.
func TestRestart(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 3)
	s.polls(1)
	c.count(3, 5)
	d := n.container(c.path, 1)
	d.count(5, 8)
	s.polls(2)
	same(t, "old", texts(s.entries, c.doc()), numbered(0, 5))
	same(t, "new", texts(s.entries, d.doc()), numbered(5, 8))
	same(t, "marks", s.kinds(c.doc()), []string{"covered 3", "covered 5", "ended 0"})
	if s.ended(d.doc()) || s.r.Open() != 1 || len(s.positions) != 2 {
		t.Errorf("%d open, positions %+v", s.r.Open(), s.positions)
	}
	s = s.again(n, Config{})
	s.polls(2)
	c.clean()
	n.container(c.path, 2).say("third")
	s.polls(2)
	same(t, "old", texts(s.entries, c.doc()), numbered(0, 5))
	if len(s.positions) != 2 || s.positions[0].Restart != 1 {
		t.Errorf("positions %+v", s.positions)
	}
}

// A line is not taken before its end is there.
func TestHalfALine(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.raw("2026-05-04T10:00:00Z stdout F first ha")
	s.polls(1)
	if len(s.entries) != 0 || s.lines != 0 {
		t.Fatalf("%+v", s.entries)
	}
	c.raw("lf\n2026-05-04T10:00:01Z stdout F torn")
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), []string{"first half"})
	c.rotate()
	c.say("next")
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), []string{"first half", "torn", "next"})
	if s.lines != 3 {
		t.Errorf("%d lines", s.lines)
	}
}

// Lines without an end cost neither memory nor the lines after them.
func TestEndlessLines(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.say(long(maxLine+1000), "after")
	for range maxLine/16000 + 2 {
		c.line("P", long(16000))
	}
	c.line("F", "end")
	s.polls(1)
	if len(s.entries) != 4 || s.lines != c.lines {
		t.Fatalf("%d entries, %d of %d lines", len(s.entries), s.lines, c.lines)
	}
	if e := s.entries[0]; e.Cut < maxLine-ingest.MaxText || len(e.Text) > ingest.MaxText {
		t.Errorf("%d bytes, %d cut", len(e.Text), e.Cut)
	}
	if s.entries[1].Text != "after" || !strings.HasSuffix(s.entries[3].Text, "end") {
		t.Errorf("%q, %q", s.entries[1].Text, s.entries[3].Text)
	}
	if f := s.r.tails.order[0].newestFile(); cap(f.partial.text) > chunkSize {
		t.Errorf("%d bytes are kept", cap(f.partial.text))
	}
}

// One stream that has much to say does not keep others waiting.
func TestFairness(t *testing.T) {
	n := newNode(t)
	loud, calm := n.runner("a"), n.runner("b")
	s := n.steps(Config{})
	s.polls(1)
	for range 1000 {
		loud.say(long(10000))
	}
	calm.say("here")
	s.clock = s.clock.Add(time.Second)
	if more, err := s.r.pollOnce(); err != nil || !more {
		t.Fatal(more, err)
	}
	if got := len(texts(s.r.out.Entries, loud.doc())) + len(texts(s.entries,
		loud.doc())); got > pollBytes/10000+chunkSize/10000+1 {
		t.Errorf("%d records of the loud one in a turn", got)
	}
	if len(texts(s.r.out.Entries, calm.doc()))+len(texts(s.entries, calm.doc())) != 1 {
		t.Error("the calm one was not read")
	}
	s.polls(1)
	if s.lines != 1001 {
		t.Errorf("%d lines", s.lines)
	}
}

// A batch holds about a thousand records, and the positions that belong to them.
func TestBatches(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 20000)
	total := 0
	s.r.out.emit = func(b Batch) error {
		total += b.Lines
		if len(b.Entries) > batchSize+chunkSize/40 {
			t.Errorf("%d entries", len(b.Entries))
		}
		if b.Lines != len(b.Entries) || b.Positions[0].Lines != total {
			t.Errorf("%d lines, %d entries, position %d of %d", b.Lines, len(b.Entries), b.Positions[0].Lines, total)
		}
		s.add(b)
		return nil
	}
	s.polls(1)
	if s.batches < 5 {
		t.Errorf("%d batches", s.batches)
	}
	same(t, "texts", texts(s.entries, ""), numbered(0, 20000))
}
