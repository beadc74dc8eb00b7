package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/push"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// server is the other end of the wire: it keeps what it takes.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	answer int // 0 = take it
	got    []ingest.Entry
}

func newServer(t *testing.T) *server {
	s := &server{}
	handler := push.NewHandler(push.Limits{}, nil, func(_ context.Context, e []ingest.Entry) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, e...)
		return nil
	}, func(string) {})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		answer := s.answer
		s.mu.Unlock()
		if answer != 0 {
			w.WriteHeader(answer)
		} else {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) will(answer int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *server) texts() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.got {
		switch {
		case e.Mark == nil:
			out = append(out, e.Text)
		default:
			out = append(out, map[ingest.MarkKind]string{ingest.Covered: "covered ", ingest.Gap: "gap ",
				ingest.Ended: "ended ", ingest.Reached: "reached "}[e.Mark.Kind]+string(e.Source))
		}
	}
	return out
}

func newTestAgent(t *testing.T, dir, url string, spoolSize int64) *Agent {
	t.Helper()
	sender := &push.Sender{URL: url + push.Path, Node: "n1", Client: &http.Client{Timeout: 30 * time.Second}}
	a, err := New(Config{
		Node: "n1", Spool: Spool{Dir: dir, MaxBytes: spoolSize, Batch: time.Millisecond, Idle: time.Hour},
		Rulebook: Rulebook{Interval: time.Hour}, Sender: sender,
	}, zerolog.Nop(), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var now = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func line(source ingest.Source, text string) ingest.Entry {
	return ingest.Entry{
		At:     now,
		Clock:  ingest.WallClock,
		Source: source,
		Trust:  ingest.Attested,
		Node:   "n1",
		Text:   text,
	}
}

const oom = "Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB, anon-rss:1kB, file-rss:1kB, " +
	"shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0"

// sendUntil delivers what is in the spool until something holds.
func sendUntil(t *testing.T, a *Agent, what string, holds func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		a.delivery.sendLoop(ctx)
		close(done)
	}()
	poll, end := time.NewTicker(5*time.Millisecond), time.After(10*time.Second)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("not within ten seconds: %s", what)
		}
	}
	stop()
	<-done
}

func (a *Agent) empty() bool {
	_, files := a.spool.Size()
	return files == 0
}

// Matched lines, last words and marks reach the server; everything else is
// counted; lines = matched + dropped.
func TestOnlyEvidenceCrossesTheNetwork(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	words := ingest.Entry{At: now, Source: ingest.Runner, Node: "n1", Namespace: "ci", Pod: "p", PodUID: "u",
		Container: "runner", Text: "compiling"}
	beat := words
	beat.Text, beat.Mark = "", &ingest.Mark{Kind: ingest.Covered, From: now, To: now, Lines: 9}
	_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{line(ingest.Kernel, oom), line(ingest.Kernel, "eth0: up")},
		Lines: 12, Passed: 10, Cursor: "c1", At: now, Reached: now,
		Covered: []ingest.Entry{{Source: ingest.Kernel, Node: "n1", Mark: &ingest.Mark{From: now, To: now}}}})
	_ = a.takePods(podlog.Batch{Entries: []ingest.Entry{words}, LastLines: []ingest.Entry{words},
		Marks: []ingest.Entry{beat}, Lines: 4, Passed: 1, Reached: now.Add(-time.Second)})
	a.flushOnce(context.Background(), false)
	sendUntil(t, a, "an empty spool", a.empty)
	got := strings.Join(s.texts(), "|")
	for _, want := range []string{oom, "compiling", "covered kernel", "covered runner", "reached agent"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q did not arrive: %s", want, got)
		}
	}
	if strings.Contains(got, "eth0") || strings.Index(got, "compiling") > strings.Index(got, "reached") {
		t.Errorf("%s", got)
	}
	m := a.metrics
	if n := testutil.ToFloat64(m.lines.WithLabelValues(fromJournal)); n != 12 {
		t.Errorf("%v lines", n)
	}
	if n := testutil.ToFloat64(m.dropped.WithLabelValues(fromPods, "part-of-a-line")); n != 2 {
		t.Errorf("%v parts", n)
	}
	if n := testutil.ToFloat64(m.dropped.WithLabelValues(fromPods, "unrecognised")); n != 2 {
		t.Errorf("%v unrecognised, one of them passed over by the reader", n)
	}
	if n := testutil.ToFloat64(m.dropped.WithLabelValues(fromJournal, "unrecognised")); n != 11 {
		t.Errorf("%v unrecognised", n)
	}
	if n := testutil.ToFloat64(m.dropped.WithLabelValues(fromJournal, "part-of-a-line")); n != 0 {
		t.Errorf("%v parts of the journal", n)
	}
	if !a.rulebook.wantsRecord(ingest.Kernel, []byte(oom)) ||
		a.rulebook.wantsRecord(ingest.Kernel, []byte("eth0: up")) {
		t.Error("wanted is not what is recognised")
	}
}

// How far the node was read is told only once both sources have got there.
func TestReachedIsTheSlowerSource(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	_ = a.takeJournal(journal.Batch{Reached: now})
	a.flushOnce(context.Background(), true)
	_ = a.takePods(podlog.Batch{Reached: now.Add(-time.Minute)})
	a.flushOnce(context.Background(), true)
	sendUntil(t, a, "an empty spool", a.empty)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) != 1 || !s.got[0].Mark.To.Equal(now.Add(-time.Minute)) {
		t.Errorf("%+v", s.got)
	}
}

// Every record, and every mark, names the agent's cluster.
func TestClusterOfAnAgent(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	a.queue.cluster = "east"
	covered := ingest.Entry{Source: ingest.Kernel, Node: "n1", Mark: &ingest.Mark{From: now, To: now}}
	oomed := []ingest.Entry{line(ingest.Kernel, oom)}
	_ = a.takeJournal(journal.Batch{Entries: oomed, Covered: []ingest.Entry{covered}, Lines: 1, Reached: now})
	_ = a.takePods(podlog.Batch{LastLines: []ingest.Entry{line(ingest.Runner, "last")}, Reached: now})
	a.flushOnce(context.Background(), true)
	sendUntil(t, a, "an empty spool", a.empty)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.got {
		if e.Cluster != "east" {
			t.Errorf("%+v", e)
		}
	}
	if len(s.got) != 4 {
		t.Errorf("%d records", len(s.got))
	}
}

// A position is stored with what it stands for, and a killed agent goes on there.
func TestPositionsFollowTheSpool(t *testing.T) {
	dir := t.TempDir()
	a := newTestAgent(t, dir, "http://127.0.0.1:1", 1<<20)
	_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{line(ingest.Kernel, oom)}, Lines: 1, Cursor: "c1", At: now,
		Reached: now})
	if b := newTestAgent(t, dir, "", 1<<20); b.state.Cursor != "" {
		t.Errorf("a position without its evidence: %+v", b.state)
	}
	a.flushOnce(context.Background(), true)
	s := newServer(t)
	b := newTestAgent(t, dir, s.URL, 1<<20)
	if b.state.Cursor != "c1" || !b.state.At.Equal(now) {
		t.Errorf("%+v", b.state)
	}
	sendUntil(t, b, "an empty spool", b.empty)
	if got := s.texts(); len(got) == 0 || got[0] != oom {
		t.Errorf("%q", got)
	}
}

// While the server takes what it is sent, nothing of it is written; what it does
// not take is on disk at once, with the position after it.
func TestOnlyWhatWaitsIsWritten(t *testing.T) {
	dir, s := t.TempDir(), newServer(t)
	a := newTestAgent(t, dir, s.URL, 1<<20)
	read := func(cursor string) {
		_ = a.takeJournal(
			journal.Batch{Entries: []ingest.Entry{line(ingest.Kernel, oom)}, Lines: 1, Cursor: cursor, At: now},
		)
		a.flushOnce(context.Background(), false)
	}
	onDisk := func() (files int, cursor string) {
		b := newTestAgent(t, dir, "", 1<<20)
		_, files = b.spool.Size()
		return files, b.state.Cursor
	}
	a.stored = time.Now().Add(time.Hour)
	read("c1")
	if files, cursor := onDisk(); files != 0 || cursor != "" {
		t.Errorf("%d files, cursor %q while the server is there", files, cursor)
	}
	s.will(http.StatusServiceUnavailable)
	sendUntil(t, a, "an answer", a.delivery.away.Load)
	sendUntil(t, a, "a file", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir,
			"*.push"))
		return len(files) == 1
	})
	read("c2")
	if files, cursor := onDisk(); files != 2 || cursor != "c2" {
		t.Errorf("%d files, cursor %q while the server is away", files, cursor)
	}
	s.will(0)
	sendUntil(t, a, "an empty spool", a.empty)
	if files, _ := onDisk(); files != 0 || a.delivery.away.Load() {
		t.Errorf("%d files after the server took them", files)
	}
}

// Evidence does not wait, and its marks do not for a while after it. That logs
// grow, or that nothing happens, waits longer.
func TestPace(t *testing.T) {
	a := newTestAgent(t, t.TempDir(), "", 1<<20)
	a.c.Spool.Batch, a.c.Spool.Idle = 500*time.Millisecond, 5*time.Second
	want := func(what string, want time.Duration) {
		t.Helper()
		if got := a.pushPause(now); got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	s := httptest.NewServer(push.Paced(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		func() time.Duration { return 20 * time.Second }))
	defer s.Close()
	want("nothing", a.c.Spool.Idle)
	a.marks.beats["x"] = ingest.Entry{}
	want("a log that grew", 750*time.Millisecond)
	a.c.Sender.URL, a.c.Sender.Node = s.URL, "n1"
	if err := a.c.Sender.Post(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want("a log that grew, on one of many nodes", 20*time.Second)
	delete(a.marks.beats, "x")
	want("nothing, on one of many nodes", 20*time.Second)
	a.queue.context = make([]ingest.Entry, 1)
	want("last words", 0)
	a.queue.context, a.queue.busyUntil = nil, now.Add(time.Second)
	want("marks after evidence", 0)
}

// A server that is away loses nothing; one that refuses is told once.
func TestAnswers(t *testing.T) {
	s := newServer(t)
	s.will(http.StatusServiceUnavailable)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{line(ingest.Kernel, oom)}, Lines: 1})
	a.flushOnce(context.Background(), true)
	sendUntil(
		t,
		a,
		"two answers",
		func() bool { return testutil.ToFloat64(a.metrics.pushes.WithLabelValues("postponed")) >= 2 },
	)
	if _, files := a.spool.Size(); files != 1 {
		t.Fatalf("%d files", files)
	}
	s.will(http.StatusBadRequest)
	sendUntil(t, a, "an empty spool", a.empty)
	if n := testutil.ToFloat64(a.metrics.dropped.WithLabelValues("spool", "refused")); n != 1 {
		t.Errorf("%v dropped", n)
	}
}

// A spool that is full tells verdicts of the gap that it leaves.
func TestFullSpoolIsAGap(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1)
	for range 3 {
		_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{line(ingest.Kernel, oom)}, Lines: 1})
		a.flushOnce(context.Background(), true)
	}
	a.flushOnce(context.Background(), true)
	if n := testutil.ToFloat64(a.metrics.dropped.WithLabelValues("spool", "spool-full-evidence")); n == 0 {
		t.Error("nothing was counted")
	}
	sendUntil(t, a, "an empty spool", a.empty)
	if got := strings.Join(s.texts(), "|"); !strings.Contains(got, "gap kernel") ||
		!strings.Contains(got, "gap kubelet") {
		t.Errorf("%s", got)
	}
}

// A changed rulebook is adopted, kept for a start without the server, and has
// the look-back read again; one with mistakes changes nothing.
func TestRulebookIsFetched(t *testing.T) {
	dir := t.TempDir()
	a := newTestAgent(t, dir, "", 1<<20)
	before := a.rulebook.inForce.Load().Hash
	custom := "-- 000/own.yaml --\nsignals:\n  - name: own.line\n    source: kernel\n    doc: A line of our own.\n" +
		"    printed: a test\n    match: '^our own$'\n    tests: [{line: our own}]\n"
	if err := a.rulebook.adoptSource([]byte("-- 000/own.yaml --\nsignals: 7\n")); err == nil ||
		a.rulebook.inForce.Load().Hash != before {
		t.Errorf("mistakes were adopted: %v", err)
	}
	if err := a.rulebook.adoptSource([]byte(custom)); err != nil {
		t.Fatal(err)
	}
	if len(a.rulebook.changed) != 1 || a.rulebook.inForce.Load().Signal("own.line") == nil {
		t.Error("not adopted")
	}
	if b := newTestAgent(t, dir, "", 1<<20); b.rulebook.inForce.Load().Signal("own.line") == nil {
		t.Error("forgotten over a restart")
	}
}

// What a server with another rulebook filed is read again when the agent meets one with its own.
func TestLookBackIsReadAfterAnotherRulebookFiled(t *testing.T) {
	var filedBy string
	s := httptest.NewServer(push.FiledBy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotModified)
		}
	}), func() string { return filedBy }))
	defer s.Close()
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<20)
	a.rulebook.c.URL = s.URL
	for _, by := range []string{a.RulebookHash(), "another"} {
		filedBy = by
		a.addEvidence(&ingest.Entry{Source: ingest.Kernel, Node: "n1", Text: oom})
		a.flushOnce(context.Background(), true)
		sendUntil(t, a, "an empty spool", a.empty)
		if err := a.rulebook.fetchNew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again := a.Steps().MustReadAgain(); again != (by == "another") {
			t.Errorf("filed by %s: read again %v", by, again)
		}
	}
}

// Where a crash comes before the look-back was read by a changed rulebook, and what it gave is on
// disk, it is read after the next start.
func TestLookBackIsReadAfterACrash(t *testing.T) {
	dir := t.TempDir()
	a := newTestAgent(t, dir, "", 1<<20)
	custom := "-- 000/own.yaml --\nsignals:\n  - name: own.line\n    source: kernel\n    doc: A line of our own.\n" +
		"    printed: a test\n    match: '^our own$'\n    tests: [{line: our own}]\n"
	if err := a.rulebook.adoptSource([]byte(custom)); err != nil {
		t.Fatal(err)
	}
	b := newTestAgent(t, dir, "", 1<<20)
	if !b.Steps().MustReadAgain() {
		t.Fatal("the look-back is not read any more")
	}
	if err := b.Steps().ReadAgain([]ingest.Entry{line(ingest.Kernel, "our own")}); err != nil {
		t.Fatal(err)
	}
	c := newTestAgent(t, dir, "", 1<<20)
	if c.empty() || c.Steps().MustReadAgain() {
		t.Error("what was read is not kept, or is read once more")
	}
}

func TestFollowGlobs(t *testing.T) {
	c := &Config{Follow: strings.Split(DefaultFollow, ","), Controller: []string{"ops/dispatcher-*"}}
	for _, tt := range []struct {
		namespace, pod, container string
		want                      bool
	}{
		{"ci", "amber-x2v9k", "runner", true},
		{"ci", "amber-runner-x2v9k", "dind", true},
		{"arc-systems", "arc-gha-rs-controller-1", "manager", true},
		{"arc-systems", "amber-754b578d-listener", "listener", true},
		{"ops", "dispatcher-0", "main", true},
		{"ci", "dispatcher-0", "main", false},
		{"kube-system", "coredns-1", "coredns", false},
		{"cert-manager", "cert-manager-1", "controller", false},
	} {
		if got := c.followsLog(tt.namespace, tt.pod, tt.container); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// What comes in a burst waits in the spool, not as entries, and the list does not
// keep its room. Nothing of it is lost or out of order.
func TestBurstIsNotHeld(t *testing.T) {
	s := newServer(t)
	a := newTestAgent(t, t.TempDir(), s.URL, 1<<26)
	var want []string
	var burst []ingest.Entry
	for i := range 3*maxHeld + 7 {
		want = append(want, fmt.Sprint(oom, i))
		burst = append(burst, line(ingest.Kernel, want[i]))
	}
	for some := range slices.Chunk(burst, maxHeld-1) {
		_ = a.takePods(podlog.Batch{LastLines: some, Lines: len(some), Reached: now})
		if n := len(a.queue.evidence) + len(a.queue.context); n >= maxHeld {
			t.Errorf("%d entries are held", n)
		}
	}
	_ = a.takeJournal(journal.Batch{Entries: burst, Lines: len(burst), Reached: now})
	a.flushOnce(context.Background(), true)
	if n := cap(a.queue.evidence) + cap(a.queue.context); n > 2*maxHeld {
		t.Errorf("room of %d entries is kept", n)
	}
	sendUntil(t, a, "an empty spool", a.empty)
	want = append(want, want...)
	if diff := cmp.Diff(append(want, "reached agent"), s.texts()); diff != "" {
		t.Error(diff)
	}
}
