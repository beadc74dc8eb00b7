package podlog

import (
	"strings"
	"testing"
)

// Last words are the stream's own: what the reader reads and gives after them does
// not change them, whether they are lines, joined lines, or so long that they were
// made records while more was read.
func TestLastWordsStay(t *testing.T) {
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
		s.turns(1)
		other.say(long(4000), death, long(4000))
		s.turns(5)
		same(t, "last words", texts(s.context, c.path+"/0.log"), want)
	}
}

// Half a line whose end was cut off with its file is a record like others, and of
// the last words.
func TestHalfALineIsLastWords(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath})
	c.count(0, 2)
	c.line("P", "half")
	s.turns(1)
	n.must(c.out.Truncate(0))
	c.count(2, 4)
	s.turns(6)
	same(t, "last words", texts(s.context, ""), []string{"line 0", "line 1", "half", "line 2", "line 3"})
}

// A loss that only dull lines follow is told as where every line is given.
func TestGapBeforeDullLines(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	p := pair{n.steps(Config{Next: nextDeath}), n.steps(Config{})}
	for i := range 3 {
		c.count(10*i, 10*i+10-i)
		p.both(func(s *steps) { s.turns(1) })
		p.check(t, "lines")
		n.must(c.out.Truncate(0))
	}
	c.count(40, 43)
	p.both(func(s *steps) { s.turns(5) })
	p.check(t, "the last loss")
	if len(p.some.gaps) != 3 {
		t.Errorf("gaps %+v", p.some.gaps)
	}
}

// A line that is too long to be called dull is given among those that are.
func TestLongLinesAreGiven(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath})
	c.count(0, 3)
	c.say(long(dullSize))
	c.count(3, 5)
	s.turns(1)
	same(t, "entries", texts(s.entries, ""), []string{"line 0", long(dullSize)})
}
