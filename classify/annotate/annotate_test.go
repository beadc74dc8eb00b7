package annotate

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/fixtures/githubapi"
	"coroner/fixtures/shipped"
	"coroner/ingest/github"
	"coroner/ingest/workflow"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

var update = flag.Bool("update", false, "rewrite what is kept in testdata")

const sha = githubapi.Commit

var died = time.Date(2026, 5, 4, 9, 59, 0, 0, time.UTC)

// lost is a job that GitHub gave up eleven minutes after its runner died.
func lost() workflow.Job {
	job := githubapi.Lost(7, "amber", died)
	job.Name = "build [x](http://evil) @all"
	return job
}

// scene is an annotator, its loop and what it asks.
type scene struct {
	*githubapi.Service
	t      *testing.T
	a      *Annotator
	ledger *ledger.Ledger
	loop   *deliver.Loop
	clock  time.Time
}

func newScene(t *testing.T, mode Mode) *scene {
	t.Helper()
	s := &scene{t: t, clock: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	now := func() time.Time { return s.clock }
	s.Service = githubapi.New(t, now)
	s.Jobs = []workflow.Job{lost()}
	s.Pulls = []githubapi.Pull{{Number: 11, State: "closed"}, {Number: 12, State: "open"}}
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.ledger = l
	s.a = &Annotator{Mode: mode, App: githubapi.App, GitHub: s.Client(), Ledger: l,
		Scope: Scope{"o/*"}, Pages: "https://coroner.example/", Log: zerolog.Nop(), Book: shippedBook(t),
		Locate: func(_ context.Context, r *ledger.Record) (github.Question, error) {
			return github.Question{Repository: r.Verdict.Job.Repository, Run: "8", Runner: r.Verdict.Runner,
				Died: *r.Verdict.DiedAt}, nil
		}}
	s.loop = s.newLoop()
	s.flush()
	return s
}

func shippedBook(t *testing.T) func() *rules.Rulebook {
	return func() *rules.Rulebook { return shipped.Rulebook(t) }
}

func (s *scene) newLoop() *deliver.Loop {
	return &deliver.Loop{Receiver: "github", List: s.ledger.Deliveries("github"), Send: s.a.Send, Log: zerolog.Nop(),
		Now: func() time.Time { return s.clock }, Metrics: deliver.NewMetrics(prometheus.NewRegistry())}
}

func (s *scene) flush() {
	s.t.Helper()
	s.clock = s.clock.Add(time.Second)
	if err := s.loop.Flush(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) put(change func(*rules.Verdict)) {
	s.t.Helper()
	v := &rules.Verdict{Runner: "amber", Namespace: "arc", Node: "n1", Label: rules.HostTeardown, Revision: 1,
		Confidence: rules.Confirmed, Domain: "platform", Retry: "helps", DiedAt: &died,
		Job:     rules.Job{Repository: "o/r"},
		Summary: "The node was *drained*; @everybody see [this](https://evil.example) <img src=x>\nby job-7.",
		Advice:  "Look at the node."}
	change(v)
	err := s.ledger.Write(s.t.Context(), s.clock, func(tx *ledger.Tx) error {
		return tx.AddVerdict("ns.uid/1", v, s.clock, false)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.flush()
}

func second(label rules.Label) func(*rules.Verdict) {
	return func(v *rules.Verdict) {
		v.Label, v.Revision = label, 2
		v.Revises = &rules.Revised{Label: rules.HostTeardown, Confidence: rules.Confirmed}
	}
}

// golden holds a text to the one that is kept in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("what is said changed; -update, if it should:\n%s", diff)
	}
}

// One check run for a case, which its revisions edit.
func TestCheck(t *testing.T) {
	s := newScene(t, Check)
	s.put(func(*rules.Verdict) {})
	s.flush()
	s.put(second(rules.NodeShutdown))
	if len(s.Checks) != 1 || s.Checks[0].External != "ns.uid/1/2" || s.Issued != 1 {
		t.Errorf("%+v, %d tokens", s.Checks, s.Issued)
	}
	text := s.Sent.String()
	for _, lack := range []string{"@everybody", "](https://evil", "<img", "[x]("} {
		if strings.Contains(strings.ReplaceAll(text, `"name": "coroner: build [x](http://evil) @all"`, ""), lack) {
			t.Errorf("%q of a log is in the request", lack)
		}
	}
	golden(t, "check", s.Sent.String())
}

// What completes is never annotated; if it was taken for a death, that is withdrawn.
func TestCompleted(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		s.put(func(v *rules.Verdict) { v.Label = rules.Completed })
		if s.Asked != 0 {
			t.Errorf("%s: GitHub was asked %d times", mode, s.Asked)
		}
		s = newScene(t, mode)
		s.put(second(rules.Completed))
		if s.Sent.Len() != 0 {
			t.Errorf("%s: %s", mode, &s.Sent)
		}
		s = newScene(t, mode)
		s.put(func(*rules.Verdict) {})
		s.put(second(rules.Completed))
		if !strings.Contains(s.Sent.String(), "Withdrawn: completed") || len(s.Checks)+len(s.Comments) > 1 {
			t.Errorf("%s: %s", mode, &s.Sent)
		}
	}
}

// The jobs that did not die with their runner, by their conclusion and times, and why.
var notDead = []struct {
	conclusion string
	from, to   time.Duration // from the death; zeros are not known
	why        string
}{
	{"success", -9 * time.Minute, 30 * time.Second, "job succeeded"},
	{"failure", -19 * time.Minute, -9 * time.Minute, "not under way"},
	{"failure", 10 * time.Minute, 12 * time.Minute, "knows no job"},
	{"success", 10 * time.Minute, 12 * time.Minute, "knows no job"},
	{"", 0, 0, "knows no job"},
}

// Nothing is said of a job that succeeded, or was not under way when the runner died: a green job is
// never called dead. Why is logged and stored.
func TestNotItsJob(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		for _, c := range notDead {
			s := newScene(t, mode)
			var log bytes.Buffer
			job := &s.Jobs[0]
			job.Conclusion, job.Started, job.Completed = c.conclusion, died.Add(c.from), died.Add(c.to)
			if c.from == 0 {
				job.Started, job.Completed = time.Time{}, time.Time{}
			}
			s.a.Log = zerolog.New(&log)
			s.put(func(*rules.Verdict) {})
			note, err := s.ledger.Deliveries("github").Note(t.Context(), "ns.uid/1", 1)
			if s.Said() != 0 || !strings.HasPrefix(note, "no: ") || !strings.Contains(note, c.why) || err != nil ||
				!strings.Contains(log.String(), "job not annotated: ") || !strings.Contains(log.String(), c.why) {
				t.Errorf("%s: %+v: %q %v, log %s, sent %s", mode, c, note, err, &log, &s.Sent)
			}
		}
	}
}

// Which run a job is of may be told late; that it was not told in time is stored.
func TestNotToldInTime(t *testing.T) {
	s := newScene(t, Check)
	s.a.Locate = func(context.Context, *ledger.Record) (github.Question, error) { return github.Question{}, nil }
	s.put(func(*rules.Verdict) {})
	s.clock = s.clock.Add(deliver.ToldLate)
	s.flush()
	note, err := s.ledger.Deliveries("github").Note(t.Context(), "ns.uid/1", 1)
	if s.Asked != 0 || !strings.HasPrefix(note, "no: nobody told in time") || err != nil {
		t.Errorf("asked %d times, noted %q %v", s.Asked, note, err)
	}
}

// What was said while the job seemed to go on is withdrawn where it turns out that it succeeded.
func TestSucceededAfterAll(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		s.Jobs[0].Conclusion, s.Jobs[0].Completed = "", time.Time{}
		s.put(func(*rules.Verdict) {})
		s.Jobs[0] = lost()
		s.Jobs[0].Conclusion = "success"
		s.put(second(rules.NodeShutdown))
		if text := s.Sent.String(); s.Said() == 0 || strings.Count(text, "Withdrawn: the job succeeded") != 1 ||
			strings.Contains(text, "node-shutdown") || len(s.Checks)+len(s.Comments) > 1 {
			t.Errorf("%s: %s", mode, text)
		}
	}
}

// A commit status says the same in one line, and is green: GitHub has none that is neither.
func TestStatus(t *testing.T) {
	s := newScene(t, Status)
	s.put(func(*rules.Verdict) {})
	s.loop = s.newLoop()
	s.flush()
	s.put(second(rules.CgroupOOM))
	if len(s.Statuses) != 2 {
		t.Errorf("%+v", s.Statuses)
	}
	golden(t, "status", s.Sent.String())
}

// The status of another attempt, whose job has the same name, is not withdrawn with this one's.
func TestStatusOfAnotherCase(t *testing.T) {
	s := newScene(t, Status)
	s.put(func(*rules.Verdict) {})
	s.Statuses[0].Page = "https://coroner.example/runners/arc/birch?case=ns.uid%2F2"
	s.put(second(rules.Completed))
	if len(s.Statuses) != 1 || strings.Contains(s.Sent.String(), "Withdrawn") {
		t.Errorf("%s", &s.Sent)
	}
}

// A kill between the request and the record of it never makes a second annotation.
func TestKilledBetweenRequestAndRecord(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		ctx, kill := context.WithCancel(t.Context())
		s.WhenMade(kill)
		killed := s.loop
		s.loop = &deliver.Loop{
			Receiver: "other",
			List:     s.ledger.Deliveries("other"),
			Log:      zerolog.Nop(),
			Now:      killed.Now,
			Metrics:  deliver.NewMetrics(prometheus.NewRegistry()),
		}
		s.put(func(*rules.Verdict) {})
		if err := killed.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		if n, err := killed.List.Waiting(t.Context()); n != 1 || s.Said() != 1 || err != nil {
			t.Fatalf("%s: it was not killed in between: %d wait, %v", mode, n, err)
		}
		s.WhenMade(nil)
		s.loop = s.newLoop()
		s.clock = s.clock.Add(time.Hour)
		s.flush()
		if n := s.Said(); n != 1 {
			t.Errorf("%s: %d annotations", mode, n)
		}
		if n, err := s.ledger.Deliveries("github").Waiting(t.Context()); n != 0 || err != nil {
			t.Errorf("%s: %d still wait, %v", mode, n, err)
		}
	}
}

// GitHub's limits are kept: nothing is asked until it said.
func TestLimits(t *testing.T) {
	for name, header := range map[string]http.Header{
		"Retry-After": {"Retry-After": {"120"}},
		"reset": {
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Reset": {"1777888923"},
		},
	} {
		s := newScene(t, Check)
		s.Limited = header
		s.put(func(*rules.Verdict) {})
		asked := s.Asked
		for range 60 {
			s.flush()
		}
		if asked != 1 || s.Asked != asked {
			t.Errorf("%s: asked %d times at first, %d in the pause", name, asked, s.Asked-asked)
		}
		s.Limited = nil
		s.clock = s.clock.Add(2 * time.Hour)
		s.flush()
		if len(s.Checks) != 1 {
			t.Errorf("%s: %d check runs after the pause", name, len(s.Checks))
		}
	}
}

// A dry run asks what the others ask and writes nothing: the log says what they would write, and why
// they would write nothing.
func TestDryRun(t *testing.T) {
	for app, want := range map[string][]string{
		githubapi.App: {`"kind":"check"`, `"request":"POST /repos/o/r/check-runs"`},
		"":            {`"kind":"status"`, `"request":"POST /repos/o/r/statuses/` + sha + `"`},
	} {
		real := newScene(t, Check)
		real.put(func(*rules.Verdict) {})
		body, err := json.Marshal(real.Checks[0].Output["summary"])
		if err != nil {
			t.Fatal(err)
		}
		s := newScene(t, Log)
		var log bytes.Buffer
		s.a.App, s.a.Log = app, zerolog.New(&log)
		s.put(func(*rules.Verdict) {})
		for _, part := range append(want, `"repository":"o/r"`, `"runner":"amber"`, `"case":"ns.uid/1"`, `"revision":1`,
			`"title":"The runner died, not your test: host-teardown (confirmed)"`, `"body":`+unescaped(body),
			"would annotate a job at GitHub") {
			if !strings.Contains(log.String(), part) {
				t.Errorf("App %q: no %s in %s", app, part, &log)
			}
		}
		if s.Sent.Len() > 0 || s.Asked < 3 {
			t.Errorf("App %q: asked %d times, sent %s", app, s.Asked, &s.Sent)
		}
	}
	s := newScene(t, Log) // a job that succeeded
	var log bytes.Buffer
	s.Jobs[0].Conclusion, s.a.Log = "success", zerolog.New(&log)
	s.put(func(*rules.Verdict) {})
	if strings.Contains(log.String(), "would") || !strings.Contains(log.String(), "not annotated: the job succeeded") {
		t.Errorf("%s", &log)
	}
	s = newScene(t, Check) // a revision of what is there
	s.put(func(*rules.Verdict) {})
	sent := s.Sent.String()
	s.a.Mode, s.a.Log = Log, zerolog.New(&log)
	s.put(second(rules.NodeShutdown))
	if s.Sent.String() != sent || !strings.Contains(log.String(), `"request":"PATCH /repos/o/r/check-runs/1"`) {
		t.Errorf("sent %s, said %s", &s.Sent, &log)
	}
}

// unescaped is a text of JSON as the log has it, in which no character of HTML is a number.
func unescaped(text []byte) string {
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(text))
}

// Nothing leaves the scope, and what is no scope is refused.
func TestScope(t *testing.T) {
	for _, mode := range []Mode{Check, Log} {
		s := newScene(t, mode)
		s.a.Scope = Scope{"other/*", "o/s*"}
		s.put(func(*rules.Verdict) {})
		note, err := s.ledger.Deliveries("github").Note(t.Context(), "ns.uid/1", 1)
		if s.Asked != 0 || note != "no: o/r is out of the scope" || err != nil {
			t.Errorf("%s: asked %d times out of scope, noted %q %v", mode, s.Asked, note, err)
		}
	}
	for _, glob := range []string{"*", "a/b/c", "/x", "x/", "[/x"} {
		if (Scope{glob}).Check() == nil {
			t.Errorf("%q is taken for a scope", glob)
		}
	}
	if (Scope{"*/*", "Acme/*"}).Check() != nil || !(Scope{"Acme/*"}).Has("acme/shop") ||
		(Scope{"acme/*"}).Has("acme2/x") {
		t.Error("scopes")
	}
}
