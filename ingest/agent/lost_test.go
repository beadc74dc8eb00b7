package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/spool"
)

// oomAt gives the agent an OOM kill, longer than half of what its spool may hold.
func oomAt(a *Agent, at time.Time) {
	e := line(ingest.Kernel, oom+strings.Repeat(at.Format(" 150405"), 40))
	e.At = at
	_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{e}, Lines: 1, Cursor: "c", At: at, Reached: at})
	_ = a.takePods(podlog.Batch{Reached: at})
}

// earliest is where the first gap of the kernel's begins that the server was told of.
func (s *server) earliest() (from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.got {
		if e.Mark != nil && e.Mark.Kind == ingest.Gap && e.Source == ingest.Kernel &&
			(from.IsZero() || e.Mark.From.Before(from)) {
			from = e.Mark.From
		}
	}
	return from
}

// What goes with the last flush before a stop is told of after the next start.
func TestHoleOutlivesTheAgent(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	s.will(503)
	a := newTestAgent(t, dir, s.URL, 400)
	a.delivery.away.Store(true)
	for i := range 2 {
		oomAt(a, now.Add(time.Duration(i)*time.Minute))
		a.flushOnce(context.Background(), true)
	}
	s.will(0)
	b := newTestAgent(t, dir, s.URL, 1<<20)
	b.flushOnce(context.Background(), true)
	sendUntil(t, b, "an empty spool", b.empty)
	b.flushOnce(context.Background(), true)
	if from := s.earliest(); !from.Equal(now) {
		t.Errorf("the gap begins %v, want %v: %q", from, now, s.texts())
	}
	again := newTestAgent(t, dir, s.URL, 1<<20)
	if l := again.lost.currentRange(); !l.To.IsZero() {
		t.Errorf("it was told, and stays: %+v", l)
	}
}

// A gap that the spool loses in turn is remembered from its begin on.
func TestHoleOfAHole(t *testing.T) {
	s := newServer(t)
	s.will(503)
	a := newTestAgent(t, t.TempDir(), s.URL, 700)
	a.delivery.away.Store(true)
	losses{a}.Lost(spool.Item{Class: spool.Evidence, Entries: 1, From: now.Add(-time.Hour), To: now.Add(-time.Minute)},
		nil)
	for i := range 6 {
		oomAt(a, now.Add(time.Duration(i)*time.Second))
		a.flushOnce(context.Background(), true)
	}
	a.flushOnce(context.Background(), true)
	s.will(0)
	sendUntil(t, a, "an empty spool", a.empty)
	if from := s.earliest(); !from.Equal(now.Add(-time.Hour)) {
		t.Errorf("the gap begins %v, want %v", from, now.Add(-time.Hour))
	}
}

// What the spool lost is told before anything that came after it, so that no node is believed to
// be read over it.
func TestHoleIsToldFirst(t *testing.T) {
	s := newServer(t)
	s.will(503)
	a := newTestAgent(t, t.TempDir(), s.URL, 700)
	a.delivery.away.Store(true)
	for i := range 6 {
		oomAt(a, now.Add(time.Duration(i)*time.Second))
		a.flushOnce(context.Background(), true)
	}
	s.will(0)
	sendUntil(t, a, "an empty spool", a.empty)
	if got := s.texts(); len(got) < 7 || !strings.HasPrefix(got[0], "gap ") {
		t.Errorf("%q", got)
	}
}

// A push that the server does not take is written at once. What went before it is told before it after
// a crash, though the positions were never stored.
func TestHoleIsToldFirstAfterACrash(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	s.will(503)
	a := newTestAgent(t, dir, s.URL, 700)
	for i := range 6 {
		oomAt(a, now.Add(time.Duration(i)*time.Second))
		a.stored = now // the positions are not due
		a.flushOnce(context.Background(), false)
	}
	if a.lost.currentRange().To.IsZero() {
		t.Fatal("nothing was lost")
	}
	a.Steps().Send(context.Background())
	s.will(0)
	b := newTestAgent(t, dir, s.URL, 1<<20)
	sendUntil(t, b, "an empty spool", b.empty)
	if got := s.texts(); len(got) < 2 || !strings.HasPrefix(got[0], "gap ") {
		t.Errorf("%q", got)
	}
}

// Two spans of one log between two pushes are both told.
func TestEveryBeatIsTold(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	for _, from := range []time.Time{now, now.Add(12 * time.Second)} {
		e := ingest.Entry{Node: "n1", Source: ingest.Runner, Pod: "p", Namespace: "ci", Doc: "log", At: from,
			Clock: ingest.WallClock,
			Mark:  &ingest.Mark{Kind: ingest.Covered, From: from, To: from.Add(time.Second), Lines: 3}}
		_ = a.takePods(podlog.Batch{Marks: []ingest.Entry{e}})
	}
	a.flushOnce(context.Background(), true)
	sendUntil(t, a, "an empty spool", a.empty)
	if n := strings.Count(strings.Join(s.texts(), "|"), "covered runner"); n != 2 {
		t.Errorf("%d spans: %q", n, s.texts())
	}
}

// What goes of pods' logs is a hole, too, and of the controllers' where some of those is among it;
// both are told after a restart.
func TestHoleInPodsLogs(t *testing.T) {
	for _, follows := range []ingest.Source{ingest.Runner, ingest.Controller} {
		s, dir := newServer(t), t.TempDir()
		s.will(503)
		a := newTestAgent(t, dir, s.URL, 400)
		a.delivery.away.Store(true)
		read := ingest.Mark{Kind: ingest.Covered, From: now, To: now}
		_ = a.takePods(podlog.Batch{Marks: []ingest.Entry{{Node: "n1", Source: follows, Namespace: "ci", Pod: "p",
			Doc: "log", At: now, Clock: ingest.WallClock, Mark: &read}}})
		for i := range 3 {
			oomAt(a, now.Add(time.Duration(i)*time.Minute))
			a.flushOnce(context.Background(), true)
		}
		s.will(0)
		b := newTestAgent(t, dir, s.URL, 1<<20)
		b.flushOnce(context.Background(), true)
		sendUntil(t, b, "an empty spool", b.empty)
		got := strings.Join(s.texts(), ",")
		for source, want := range map[ingest.Source]bool{
			ingest.Kernel: true, ingest.Runner: true, ingest.Job: true,
			ingest.Controller: follows == ingest.Controller, ingest.Listener: false,
		} {
			if has := strings.Contains(got, "gap "+string(source)); has != want {
				t.Errorf("with a log of the %s a gap of the %s is told: %v; %s", follows, source, has, got)
			}
		}
	}
}
