package podlog

import (
	"slices"
	"strings"
	"testing"
)

// Last lines are the log's own: what the reader reads and gives after them does
// not change them, whether they are lines, joined lines, or so long that they were
// made records while more was read.
func TestLastLinesStay(t *testing.T) {
	for _, size := range []int{9, 3000} {
		n := newNode(t)
		c, other := n.runner("a"), n.runner("b")
		s := n.steps(Config{Next: nextDeath})
		c.line("P", "half and ")
		c.line("F", "half")
		want := []string{"half and half"}
		for i := range 9 {
			want = append(want, strings.Repeat(string(rune('a'+i)), size))
		}
		c.say(want[1:]...)
		s.polls(1)
		other.say(long(4000), death, long(4000))
		s.polls(5)
		same(t, "last lines", texts(s.context, c.path+"/0.log"), want)
	}
}

// Half a line whose end was cut off with its file is a record like others, and of
// the last lines.
func TestHalfALineIsALastLine(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath})
	c.count(0, 2)
	c.line("P", "half")
	s.polls(1)
	n.must(c.out.Truncate(0))
	c.count(2, 4)
	s.polls(6)
	same(t, "last lines", texts(s.context, ""), []string{"line 0", "line 1", "half", "line 2", "line 3"})
}

// A gap that only uninteresting lines follow is given as where every line is given.
func TestGapBeforeUninterestingLines(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	p := pair{n.steps(Config{Next: nextDeath}), n.steps(Config{})}
	for i := range 3 {
		c.count(10*i, 10*i+10-i)
		p.both(func(s *steps) { s.polls(1) })
		p.check(t, "lines")
		n.must(c.out.Truncate(0))
	}
	c.count(40, 43)
	p.both(func(s *steps) { s.polls(5) })
	p.check(t, "the last loss")
	if len(p.some.gaps) != 3 {
		t.Errorf("gaps %+v", p.some.gaps)
	}
}

// A line that is too long to be called uninteresting is given among those that are.
func TestLongLinesAreGiven(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath})
	c.count(0, 3)
	c.say(long(uninterestingSize))
	c.count(3, 5)
	s.polls(1)
	same(t, "entries", texts(s.entries, ""), []string{"line 0", long(uninterestingSize)})
}

// A last line whose line came in two reads, and half a line after it in the second,
// is itself: not what is kept of the half one, be that a line or a part of a split
// one, which alone is no record.
func TestLastLinesOfTwoReads(t *testing.T) {
	for _, next := range []func([]byte, int) int{nextDeath, nil} {
		for _, half := range [][3]string{{"F THE HALF ONE IS HER", "E NOW", "THE HALF ONE IS HERE NOW"},
			{"P ha", "lf\nAT stdout F and half", "halfand half"}} {
			n := newNode(t)
			c := n.runner("a")
			s := n.steps(Config{Next: next})
			c.count(0, 2)
			s.polls(1)
			at := c.now.Format("2006-01-02T15:04:05.999999999Z07:00")
			for _, some := range []string{"AT stdout F the li", "ne that came in two\nAT stdout " + half[0],
				half[1] + "\n"} {
				c.raw(strings.ReplaceAll(some, "AT", at))
				s.polls(1)
			}
			s.polls(5)
			same(
				t,
				"last lines",
				texts(s.context, ""),
				[]string{"line 0", "line 1", "the line that came in two", half[2]},
			)
		}
	}
}

// Without any half-written line: a log of whole lines that is read cold, whose chunk
// borders cut two lines that are both among the last ten.
func TestLastLinesOverBorders(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath})
	at := 0
	say := func(tag, text string) { // its time is always of 30 bytes
		line := dawn.Format("2006-01-02T15:04:05.000000000Z") + " stdout " + tag + " " + text + "\n"
		c.raw(line)
		at += len(line)
	}
	const head = 30 + 10 + 1
	for at < chunkSize-400 {
		say("F", "short")
	}
	first := "the first line " + long(600)
	say("F", first) // over the first border
	for range 2 {   // longer than a text may be
		say("P", long(16384))
		say("F", long(13000))
	}
	say("F", "C "+long(2*chunkSize-at-head-2-150)) // leaves 150 bytes to the border
	say("F", "D "+long(600))                       // over the second one
	s.polls(6)
	if got := texts(s.context, ""); !slices.Contains(got, first) {
		for i := range got {
			t.Errorf("%.80q %d", got[i], len(got[i]))
		}
	}
}
