package podlog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var rounds = flag.Int("rounds", 50, "random histories that are tried")
var only = flag.Uint64("seed", 0, "the one history that is tried")

// However a log is written, rotated, compressed and moved on, and wherever the
// reader stops, crashes or is refused: every line comes once and in order.
func TestEveryLineOnce(t *testing.T) {
	for seed := range uint64(*rounds) {
		if *only > 0 {
			seed = *only
		}
		runHistory(t, seed, 120)
	}
}

// life is one history of random events.
type life struct {
	*node
	t     *testing.T
	rnd   *rand.Rand
	s     *steps
	c     Config
	live  []*container
	plain map[*container][]string // rotated and not compressed
	want  map[string][]string     // records by document
	raw   int                     // lines
	half  map[*container]string   // what a split line holds so far
	torn  map[*container]string   // what a line without its newline holds
	seq   int
	log   []string
}

func runHistory(t *testing.T, seed uint64, events int) {
	n := newNode(t)
	l := &life{
		node: n, t: t, rnd: rand.New(rand.NewPCG(seed, 1)), plain: map[*container][]string{},
		want: map[string][]string{},
		half: map[*container]string{}, torn: map[*container]string{},
	}
	l.c = Config{LastLines: 3, Quiet: 2 * time.Second}
	if seed%3 == 0 {
		l.c.MaxOpen = 16
	}
	for i := range 3 {
		l.live = append(l.live, n.runner(fmt.Sprint("p", i)))
	}
	l.s = n.steps(l.c)
	for range events {
		l.event()
	}
	for _, c := range l.live {
		l.finish(c)
	}
	l.s.polls(4)
	l.s.stop()
	l.check(seed)
}

func (l *life) event() {
	c := l.live[l.rnd.IntN(len(l.live))]
	k := l.rnd.IntN(20)
	l.log = append(l.log, fmt.Sprint(k, " ", c.doc()))
	switch {
	case k < 8:
		for range 1 + l.rnd.IntN(20) {
			l.write(c)
		}
	case k < 10:
		if l.torn[c] == "" {
			l.plain[c] = append(l.plain[c], c.rotate())
		}
	case k < 11:
		if p := l.plain[c]; len(p) > 1 { // the newest stays plain
			c.zip(p[0])
			l.plain[c] = p[1:]
		}
	case k < 15:
		l.s.polls(1)
	case k < 16:
		l.s.stop()
		l.s = l.s.again(l.node, l.c)
	case k < 17:
		l.s = l.s.again(l.node, l.c)
	case k < 18:
		l.refuse()
	case k < 19:
		l.tear(c)
	default:
		l.restart(c)
	}
}

// write puts one line, whole or split, behind what is there.
func (l *life) write(c *container) {
	l.seq++
	text := fmt.Sprintf("%d_%s", l.seq, strings.Repeat("y", l.rnd.IntN(300)))
	tag := "F"
	if l.rnd.IntN(6) == 0 {
		tag = "P"
	}
	if s := l.torn[c]; s != "" {
		c.raw("\n")
		l.add(c, "F", s)
		delete(l.torn, c)
	}
	c.line(tag, text)
	l.add(c, tag, text)
}

func (l *life) add(c *container, tag, text string) {
	l.raw++
	l.half[c] += text
	if tag == "F" {
		l.want[c.doc()] = append(l.want[c.doc()], l.half[c])
		l.half[c] = ""
	}
}

// tear writes a line without its newline.
func (l *life) tear(c *container) {
	if l.torn[c] == "" {
		l.seq++
		l.torn[c] = fmt.Sprint(l.seq, " torn")
		c.raw(c.now.Format(time.RFC3339Nano) + " stdout F " + l.torn[c])
	}
}

// finish: nothing more comes from this instance.
func (l *life) finish(c *container) {
	if s := l.torn[c]; s != "" {
		c.raw("\n")
		l.add(c, "F", s)
		delete(l.torn, c)
	}
	if l.half[c] != "" {
		c.line("F", "end")
		l.add(c, "F", "end")
	}
}

// restart starts the container anew and now and then removes an old instance
// that was read.
func (l *life) restart(c *container) {
	l.finish(c)
	i := 0
	for l.live[i] != c {
		i++
	}
	l.live[i] = l.container(c.path, c.restart+1)
	l.s.polls(3)
	if l.rnd.IntN(2) == 0 {
		c.clean()
	}
}

// refuse has a batch fail at a random moment.
func (l *life) refuse() {
	l.s.fail = errors.New("no room")
	l.s.clock = l.s.clock.Add(time.Second)
	for more, err := true, error(nil); more && err == nil; {
		more, err = l.s.r.pollOnce()
	}
	l.s.fail = nil
	l.s = l.s.again(l.node, l.c)
}

func (l *life) check(seed uint64) {
	l.t.Helper()
	defer func() {
		if l.t.Failed() {
			l.t.Fatalf("seed %d: %s", seed, strings.Join(l.log, ", "))
		}
	}()
	for doc, want := range l.want {
		got := texts(l.s.entries, doc)
		if len(got) != len(want) {
			l.t.Errorf("%s: %d records, want %d", doc, len(got), len(want))
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				l.t.Errorf("%s: record %d is %.40q, want %.40q", doc, i, got[i], want[i])
				break
			}
		}
		context := texts(l.s.context, doc)
		if k := min(3, len(want)); len(context) < k ||
			fmt.Sprint(context[len(context)-k:]) != fmt.Sprint(want[len(want)-k:]) {
			l.t.Errorf("%s: last lines %.40q, want %.40q", doc, context, want[len(want)-k:])
		}
		if once := slices.Compact(slices.Sorted(slices.Values(context))); len(once) != len(context) {
			l.t.Errorf("%s: last lines twice: %.40q", doc, context)
		}
	}
	if l.s.lines != l.raw || len(l.s.gaps) > 0 || l.s.r.Unreadable() > 0 {
		l.t.Errorf("%d lines, want %d; gaps %v; %d unreadable", l.s.lines, l.raw, l.s.gaps, l.s.r.Unreadable())
	}
	l.checkLines()
	names, err := filepath.Glob(filepath.Join(l.dir, "*", "*", "*"))
	l.must(err)
	there := map[string]bool{}
	for _, name := range names {
		there[strings.SplitAfter(name, ".log")[0]] = true
	}
	if len(l.s.positions) != len(there) {
		l.t.Errorf("%d positions of %d logs: %+v", len(l.s.positions), len(there), l.s.positions)
	}
}

// checkLines: records of a stream are numbered by their last line.
func (l *life) checkLines() {
	last := map[string]int{}
	for _, e := range l.s.entries {
		if e.Line <= last[e.Doc] {
			l.t.Errorf("%s: line %d after %d", e.Doc, e.Line, last[e.Doc])
			return
		}
		last[e.Doc] = e.Line
	}
}
