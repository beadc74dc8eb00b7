package podlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"coroner/ingest"
)

// While nobody read, the file was rotated, compressed and followed by others.
func TestZippedWhileDown(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 7)
	s.polls(1)
	s.stop()
	c.count(7, 10)
	a := c.rotate()
	c.count(10, 20)
	b := c.rotate()
	c.count(20, 30)
	c.rotate()
	c.count(30, 40)
	c.zip(a)
	c.zip(b)
	n.must(os.WriteFile(c.file(b+".tmp"), []byte("half a gzip"), 0o600))
	s = s.again(n, Config{})
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), numbered(0, 40))
	if s.lines != 40 || len(s.gaps) != 0 || s.entries[39].Line != 40 || s.r.Open() != 1 {
		t.Errorf("%d lines, gaps %v, line %d, %d open", s.lines, s.gaps, s.entries[39].Line, s.r.Open())
	}
	s = s.again(n, Config{})
	s.polls(2)
	if s.lines != 40 {
		t.Errorf("%d lines after another restart", s.lines)
	}
}

// In autumn the names of an hour come twice; the lines tell the order.
func TestNamesOutOfOrder(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.count(0, 5)
	a := c.rotate()
	c.count(5, 10)
	b := c.rotate()
	c.count(10, 15)
	n.must(os.Rename(c.file(a), c.file(".20260504-235959")))
	c.zip(b)
	s := n.steps(Config{})
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), numbered(0, 15))
}

// Who is a controller the operator says anew with every start.
func TestControllerOverARestart(t *testing.T) {
	n := newNode(t)
	c := n.container("ops_dispatcher-0_"+uid+"/main", 0)
	named, last := Config{
		Controller: ingest.PodGlobs{"ops/dispatcher-*"}.Name,
	}, func(s *steps) ingest.Entry { return s.entries[len(s.entries)-1] }
	s := n.steps(Config{})
	for i, tt := range []struct {
		config Config
		source ingest.Source
		trust  ingest.Trust
	}{{Config{}, ingest.Job, ingest.Claimed}, {named, ingest.Controller, ingest.Attested}, {Config{}, ingest.Job,
		ingest.Claimed}} {
		if i > 0 {
			s = s.again(n, tt.config)
		}
		c.say(fmt.Sprint("line ", i))
		s.polls(1)
		if e := last(s); e.Source != tt.source || e.Trust != tt.trust || e.Text != fmt.Sprint("line ", i) {
			t.Errorf("start %d: %+v", i, e)
		}
	}
}

// What was rotated away while nobody read is a gap, with its bounds.
func TestGapWhileDown(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 5)
	s.polls(1)
	last := c.now
	s.stop()
	a := c.rotate()
	c.count(5, 10)
	b := c.rotate()
	c.count(10, 12)
	c.rotate()
	c.count(12, 15)
	n.must(os.Remove(c.file(a)))
	n.must(os.Remove(c.file(b)))
	s = s.again(n, Config{})
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), append(numbered(0, 5), numbered(10, 15)...))
	if len(s.gaps) != 1 {
		t.Fatalf("gaps %v", s.gaps)
	}
	g := s.gaps[0]
	if !g.Mark.From.Equal(last) || !g.Mark.To.Equal(last.Add(6*time.Millisecond)) || g.Doc != c.doc() || g.Pod != "a" ||
		g.Node != "node-a" {
		t.Errorf("%+v %+v", g, g.Mark)
	}
}

// Lines after the position may not be told apart from lines before it when the
// file was cut.
func TestTruncatedWhileDown(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 10)
	s.polls(1)
	c.count(10, 50)
	s.polls(1) // and then a crash, with last lines owed
	n.must(c.out.Truncate(1000))
	s = s.again(n, Config{})
	s.polls(1)
	if len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyShrunk {
		t.Errorf("gaps %+v", s.gaps)
	}
}

// A pod that went while nobody read has a gap and an end.
func TestDeletedWhileDown(t *testing.T) {
	n := newNode(t)
	c, d := n.runner("a"), n.runner("b")
	s := n.steps(Config{})
	c.count(0, 5)
	d.count(0, 5)
	s.polls(1)
	s.stop()
	c.delete()
	s = s.again(n, Config{})
	s.polls(2)
	same(t, "marks", s.kinds(c.doc()), []string{"covered 5", "ended 0"})
	if len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyDeleted || len(s.positions) != 1 {
		t.Errorf("gaps %+v, positions %+v", s.gaps, s.positions)
	}
}

// Of an empty log that went nobody knows whether it stayed empty.
func TestEmptyDeletedWhileDown(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	s.polls(1)
	s.stop()
	before := len(s.marks)
	c.delete()
	s = s.again(n, Config{})
	s.polls(2)
	if len(s.marks) != before+1 || s.marks[before].Mark.Kind != ingest.Ended || len(s.gaps) != 1 {
		t.Errorf("marks %v", s.kinds(c.doc()))
	}
}

// A directory that cannot be listed proves nothing about what was in it.
func TestDirMissing(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 5)
	s.polls(1)
	s.stop()
	n.must(os.Rename(n.dir, n.dir+"x"))
	s = s.again(n, Config{})
	s.polls(3)
	if s.ended(c.doc()) || len(s.positions) != 1 || s.r.Unreadable() == 0 {
		t.Fatalf("marks %v, positions %+v", s.kinds(c.doc()), s.positions)
	}
	reached := s.reached
	n.must(os.Rename(n.dir+"x", n.dir))
	c.count(5, 7)
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), numbered(0, 7))
	if !s.reached.After(reached) {
		t.Error("reached does not move")
	}
}

// A split line is read again from its first part, and counts once.
func TestSplitLineOverARestart(t *testing.T) {
	for _, rotated := range []bool{false, true} {
		n := newNode(t)
		c := n.runner("a")
		s := n.steps(Config{})
		c.say("before")
		c.line("P", "one ")
		c.line("P", "two ")
		s.polls(1)
		if p := s.positions[0]; p.Lines != 1 || s.lines != 1 {
			t.Errorf("position %+v, %d lines", p, s.lines)
		}
		s.stop()
		if rotated {
			c.zip(c.rotate())
		}
		c.line("F", "three")
		c.say("after")
		s = s.again(n, Config{})
		s.polls(2)
		same(t, "texts", texts(s.entries, ""), []string{"before", "one two three", "after"})
		if s.lines != 5 || s.entries[1].Line != 4 || s.entries[2].Line != 5 {
			t.Errorf("%d lines, %+v", s.lines, s.entries)
		}
	}
}

// What a stream turned out to be is known after a restart.
func TestSourceOverARestart(t *testing.T) {
	n := newNode(t)
	c := n.container("ci_p_"+uid+"/job", 0)
	c.say("√ Connected to GitHub")
	s := n.steps(Config{})
	s.polls(1)
	s.stop()
	s = s.again(n, Config{})
	s.polls(12)
	c.say("plain")
	s.polls(1)
	for _, e := range append(s.entries, s.marks...) {
		if e.Source != ingest.Runner || e.Trust != ingest.Claimed {
			t.Errorf("%+v", e)
		}
	}
}

// A stop gives all last lines; after a crash those that were not given come
// from the file again.
func TestContextOverARestart(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{LastLines: 3})
	c.count(0, 5)
	s.polls(1)
	same(t, "crashed", texts(s.context, ""), numbered(2, 5)) // a first start does not know how long it was quiet
	c.count(5, 10)
	s.polls(1)
	same(t, "crashed", texts(s.context, ""), numbered(2, 5))
	owed := *s.positions[0].PendingLastLines
	s = s.again(n, Config{LastLines: 3, Quiet: time.Hour}) // without a stop
	s.r.tails.order[0].fresh = s.clock                     // it was not quiet for long enough
	s.polls(2)
	if p := s.positions[0]; p.PendingLastLines == nil || *p.PendingLastLines != owed {
		t.Errorf("owed %+v, then %+v", owed, p.PendingLastLines)
	}
	c.count(10, 11)
	s.polls(1)
	if p := s.positions[0]; p.PendingLastLines == nil || p.PendingLastLines.Offset <= owed.Offset {
		t.Errorf("owed %+v, then %+v", owed, p.PendingLastLines)
	}
	s = s.again(n, Config{LastLines: 3}) // twice
	c.zip(c.rotate())
	s.polls(5)
	same(t, "after the crash", texts(s.context, ""), append(numbered(2, 5), numbered(8, 11)...))
	if s.lines != 11 || s.context[5].Line != 11 {
		t.Errorf("%d lines, context at %d", s.lines, s.context[5].Line)
	}
	c.count(11, 12)
	s.polls(1)
	s.stop()
	same(t, "after the stop", texts(s.context, ""), append(numbered(2, 5), numbered(8, 12)...))
}

// A batch that was not accepted is given again.
func TestRefusedBatch(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 5)
	s.polls(1)
	c.count(5, 9)
	s.fail = errors.New("no room")
	s.clock = s.clock.Add(time.Second)
	if _, err := s.r.pollOnce(); !errors.Is(err, s.fail) {
		t.Fatal(err)
	}
	s.fail = nil
	s = s.again(n, Config{})
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), numbered(0, 9))
}

// A damaged archive is a gap, and what follows is read.
func TestDamagedArchive(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 5)
	s.polls(1)
	s.stop()
	c.count(5, 2000)
	a := c.rotate()
	c.count(2000, 2005)
	c.zip(a)
	data, err := os.ReadFile(c.file(a + ".gz"))
	n.must(err)
	n.must(os.WriteFile(c.file(a+".gz"), data[:len(data)-40], 0o600))
	s = s.again(n, Config{})
	s.polls(2)
	got := texts(s.entries, "")
	if k := len(got); len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyBroken || got[k-5] != "line 2000" ||
		got[5] != "line 5" || s.r.Unreadable() == 0 {
		t.Errorf("gaps %+v, %d records", s.gaps, k)
	}
}

// More streams than files may be open are read in turns, each line once.
func TestMoreStreamsThanFiles(t *testing.T) {
	n := newNode(t)
	s := n.steps(Config{MaxOpen: 16})
	var all []*container
	for i := range 50 {
		all = append(all, n.runner(fmt.Sprint("p", i)))
	}
	for round := range 6 {
		for _, c := range all {
			c.count(round*3, round*3+2)
			c.line("P", "line ")
			if round == 3 {
				c.rotate()
			}
			c.line("F", fmt.Sprint(round*3+2))
		}
		s.polls(3)
		if s.r.Open() > 16 {
			t.Fatalf("%d open", s.r.Open())
		}
	}
	for _, c := range all {
		same(t, c.doc(), texts(s.entries, c.doc()), numbered(0, 18))
	}
	if s.lines != 50*24 || len(s.gaps) != 0 {
		t.Errorf("%d lines, gaps %v", s.lines, s.gaps)
	}
	all[0].delete()
	for s.r.tails.byKey[key{all[1].path, 0}].files != nil {
		all[2+len(s.gaps)].say("more") // so that others need the room
		s.r.read.files.makeRoom(nil, 16)
	}
	n.must(os.Remove(all[1].file(".20260504-120001")))
	n.must(os.Remove(all[1].file("")))
	s.polls(4)
	for _, c := range all[:2] {
		if !s.ended(c.doc()) {
			t.Errorf("marks %v, gaps %v", s.kinds(c.doc()), s.gaps)
		}
	}
}

// A file that grew after its end was seen is not parked as read.
func TestParkUnread(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{})
	c.count(0, 3)
	s.polls(1)
	c.count(3, 5)
	s.r.tails.order[0].closeIdle()
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), numbered(0, 5))
	s.r.tails.order[0].closeIdle()
	s.polls(3)
	if s.r.Open() != 0 {
		t.Error("opened without need")
	}
	c.rotate()
	c.count(5, 7)
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), numbered(0, 7))
}

// While the kubelet compresses a file it is there twice.
func TestPlainAndZipped(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.count(0, 5)
	name := c.rotate()
	c.count(5, 7)
	plain, err := os.ReadFile(c.file(name))
	n.must(err)
	c.zip(name)
	n.must(os.WriteFile(c.file(name), plain, 0o600))
	s := n.steps(Config{})
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), numbered(0, 7))
}

func TestImpossiblePositions(t *testing.T) {
	n := newNode(t)
	ok := "ci_a_" + uid + "/runner"
	s := n.steps(Config{Resume: []Position{
		{Stream: "../../etc/passwd"}, {Stream: ok + "/.."}, {Stream: ok, Offset: -1}, {Stream: ok, Print: "x"},
		{Stream: ok, Hashed: 1 << 30, Print: "x"}, {Stream: ok, Restart: -1}, {Stream: ok, Offset: 5}, {Stream: ok},
		{Stream: ok},
	}})
	if len(s.r.tails.byKey) != 1 {
		t.Errorf("%d streams", len(s.r.tails.byKey))
	}
}

// A position that an earlier version stored is read, and written as it was.
func TestStoredPositions(t *testing.T) {
	const stored = `{"stream":"ci_a_00000000-1111-2222-3333-444444444444/runner","restart":2,` +
		`"print":"0123456789abcdef0123456789abcdef","hashed":512,"offset":70000,"lines":900,"records":880,` +
		`"first":"2026-05-04T10:00:00Z","last":"2026-05-04T10:00:07.5Z","skips":true,` +
		`"owed":{"print":"fedcba9876543210fedcba9876543210","hashed":512,"offset":69000},` +
		`"source":"runner","trust":1,"ended":true}`
	var p Position
	if err := json.Unmarshal([]byte(stored), &p); err != nil {
		t.Fatal(err)
	}
	if err := p.checkValid(); err != nil {
		t.Error(err)
	}
	again, err := json.Marshal(p)
	if err != nil || string(again) != stored {
		t.Errorf("%v: %s", err, again)
	}
	s := newNode(t).steps(Config{Resume: []Position{p}})
	if got := s.r.tails.order[0].position(); got.PendingLastLines == nil ||
		*got.PendingLastLines != *p.PendingLastLines || got.Lines != 900 {
		t.Errorf("%+v", got)
	}
}
