package rerun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/annotate"
	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest/github"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

var died = time.Date(2026, 5, 4, 9, 59, 0, 0, time.UTC)

// fakeGitHub has one run and counts what it is told to run again.
type fakeGitHub struct {
	mu      sync.Mutex
	jobs    []github.Job
	run     map[string]any
	ordered []string
	onOrder func()
}

// ServeHTTP answers as GitHub does.
func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		f.ordered = append(f.ordered, r.URL.Path)
		f.run["run_attempt"], f.run["status"] = f.run["run_attempt"].(int)+1, "queued"
		if f.onOrder != nil {
			f.onOrder()
		}
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == "/repos/o/r/actions/runs/8":
		_ = json.NewEncoder(w).Encode(f.run)
	case r.URL.Path == "/repos/o/r/actions/runs/8/jobs":
		_ = json.NewEncoder(w).Encode(map[string]any{"jobs": f.jobs})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// lost is a job that GitHub gave up eleven minutes after its runner died.
func lost(id int64, runner string) github.Job {
	return github.Job{ID: id, RunID: 8, Attempt: 1, Conclusion: "failure", Runner: runner,
		Started: died.Add(-10 * time.Minute), Completed: died.Add(11 * time.Minute)}
}

type scene struct {
	*fakeGitHub
	t      *testing.T
	ledger *ledger.Ledger
	loop   *deliver.Loop
	r      *Rerunner
	clock  time.Time
	log    bytes.Buffer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, clock: died.Add(time.Minute), fakeGitHub: &fakeGitHub{
		run: map[string]any{"status": "completed", "conclusion": "failure", "run_attempt": 1},
		jobs: []github.Job{
			lost(7, "amber"),
			{ID: 9, RunID: 8, Attempt: 1, Conclusion: "success", Runner: "birch", Started: died.Add(-10 * time.Minute),
				Completed: died.Add(5 * time.Minute)},
		},
	}}
	server := httptest.NewServer(s.fakeGitHub)
	t.Cleanup(server.Close)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.ledger = l
	now := func() time.Time { return s.clock }
	token := func() (string, error) { return "t", nil }
	s.r = &Rerunner{GitHub: github.NewClient(server.URL, token, server.Client(), now), Ledger: l, PerHour: 2,
		Scope: annotate.Scope{"o/r"}, Log: zerolog.New(&s.log), Now: now,
		Metrics: NewMetrics(prometheus.NewRegistry()),
		Locate: func(_ context.Context, r *ledger.Record) (github.Question, error) {
			return github.Question{Repository: "o/r", Run: "8", Runner: r.Verdict.Runner, Died: *r.Verdict.DiedAt}, nil
		}}
	s.restart()
	s.flush(t.Context())
	return s
}

func (s *scene) restart() {
	s.loop = &deliver.Loop{Receiver: Receiver, List: s.ledger.Deliveries(Receiver), Send: s.r.Send, Log: zerolog.Nop(),
		Age: Age, Now: s.r.Now, Metrics: deliver.NewMetrics(prometheus.NewRegistry())}
}

func (s *scene) flush(ctx context.Context) {
	s.t.Helper()
	s.clock = s.clock.Add(time.Second)
	if err := s.loop.Flush(ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) put(id string, change func(*rules.Verdict)) {
	s.t.Helper()
	v := &rules.Verdict{Runner: id, Namespace: "arc", Pool: "linux", Label: rules.HostTeardown, Revision: 1,
		Confidence: rules.Probable, Domain: "platform", Retry: "helps", DiedAt: &died}
	change(v)
	if err := s.ledger.Write(s.t.Context(), s.clock, func(tx *ledger.Tx) error {
		return tx.AddVerdict(id, v, s.clock, false)
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) want(ordered ...string) {
	s.t.Helper()
	if !slices.Equal(s.ordered, ordered) {
		s.t.Errorf("ordered %q, want %q; the log: %s", s.ordered, ordered, &s.log)
	}
}

const (
	failedJobs = "/repos/o/r/actions/runs/8/rerun-failed-jobs"
	oneJob     = "/repos/o/r/actions/jobs/7/rerun"
)

func nothing(*rules.Verdict) {}

// A job whose runner died is run again once, and what was done is stored.
func TestRerun(t *testing.T) {
	s := newScene(t)
	s.put("amber", nothing)
	s.flush(t.Context())
	s.put("amber", func(v *rules.Verdict) { v.Revision = 2 })
	s.flush(t.Context())
	s.want(failedJobs)
	for revision, want := range map[int]string{
		1: "rerun: all failed jobs of run 8, attempt 1", 2: "no: the run was run again since",
	} {
		if note, err := s.ledger.Deliveries(Receiver).Note(t.Context(), "amber", revision); note != want || err != nil {
			t.Errorf("%q %v, want %q", note, err, want)
		}
	}
	if !strings.Contains(s.log.String(), `"runner":"amber"`) || !strings.Contains(s.log.String(), "run again: all") {
		t.Error(&s.log)
	}
}

// Whatever speaks against it keeps a job from being run again, and is stored.
func TestRefusals(t *testing.T) {
	pool := func(s *scene, name string, state rules.State) {
		s.put("pool-"+name, func(v *rules.Verdict) {
			v.Kind, v.Runner, v.Pool, v.Label, v.State = casefile.OfPool, "", name, rules.PoolBlocked, state
			v.DiedAt = nil
		})
	}
	for why, c := range map[string]struct {
		verdict func(*rules.Verdict)
		before  func(*scene)
	}{
		"does not say that running it again helps": {func(v *rules.Verdict) { v.Retry = "unknown" }, nil},
		"not sure enough":                          {func(v *rules.Verdict) { v.Confidence = rules.Suspected }, nil},
		"the job's own business":                   {func(v *rules.Verdict) { v.Domain = "workload" }, nil},
		"wrong with its pool: pool-blocked":        {nil, func(s *scene) { pool(s, "linux", rules.Open) }},
		"a step of it had failed before": {nil, func(s *scene) {
			before := died.Add(-time.Second)
			s.jobs[0].Steps = []github.Step{{Conclusion: "success"}, {Conclusion: "failure", Completed: before}}
		}},
		"the run was run again since":  {nil, func(s *scene) { s.run["run_attempt"] = 2 }},
		"run again twice":              {nil, func(s *scene) { s.run["run_attempt"], s.jobs[0].Attempt = 3, 3 }},
		`the run ended as "cancelled"`: {nil, func(s *scene) { s.run["conclusion"] = "cancelled" }},
		`GitHub has it as "success"`:   {nil, func(s *scene) { s.jobs[0].Conclusion = "success" }},
	} {
		s := newScene(t)
		if c.before != nil {
			c.before(s)
		}
		if c.verdict == nil {
			c.verdict = nothing
		}
		s.put("amber", c.verdict)
		s.flush(t.Context())
		s.want()
		note, err := s.ledger.Deliveries(Receiver).Note(t.Context(), "amber", 1)
		if !strings.Contains(note, why) || err != nil || !strings.Contains(s.log.String(), "not run again: ") {
			t.Errorf("%q %v, want %q", note, err, why)
		}
	}
	s := newScene(t) // near misses: another pool's trouble, trouble that is over, a step that failed as it died
	pool(s, "windows", rules.Open)
	pool(s, "linux", rules.Resolved)
	s.jobs[0].Steps = []github.Step{{Conclusion: "failure", Completed: died.Add(time.Minute)}}
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want(failedJobs)
	s = newScene(t)
	s.r.Scope = annotate.Scope{"o/other"}
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want()
}

// Where another job failed by itself, the dead one alone is run again; where it died too, both.
func TestOthersOfTheRun(t *testing.T) {
	for own, want := range map[bool]string{true: oneJob, false: failedJobs} {
		s := newScene(t)
		s.jobs[1].Conclusion = "failure"
		if !own {
			s.put("birch", func(v *rules.Verdict) { v.Confidence = rules.Confirmed })
		}
		s.put("amber", nothing)
		s.flush(t.Context())
		s.want(want)
	}
}

// A run that goes on is waited for.
func TestRunGoesOn(t *testing.T) {
	s := newScene(t)
	s.run["status"] = "in_progress"
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want()
	s.run["status"] = "completed"
	s.flush(t.Context())
	s.want()
	s.clock = s.clock.Add(time.Minute)
	s.flush(t.Context())
	s.want(failedJobs)
}

// No more than so many are run again within an hour, over restarts.
func TestBudget(t *testing.T) {
	s := newScene(t)
	for i := range 4 {
		name := fmt.Sprint("cedar-", i)
		s.jobs[0].Runner, s.jobs[0].ID = name, int64(100+i)
		s.run["run_attempt"], s.run["status"] = 1, "completed"
		s.restart()
		s.put(name, nothing)
		s.flush(t.Context())
	}
	if len(s.ordered) != 2 {
		t.Errorf("%q", s.ordered)
	}
	s.clock = s.clock.Add(time.Hour)
	s.jobs[0].Runner = "dogwood"
	s.run["run_attempt"], s.run["status"] = 1, "completed"
	s.put("dogwood", nothing)
	s.flush(t.Context())
	if len(s.ordered) != 3 {
		t.Errorf("an hour later: %q", s.ordered)
	}
}

// A kill between the request and its record runs nothing twice.
func TestKilled(t *testing.T) {
	s := newScene(t)
	ctx, kill := context.WithCancel(t.Context())
	s.onOrder = kill
	s.put("amber", nothing)
	s.flush(ctx)
	if n, err := s.ledger.Deliveries(Receiver).Waiting(t.Context()); n != 1 || len(s.ordered) != 1 || err != nil {
		t.Fatalf("it was not killed in between: %d wait, %q %v", n, s.ordered, err)
	}
	s.restart()
	for range 3 {
		s.run["status"] = "completed" // the second attempt failed, too
		s.flush(t.Context())
	}
	s.want(failedJobs)
}
