package rerun

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/classify/annotate"
	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/fixtures/githubapi"
	"coroner/ingest/github"
	"coroner/ingest/workflow"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

var update = flag.Bool("update", false, "rewrite what is kept in testdata")

var died = time.Date(2026, 5, 4, 9, 59, 0, 0, time.UTC)

// lost is a job that GitHub gave up eleven minutes after its runner died.
func lost(id int64, runner string) workflow.Job { return githubapi.Lost(id, runner, died) }

type scene struct {
	*githubapi.Service
	t      *testing.T
	path   string         // of the ledger
	client *github.Client // of GitHub
	ledger *ledger.Ledger
	loop   *deliver.Loop
	r      *Rerunner
	clock  time.Time
	log    bytes.Buffer
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, clock: died.Add(time.Minute), path: filepath.Join(t.TempDir(), "l.db")}
	s.Service = githubapi.New(t, s.now)
	birch := lost(9, "birch")
	birch.Conclusion, birch.Completed = "success", died.Add(5*time.Minute)
	s.Jobs = []workflow.Job{lost(7, "amber"), birch}
	s.client = s.Client()
	s.open()
	s.flush(t.Context())
	return s
}

func (s *scene) now() time.Time { return s.clock }

// open starts a server on the ledger.
func (s *scene) open() {
	s.t.Helper()
	l, err := ledger.Open(s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	s.ledger = l
	s.r = &Rerunner{GitHub: s.client, Ledger: l, PerHour: 2,
		Scope: annotate.Scope{"o/r"}, Log: zerolog.New(&s.log), Now: s.now,
		Metrics: NewMetrics(prometheus.NewRegistry()),
		Locate: func(_ context.Context, r *ledger.Record) (github.Question, error) {
			return github.Question{Repository: "o/r", Run: "8", Runner: r.Verdict.Runner, Died: *r.Verdict.DiedAt}, nil
		}}
	s.restart()
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
	if !slices.Equal(s.Orders.Taken, ordered) {
		s.t.Errorf("ordered %q, want %q; the log: %s", s.Orders.Taken, ordered, &s.log)
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
	if s.Issued != 1 {
		t.Errorf("%d tokens within minutes", s.Issued)
	}
}

// What is sent to GitHub to run jobs again is what stands in testdata, and after a restart it is not
// sent again.
func TestRequests(t *testing.T) {
	var sent string
	for _, birch := range []workflow.Job{lost(9, "birch"), ownTest(9, "birch")} {
		s := newScene(t)
		s.put("birch", nothing)
		s.r.Scope = nil // birch itself is not run again
		s.flush(t.Context())
		s.r.Scope = annotate.Scope{"o/r"}
		s.Jobs[1] = birch
		s.put("amber", nothing)
		for range 3 {
			s.flush(t.Context())
			s.restart()
			s.clock = s.clock.Add(time.Minute)
		}
		sent += s.Sent.String()
	}
	path := filepath.Join("testdata", "requests.txt")
	if *update {
		if err := os.WriteFile(path, []byte(sent), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != sent {
		t.Errorf("what is sent changed; -update, if it should: %s %v", sent, err)
	}
}

// GitHub's limits are kept: nothing is asked until it said, and then the job is run again.
func TestLimits(t *testing.T) {
	reset := strconv.FormatInt(died.Add(4*time.Minute).Unix(), 10)
	for name, header := range map[string]http.Header{
		"Retry-After": {"Retry-After": {"120"}},
		"reset":       {"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Reset": {reset}},
	} {
		s := newScene(t)
		s.Limited = header
		s.put("amber", nothing)
		for range 60 {
			s.flush(t.Context())
		}
		s.want()
		if s.Asked != 1 {
			t.Errorf("%s: asked %d times in the pause", name, s.Asked)
		}
		s.Limited, s.clock = nil, s.clock.Add(10*time.Minute)
		s.flush(t.Context())
		s.want(failedJobs)
	}
}

// Without a token that GitHub takes nothing is run again; with one it is.
func TestToken(t *testing.T) {
	s := newScene(t)
	right := s.client
	s.r.GitHub = github.NewClient(s.URL, func() (string, error) { return "of somebody", nil }, &http.Client{}, s.now)
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want()
	s.r.GitHub, s.clock = right, s.clock.Add(10*time.Minute)
	s.flush(t.Context())
	s.want(failedJobs)
}

// pool puts a verdict on a pool into the ledger.
func (s *scene) pool(cluster, name string, state rules.State) {
	s.t.Helper()
	s.put("pool-"+cluster+name, func(v *rules.Verdict) {
		v.Kind, v.Cluster, v.Runner, v.Pool, v.DiedAt = casefile.OfPool, cluster, "", name, nil
		v.Label, v.State = rules.PoolBlocked, state
	})
}

// Whatever speaks against it keeps a job from being run again, and is stored.
func TestRefusals(t *testing.T) {
	for why, c := range map[string]struct {
		verdict func(*rules.Verdict)
		before  func(*scene)
	}{
		"does not say that running it again helps": {func(v *rules.Verdict) { v.Retry = "unknown" }, nil},
		"not sure enough":                          {func(v *rules.Verdict) { v.Confidence = rules.Suspected }, nil},
		"the job's own business":                   {func(v *rules.Verdict) { v.Domain = "workload" }, nil},
		"wrong with its pool: pool-blocked":        {nil, func(s *scene) { s.pool("", "linux", rules.Open) }},
		"its pool is not known, and something is wrong with pool windows: pool-blocked": {
			func(v *rules.Verdict) { v.Pool = "" }, func(s *scene) { s.pool("", "windows", rules.Open) }},
		"o/r is out of the scope":        {nil, func(s *scene) { s.r.Scope = annotate.Scope{"o/other"} }},
		"not known when the runner died": {func(v *rules.Verdict) { v.DiedAt = nil }, nil},
		"a step of it had failed before": {nil, func(s *scene) {
			before := died.Add(-time.Second)
			s.Jobs[0].Steps = []workflow.Step{{Conclusion: "success"}, {Conclusion: "failure", Completed: before}}
		}},
		"the run was run again since":  {nil, func(s *scene) { s.Attempt.Number = 2 }},
		"run again twice":              {nil, func(s *scene) { s.Attempt.Number, s.Jobs[0].Attempt = 3, 3 }},
		`the run ended as "cancelled"`: {nil, func(s *scene) { s.Attempt.Conclusion = "cancelled" }},
		`GitHub has it as "success"`:   {nil, func(s *scene) { s.Jobs[0].Conclusion = "success" }},
		"a step of it succeeded later": {nil, func(s *scene) {
			s.Jobs[0].Steps = []workflow.Step{{Conclusion: "success", Completed: died.Add(time.Minute)}}
		}},
		"not under way when the runner died": {nil, func(s *scene) {
			s.Jobs[0].Completed = died.Add(-5 * time.Minute)
		}},
		"knows no job that the runner had": {nil, func(s *scene) { s.Jobs[0] = ownTest(7, "amber") }},
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
	s.pool("", "windows", rules.Open)
	s.pool("", "linux", rules.Resolved)
	s.Jobs[0].Steps = []workflow.Step{{Conclusion: "failure", Completed: died.Add(time.Minute)}}
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want(failedJobs)
	s.noted("amber", "rerun: all failed jobs of run 8, attempt 1")
}

// A job whose pool is not known is run again while nothing is wrong with any pool of its cluster,
// and its record says so.
func TestPoolNotKnown(t *testing.T) {
	s := newScene(t)
	s.pool("", "linux", rules.Resolved)
	s.pool("west", "linux", rules.Open)
	s.put("amber", func(v *rules.Verdict) { v.Pool = "" })
	s.flush(t.Context())
	s.want(failedJobs)
	s.noted("amber", "rerun: all failed jobs of run 8, attempt 1; its pool is not known")
}

// Whose run a job is of may be told late; if it is not told in time, that is stored and counted, as
// is that a run went on for too long. Of a runner that did not die it is stored.
func TestRecordOfWhatIsGivenUp(t *testing.T) {
	s := newScene(t)
	told := github.Question{}
	s.r.Locate = func(context.Context, *ledger.Record) (github.Question, error) { return told, nil }
	s.put("amber", nothing)
	s.flush(t.Context())
	s.noted("amber", "")
	s.clock = s.clock.Add(deliver.ToldLate)
	s.flush(t.Context())
	s.noted("amber", "no: nobody told in time which run the job is of")
	if s.Asked != 0 || !strings.Contains(s.log.String(), "not run again: nobody told") {
		t.Errorf("asked %d times; the log: %s", s.Asked, &s.log)
	}

	s = newScene(t)
	s.Attempt.Status = "in_progress"
	s.put("amber", nothing)
	s.flush(t.Context())
	s.clock = s.clock.Add(Age)
	s.flush(t.Context())
	s.want()
	s.noted("amber", "no: it is too old by now")

	s = newScene(t)
	s.put("amber", func(v *rules.Verdict) { v.Label = rules.Completed })
	s.pool("", "linux", rules.Open)
	s.flush(t.Context())
	s.noted("amber", "no: no runner died")
	s.noted("pool-linux", "no: no runner died")
}

// withoutRunner takes away what a job has when a runner took it.
func withoutRunner(j *workflow.Job) { j.Runner, j.Started = "", time.Time{} }

// ownTest is a job that began after the death, and failed by its own test.
func ownTest(id int64, runner string) workflow.Job {
	return workflow.Job{ID: id, RunID: 8, Attempt: 1, Conclusion: "failure", Runner: runner,
		Started: died.Add(10 * time.Minute), Completed: died.Add(12 * time.Minute),
		Steps: []workflow.Step{{Conclusion: "failure", Completed: died.Add(11 * time.Minute)}}}
}

// Another job of the run that failed is run again too where its own runner died, so that it helps,
// while it was under way, in the same cluster and run. A name alone ties no job to a death: names
// are used again, later and elsewhere.
func TestOthersOfTheRun(t *testing.T) {
	later := died.Add(30 * time.Minute)
	for name, c := range map[string]struct {
		birch   func(*workflow.Job)
		verdict func(*rules.Verdict) // of birch; nil = none
		want    string
	}{
		"it lost its runner":         {nil, nothing, failedJobs},
		"nothing died":               {nil, nil, oneJob},
		"no runner took it":          {withoutRunner, nothing, oneJob},
		"it never began":             {func(j *workflow.Job) { j.Started = time.Time{} }, nothing, oneJob},
		"it could not begin":         {func(j *workflow.Job) { j.Conclusion = "startup_failure" }, nothing, oneJob},
		"it began after the death":   {func(j *workflow.Job) { *j = ownTest(9, "birch") }, nothing, oneJob},
		"it began soon after it":     {func(j *workflow.Job) { j.Started = died.Add(time.Minute) }, nothing, oneJob},
		"it was over before":         {func(j *workflow.Job) { j.Completed = died.Add(-time.Hour) }, nothing, oneJob},
		"the runner died later":      {nil, func(v *rules.Verdict) { v.DiedAt = &later }, oneJob},
		"it died in another cluster": {nil, func(v *rules.Verdict) { v.Cluster = "west" }, oneJob},
		"it died in another run":     {nil, func(v *rules.Verdict) { v.Namespace = "other" }, oneJob},
		"its pool is blocked":        {nil, func(v *rules.Verdict) { v.Pool = "windows" }, oneJob},
		"it does not help":           {nil, func(v *rules.Verdict) { v.Retry = "useless" }, oneJob},
		"a label that is no death":   {nil, func(v *rules.Verdict) { v.NoDeath = true }, oneJob},
		"another runner's name":      {nil, func(v *rules.Verdict) { v.Runner = "birch-2" }, oneJob},
		"a step of it went on": {func(j *workflow.Job) {
			j.Steps = []workflow.Step{{Conclusion: "success", Completed: died.Add(time.Minute)}}
		}, nothing, oneJob},
		"a step of it failed before": {func(j *workflow.Job) {
			j.Steps = []workflow.Step{{Conclusion: "failure", Completed: died.Add(-time.Minute)}}
		}, nothing, oneJob},
	} {
		s := newScene(t)
		s.r.Locate = func(_ context.Context, r *ledger.Record) (github.Question, error) {
			run := map[string]string{"arc": "8", "other": "9"}[r.Verdict.Namespace]
			return github.Question{Repository: "o/r", Run: run, Runner: r.Verdict.Runner, Died: *r.Verdict.DiedAt}, nil
		}
		s.Jobs[1] = lost(9, "birch")
		s.pool("", "windows", rules.Open)
		if c.birch != nil {
			c.birch(&s.Jobs[1])
		}
		if c.verdict != nil {
			s.put("birch", func(v *rules.Verdict) {
				c.verdict(v)
				v.Confidence = rules.Confirmed
			})
			s.r.Scope = nil // birch itself is not run again
			s.flush(t.Context())
			s.r.Scope = annotate.Scope{"o/r"}
		}
		if s.Orders.Taken != nil {
			t.Fatalf("%s: %q", name, s.Orders.Taken)
		}
		s.put("amber", nothing)
		s.flush(t.Context())
		if !slices.Equal(s.Orders.Taken, []string{c.want}) {
			t.Errorf("%s: ordered %q, want %q", name, s.Orders.Taken, c.want)
		}
	}
}

// Of two jobs that one runner's name had, only the one that was under way at its death counts.
func TestTwoJobsOfOneName(t *testing.T) {
	s := newScene(t)
	s.Jobs[0].Conclusion = "success" // then the runner died, and the next of its name failed a test
	s.Jobs = append(s.Jobs, ownTest(11, "amber"))
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want()
	s = newScene(t)
	next := ownTest(11, "amber")
	next.Started = died.Add(10 * time.Second) // by a clock that is ahead it could be the one
	s.Jobs = append(s.Jobs, next)
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want(oneJob)
}

// All pages of the run's jobs are read. Where they are too many, or one is not there, this job
// alone is run again; where GitHub is out of order, nothing is until it answers.
func TestManyJobs(t *testing.T) {
	for name, c := range map[string]struct {
		jobs   int
		last   workflow.Job
		lacks  int // a page
		answer int // to who asks for it
		want   []string
		note   string
	}{
		"the last failed its test": {256, ownTest(1000, "oak"), 0, 0, []string{oneJob},
			"rerun: job 7 of run 8, attempt 1"},
		"the last lost its runner": {256, lost(1000, "oak"), 0, 0, []string{failedJobs},
			"rerun: all failed jobs of run 8, attempt 1"},
		"more than are read": {1001, lost(1000, "oak"), 0, 0, []string{oneJob},
			"rerun: job 7 of run 8, attempt 1, for not all jobs of the run can be read"},
		"a page is not there": {256, lost(1000, "oak"), 3, http.StatusNotFound, []string{oneJob},
			"rerun: job 7 of run 8, attempt 1, for not all jobs of the run can be read"},
		"a page does not come": {256, lost(1000, "oak"), 3, http.StatusBadGateway, nil, ""},
	} {
		s := newScene(t)
		s.put("oak", nothing)
		s.r.Scope = nil // oak itself is not run again
		s.flush(t.Context())
		s.r.Scope = annotate.Scope{"o/r"}
		for i := len(s.Jobs); i < c.jobs-1; i++ {
			s.Jobs = append(s.Jobs, workflow.Job{ID: int64(1000 + i), RunID: 8, Attempt: 1, Conclusion: "success"})
		}
		s.Jobs = append(s.Jobs, c.last)
		s.Broken = githubapi.Broken{Page: c.lacks, Status: c.answer}
		s.put("amber", nothing)
		s.flush(t.Context())
		note, err := s.ledger.Deliveries(Receiver).Note(t.Context(), "amber", 1)
		if !slices.Equal(s.Orders.Taken, c.want) || note != c.note || err != nil {
			t.Errorf("%s: ordered %q, want %q; noted %q %v", name, s.Orders.Taken, c.want, note, err)
		}
		if c.want != nil {
			continue
		}
		s.Broken.Page, s.clock = 0, s.clock.Add(10*time.Minute)
		if s.flush(t.Context()); !slices.Equal(s.Orders.Taken, []string{failedJobs}) {
			t.Errorf("%s: ordered %q when it answers again", name, s.Orders.Taken)
		}
	}
}

// A run that goes on is waited for.
func TestRunGoesOn(t *testing.T) {
	s := newScene(t)
	s.Attempt.Status = "in_progress"
	s.put("amber", nothing)
	s.flush(t.Context())
	s.want()
	s.Attempt.Status = "completed"
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
		s.Jobs[0].Runner, s.Jobs[0].ID = name, int64(100+i)
		s.Attempt.Number, s.Attempt.Status = 1, "completed"
		s.restart()
		s.put(name, nothing)
		s.flush(t.Context())
	}
	if len(s.Orders.Taken) != 2 {
		t.Errorf("%q", s.Orders.Taken)
	}
	s.clock = s.clock.Add(time.Hour)
	s.Jobs[0].Runner = "dogwood"
	s.Attempt.Number, s.Attempt.Status = 1, "completed"
	s.put("dogwood", nothing)
	s.flush(t.Context())
	if len(s.Orders.Taken) != 3 {
		t.Errorf("an hour later: %q", s.Orders.Taken)
	}
}
