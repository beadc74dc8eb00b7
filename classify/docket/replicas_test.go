package docket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/postgres"
	"coroner/ingest"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// replicaOf names, in a process that is a replica, the database.
const replicaOf = "CORONER_TEST_REPLICA"

var replicaOptions = Options{Settle: 300 * time.Millisecond, Deadline: 4 * time.Second, Silent: time.Hour,
	Publish: true}

// TestReplica is one of the servers of the test below: a process of its own, that can be
// killed like one.
func TestReplica(t *testing.T) {
	url := os.Getenv(replicaOf)
	if url == "" {
		t.Skip("no test by itself: a server that TestReplicasThatAreKilled starts")
	}
	l, err := ledger.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(os.Stderr).Level(zerolog.WarnLevel)
	d := New(l, loadBook(t), replicaOptions, NewMetrics(prometheus.NewRegistry()), log, l.NewClock(time.Now).Now)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("replica at %s\n", listener.Addr())
	go func() { _ = d.Run(context.Background()) }()
	t.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var entries []ingest.Entry
		err := json.NewDecoder(r.Body).Decode(&entries)
		if err == nil {
			err = d.Receive(r.Context(), entries)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})))
}

// replica is such a process as the test has it.
type replica struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	at  string // its address; "" while it is down
	cmd *exec.Cmd
}

func (r *replica) start() {
	for range 100 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestReplica$", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), replicaOf+"="+r.url)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			r.t.Error(err)
			return
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if at, ok := strings.CutPrefix(line, "replica at "); ok {
			r.mu.Lock()
			r.cmd, r.at = cmd, strings.TrimSpace(at)
			r.mu.Unlock()
			return
		}
		_ = cmd.Wait() // the database is away: so is whoever starts it again
	}
	r.t.Error("a replica does not start")
}

// kill ends it at once, as the kernel does.
func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
	r.at, r.cmd = "", nil
}

func (r *replica) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// service are the replicas, as agents see them: any of them.
type service struct {
	all  []*replica
	mu   sync.Mutex
	told [][]ingest.Entry // what was acknowledged
	gate sync.RWMutex     // closed to new pushes while a killed server starts: else they were done before the next kill
}

// acknowledged is how many pushes were.
func (s *service) acknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.told)
}

// push sends entries to any replica until one has acknowledged them.
func (s *service) push(entries []ingest.Entry) error {
	data, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	client := http.Client{Timeout: 20 * time.Second}
	for range 2000 {
		at := s.all[rand.N(len(s.all))].address()
		res, err := client.Post("http://"+at+"/", "application/json", bytes.NewReader(data))
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.told = append(s.told, entries)
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond) // as an agent, which tries again
	}
	return errors.New("no replica takes a push")
}

// Three servers share a PostgreSQL, nodes push to any of them, and servers and the database
// are killed in the middle. Every runner that died has one current verdict, and it is the one
// that one server that nobody disturbs gives on a file; nothing acknowledged is lost.
func TestReplicasThatAreKilled(t *testing.T) {
	if postgres.Second() {
		t.Skip("shown by the first run: it starts a PostgreSQL of its own")
	}
	db := postgres.Start(t, true, "three servers on one PostgreSQL, killed in the middle")
	s := &service{}
	url := db.Database(t)
	l := openLedger(t, url)
	for range 3 {
		r := &replica{t: t, url: url}
		r.start()
		s.all = append(s.all, r)
		t.Cleanup(r.kill)
	}
	const deaths, nodes = 60, 4
	agents := tellDeaths(t, s, deaths, nodes)
	done := make(chan struct{})
	go func() { defer close(done); agents.Wait() }()
	rounds, poll := 0, time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-poll.C:
			if s.acknowledged() < (rounds+1)*pushesARound {
				continue
			}
			s.killOne(t, rounds, db)
			rounds++
		}
	}
	awaitVerdicts(t, l, s, deaths, nodes)
	compareVerdicts(t, docketOf(t, l), undisturbed(t, s.told))
	t.Logf(
		"%d deaths, %d pushes, %d kills of a server and %d of the database",
		deaths,
		len(s.told),
		rounds,
		(rounds+1)/3,
	)
	if rounds < 3 {
		t.Error("the agents were done before anything was killed")
	}
}

// pushesARound is after how many pushes a server is killed.
const pushesARound = 60

// killOne kills a server, each third time the database too, and starts them again.
func (s *service) killOne(t *testing.T, round int, db *postgres.Server) {
	t.Helper()
	hit := s.all[round%3]
	hit.kill()
	if round%3 == 1 {
		if err := errors.Join(db.Kill(), db.Up()); err != nil {
			t.Fatal(err)
		}
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	hit.start()
}

func openLedger(t *testing.T, path string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// tellDeaths has each node's agent tell of its runners' lives and deaths, some lines in each
// push, one push after another.
func tellDeaths(t *testing.T, s *service, deaths, nodes int) *sync.WaitGroup {
	w, of := town{nodes: nodes}, map[string][][]ingest.Entry{}
	began := time.Now().UTC().Add(-time.Minute)
	for i := range deaths {
		at := began.Add(time.Duration(i) * 50 * time.Millisecond)
		lines := slices.Concat(w.born(i, at), w.lives(i, at.Add(time.Second)), w.dies(i, at.Add(2*time.Second)))
		some := map[string][]ingest.Entry{}
		for _, e := range lines {
			some[e.Node] = append(some[e.Node], e)
		}
		for node, lines := range some {
			for part := range slices.Chunk(lines, 7) {
				of[node] = append(of[node], part)
			}
		}
	}
	var agents sync.WaitGroup
	for node, pushes := range of {
		agents.Go(func() {
			for _, p := range pushes {
				if err := s.push(append(p, w.marks(node, began, p[len(p)-1].At)...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	return &agents
}

// awaitVerdicts has the nodes say that all was read, and waits until no runner is left to judge.
func awaitVerdicts(t *testing.T, l *ledger.Ledger, s *service, deaths, nodes int) {
	t.Helper()
	w, began := town{nodes: nodes}, time.Now().UTC().Add(-2*time.Minute)
	last := w.marks("system-1", began, time.Now().UTC())
	for i := range nodes {
		last = append(last, w.marks(w.node(i), began, time.Now().UTC())...)
	}
	if err := s.push(last); err != nil {
		t.Fatal(err)
	}
	var counts map[ledger.State]int
	for range 600 {
		var err error
		if counts, err = l.CountCases(t.Context()); err == nil && counts[ledger.StateJudged] == deaths &&
			len(counts) == 1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("cases %v, want %d that are judged", counts, deaths)
}

// undisturbed are the verdicts of one server on a file that is told the same.
func undisturbed(t *testing.T, told [][]ingest.Entry) *Docket {
	t.Helper()
	d := docketOf(t, openLedger(t, filepath.Join(t.TempDir(), "l.db")))
	for _, entries := range told {
		if err := d.Receive(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(time.Hour)
	d.now, d.judge.now = func() time.Time { return now }, func() time.Time { return now }
	if err := d.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// docketOf is a docket that nobody runs.
func docketOf(t *testing.T, l *ledger.Ledger) *Docket {
	return New(l, loadBook(t), replicaOptions, NewMetrics(prometheus.NewRegistry()), zerolog.Nop(), time.Now)
}

// compareVerdicts says where the ledgers of two dockets differ.
func compareVerdicts(t *testing.T, these, those *Docket) {
	t.Helper()
	got := these.ledger
	wanted, err := those.ledger.Verdicts(t.Context(), ledger.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wanted {
		found, err := got.Verdicts(t.Context(), ledger.Query{Runner: w.Verdict.Namespace + "/" + w.Verdict.Runner})
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %d verdicts %v", w.Verdict.Runner, len(found), err)
			continue
		}
		a, b := &found[0].Verdict, &w.Verdict
		if !saysNothingNew(a, b) {
			t.Errorf("%s: %s %s by %s, undisturbed %s %s by %s", b.Runner, a.Label, a.Confidence, a.Rule,
				b.Label, b.Confidence, b.Rule)
		}
		// A verdict stands on what was known then: what both know by now is the same, to the line.
		if diff := cmp.Diff(opinionOn(t, those, w.Case), opinionOn(t, these, found[0].Case)); diff != "" {
			t.Errorf("%s is judged otherwise: %s", b.Runner, diff)
		}
		all, err := got.Revisions(t.Context(), found[0].Case)
		for i := range all {
			if all[i].Verdict.Revision != i+1 {
				t.Errorf("%s: revision %d is the %d. one", b.Runner, all[i].Verdict.Revision, i+1)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	all, err := got.Verdicts(t.Context(), ledger.Query{})
	if err != nil || len(all) != len(wanted) {
		t.Errorf("%d current verdicts, undisturbed %d, %v", len(all), len(wanted), err)
	}
	n, err := got.Outbox.Count(t.Context())
	if revisions := totalRevisions(t, got, all); err != nil || n != revisions {
		t.Errorf("%d verdicts are to be published, and %d are recorded: %v", n, revisions, err)
	}
}

func opinionOn(t *testing.T, d *Docket, id string) *rules.Verdict {
	t.Helper()
	c, ok, err := d.ledger.Case(t.Context(), id)
	if err != nil || !ok {
		t.Fatal(id, ok, err)
	}
	v, err := d.Opinion(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func totalRevisions(t *testing.T, l *ledger.Ledger, current []ledger.Record) (n int) {
	t.Helper()
	for _, r := range current {
		n += r.Verdict.Revision
	}
	return n
}

// A server that was stopped in the middle of a judgement, until another one took the case and
// judged it, changes nothing when it goes on.
func TestAJudgementThatWasOvertaken(t *testing.T) {
	if postgres.Second() {
		t.Skip("shown by the first run: it starts a PostgreSQL of its own")
	}
	url := postgres.Start(t, false, "a server that wakes up after another one took its cases").Database(t)
	slow, quick := docketOf(t, openLedger(t, url)), docketOf(t, openLedger(t, url))
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	slow.now, quick.now = func() time.Time { return now }, func() time.Time { return now }
	w, ctx := town{nodes: 1}, t.Context()
	if err := quick.Receive(ctx, slices.Concat(w.born(1, now), w.dies(1, now.Add(time.Second)))); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	claimed, _, err := slow.ledger.TakePending(ctx, now, 0)
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	var o outcome
	err = slow.ledger.View(ctx, func(q ledger.Questions) (err error) {
		o, _, err = slow.judge.decideCase(ctx, q, claimed[0].ID)
		return err
	})
	if err != nil || o.verdict == nil {
		t.Fatal(o, err)
	}
	if err := quick.Due(ctx); err != nil {
		t.Fatal(err)
	}
	if all, err := quick.ledger.Revisions(ctx, o.ID); len(all) != 0 || err != nil {
		t.Errorf("two servers judge a case: %d verdicts, %v", len(all), err)
	}
	now = now.Add(ledger.ClaimFor)
	if err := quick.Due(ctx); err != nil {
		t.Fatal(err)
	}
	before, _, err := quick.ledger.Case(ctx, o.ID)
	if err == nil {
		err = slow.judge.recordOutcomes(ctx, []outcome{o})
	}
	after, _, err2 := quick.ledger.Case(ctx, o.ID)
	all, err3 := quick.ledger.Revisions(ctx, o.ID)
	if diff := cmp.Diff(before, after); diff != "" || len(all) != 1 || before.State != ledger.StateJudged ||
		errors.Join(err, err2, err3) != nil {
		t.Errorf("%d verdicts, %v: %s", len(all), errors.Join(err, err2, err3), diff)
	}
}

// What is too old goes by the day, by one of the servers, which counts it; the verdict of what is
// gone stands.
func TestEvidenceGoesByTheDay(t *testing.T) {
	if postgres.Second() {
		t.Skip("shown by the first run: it starts a PostgreSQL of its own")
	}
	url := postgres.Start(t, false, "servers that drop the evidence of a day").Database(t)
	a, b := docketOf(t, openLedger(t, url)), docketOf(t, openLedger(t, url))
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	w, ctx := town{nodes: 1}, t.Context()
	upkeep := func(some bool) {
		t.Helper()
		for _, d := range []*Docket{a, b} {
			d.now = func() time.Time { return now }
			if err := d.Upkeep(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if gone := testutil.ToFloat64(a.metrics.removed.WithLabelValues("evidence")) +
			testutil.ToFloat64(b.metrics.removed.WithLabelValues("evidence")); gone > 0 != some {
			t.Errorf("%s: %v records are gone", now, gone)
		}
	}
	upkeep(false)
	if err := a.Receive(ctx, slices.Concat(w.born(1, now), w.dies(1, now.Add(time.Second)))); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if err := b.Due(ctx); err != nil {
		t.Fatal(err)
	}
	if filed(t, a) == 0 {
		t.Fatal("nothing is filed: this test shows nothing")
	}
	now = now.Add(a.options.Keep.Evidence)
	upkeep(false) // the day was not over then
	now = now.Add(12 * time.Hour)
	upkeep(true)
	verdicts, err := b.ledger.Verdicts(ctx, ledger.Query{})
	if left := filed(t, b); left != 0 || len(verdicts) != 1 || err != nil {
		t.Errorf("%d records, %d verdicts, %v", left, len(verdicts), err)
	}
}

// filed is how many records there are of the runner that dies first.
func filed(t *testing.T, d *Docket) int {
	t.Helper()
	all, err := d.ledger.Verdicts(t.Context(), ledger.Query{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	v := all[0].Verdict
	found, err := d.ledger.In(v.Cluster).Since(t.Context(), "uid:"+v.PodUID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
