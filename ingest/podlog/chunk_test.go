package podlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
)

const death = "Killed process"

// nextDeath is what a rulebook's Next is like.
func nextDeath(b []byte, from int) int {
	if i := bytes.Index(b[from:], []byte(death)); i >= 0 {
		return from + i
	}
	return -1
}

// found are the records that a scan would keep, and their gaps.
func (h *harvest) found() (out []ingest.Entry) {
	for _, e := range h.entries {
		if strings.Contains(e.Text, death) {
			out = append(out, e)
		}
	}
	return append(out, h.gaps...)
}

// pair is two readers of the same logs at the same times: one that is told what
// is of interest, and one that gives every line.
type pair struct{ some, all *steps }

func (p pair) both(do func(*steps)) {
	do(p.some)
	do(p.all)
}

func (p *pair) again(n *node) {
	p.some, p.all = p.some.again(n, Config{Next: nextDeath}), p.all.again(n, Config{})
}

// check: nothing but uninteresting records is missing.
func (p pair) check(t *testing.T, after string) {
	t.Helper()
	a, b := p.some, p.all
	for _, diff := range []string{
		cmp.Diff(b.found(), a.found()), cmp.Diff(b.marks, a.marks), cmp.Diff(b.context, a.context),
		cmp.Diff(b.positions, a.positions), cmp.Diff(b.lines, a.lines), cmp.Diff(b.reached, a.reached),
		cmp.Diff(len(b.entries), len(a.entries)+a.passed),
	} {
		if diff != "" {
			t.Fatalf("after %s (- every line, + some):\n%s", after, diff)
		}
	}
}

// act does one thing to the log that the readers follow.
func (p *pair) act(c *container, what byte, data []byte) string {
	last := ""
	switch what % 8 {
	case 0:
		c.rotate()
	case 1:
		c.zip(c.rotate())
	case 2:
		p.again(c.node)
		return "a restart"
	case 3:
		c.say(string(data), death+string(data))
		last = "whole lines"
	case 4:
		c.line("P", string(data))
	default:
		c.raw(string(data))
	}
	return fmt.Sprint(last, what%8)
}

// FuzzUninteresting: whatever a log holds, and whatever happens to it, a reader that is
// told what is of interest and one that gives all lines find the same, say the
// same of it and stand at the same place.
func FuzzUninteresting(f *testing.F) {
	f.Add([]byte(strings.Join(lineSeeds, "\n")), []byte{7, 3, 0, 100, 2, 5, 250}, false)
	f.Add(everyKind(1, 60), []byte{7, 200, 4, 20, 1, 255, 7, 255, 7, 255}, true)
	f.Add(everyKind(2, 60), []byte{255, 255, 255, 255, 255, 255, 2, 255, 255, 255, 255, 255}, false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data, acts []byte, job bool) {
		if len(data) <= 1<<16 && len(acts) <= 64 {
			compare(t, dir, data, acts, job)
		}
	})
}

func compare(t *testing.T, dir string, data, acts []byte, job bool) {
	n := &node{t: t, dir: dir, now: dawn}
	c := n.container("ci_a_"+uid+"/runner", 0)
	if job {
		c = n.container("ci_the-listener_"+uid+"/x", 0)
	}
	p := pair{n.steps(Config{Next: nextDeath}), n.steps(Config{})}
	p.both(func(s *steps) { s.polls(1) })
	for i := 0; i+1 < len(acts); i += 2 {
		k := min(8*int(acts[i+1]), len(data))
		what := p.act(c, acts[i], data[:k])
		data = data[k:]
		p.both(func(s *steps) { s.polls(1 + int(acts[i]>>6)) })
		p.check(t, what)
	}
	c.raw(string(data))
	p.both(func(s *steps) { s.polls(1) })
	p.check(t, "the rest")
	c.delete()
	p.both(func(s *steps) { s.polls(3) })
	p.check(t, "the end")
	p.both(func(s *steps) { s.r.closeAll() })
}

// everyKind are lines of all kinds that can stand in a log, in any order.
func everyKind(seed uint64, lines int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	texts := []string{
		"building", "", " indented", death + " 7", "half of " + death[:5], death[5:] + " 8", "√ Connected to GitHub",
		"[RUNNER 2026-05-04 10:00:00Z INFO JobDispatcher] hello",
		"2026-05-04 10:00:00Z: Listening for Jobs", "Listening for Jobs", "run-job: x",
		"\x1b[32mKilled\x1b[0m process 9",
		"Killed\rprocess 10", "größer ✓", "Killed\ufeff process",
		`{"level":"info","msg":"x","time":"2026-05-04T10:00:00Z","logger":"listener"}`,
		"time=2026-05-04T10:00:00Z level=INFO msg=x component=listener", "#1", "#033[31mKilled#033[0m process",
		"\xff\xfe", long(500), "2026-05-04T10:00:00Z " + death, "\ttab", "trailing \t ", strings.Repeat("\xff", 4000),
		long(3000) + death, long(6000),
	}
	tags := []string{"F", "F", "F", "F", "F", "F", "F", "F", "P", "F:x", "P:x", "X", ""}
	at, b := dawn, bytes.Buffer{}
	for range lines {
		at = at.Add(time.Duration(r.IntN(2e9) - 3e8))
		stamp := at.Format([]string{time.RFC3339Nano, time.RFC3339Nano, time.RFC3339Nano, time.RFC3339,
			"2006-01-02T15:04:05.000000000-07:00", "2006-01-02 15:04:05"}[r.IntN(6)])
		text := texts[r.IntN(len(texts))]
		fmt.Fprintf(
			&b,
			"%s std%s %s %s\n",
			stamp,
			[]string{"out", "out", "err"}[r.IntN(3)],
			tags[r.IntN(len(tags))],
			text,
		)
		if r.IntN(20) == 0 {
			fmt.Fprintf(&b, "%s\n", text)
		}
	}
	return b.Bytes()
}

// The same, over logs of many reads.
func TestUninterestingIsComplete(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		acts := make([]byte, 20)
		for i := range acts {
			acts[i] = byte(r.IntN(256))
		}
		compare(t, t.TempDir(), everyKind(seed, 50+r.IntN(800)), acts, seed%2 == 0)
	}
}

// Uninteresting lines are counted, and no entries are made of them.
func TestUninterestingLinesAreCounted(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	s := n.steps(Config{Next: nextDeath, LastLines: 3})
	c.count(0, 1000)
	c.say(death)
	c.count(1000, 2000)
	s.polls(1)
	if s.lines != 2001 || s.passed != 1999 {
		t.Errorf("%d lines, %d passed", s.lines, s.passed)
	}
	same(t, "entries", texts(s.entries, ""), []string{"line 0", death})
	s.polls(4)
	same(t, "last lines", texts(s.context, ""), numbered(1997, 2000))
	if i := slices.IndexFunc(s.context, func(e ingest.Entry) bool {
		return e.Source != ingest.Runner || e.Line < 1999 ||
			e.At.IsZero()
	}); i >= 0 {
		t.Errorf("%+v", s.context[i])
	}
}
