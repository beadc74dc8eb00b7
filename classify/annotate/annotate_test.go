package annotate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/ingest/github"
	"coroner/rules"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

var update = flag.Bool("update", false, "rewrite what is kept in testdata")

const sha = "0123456789abcdef0123456789abcdef01234567"

// lost is a job that GitHub gave up eleven minutes after its runner died.
const lost = `"conclusion":"failure","started_at":"2026-05-04T09:50:00Z","completed_at":"2026-05-04T10:10:00Z"`

// fakeGitHub is as much of GitHub as an App sees: it checks signatures and tokens, keeps check
// runs and statuses, and has limits.
type fakeGitHub struct {
	t   *testing.T
	key *rsa.PrivateKey
	now func() time.Time

	mu       sync.Mutex
	job      string // its conclusion and times
	issued   int
	checks   []checkRun
	statuses []commitStatus
	comments []comment
	pulls    []pull
	requests bytes.Buffer // what changed something
	asked    int
	limited  http.Header // the answer to everything, if it is set
	onMade   func()
}

func newGitHub(t *testing.T, now func() time.Time) (*fakeGitHub, *github.App, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeGitHub{t: t, key: key, now: now, job: lost, pulls: []pull{{11, "closed"}, {12, "open"}}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return f, &github.App{URL: server.URL, ID: "77", Installation: "88", HTTP: server.Client(), Now: now,
		Key: func() (string, error) { return string(text), nil }}, server.URL
}

// ServeHTTP answers as GitHub does.
func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.limited != nil {
		for k, v := range f.limited {
			w.Header()[k] = v
		}
		w.WriteHeader(http.StatusForbidden)
		return
	}
	body, _ := io.ReadAll(r.Body)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Path == "/app/installations/88/access_tokens" {
		f.issue(w, token)
		return
	}
	if token != fmt.Sprint("installation-", f.issued) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodGet {
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, body, "", "  ")
		fmt.Fprintf(&f.requests, "%s %s\n%s\n\n", r.Method, r.URL.Path, &pretty)
	}
	f.answer(w, r, body)
}

// issue checks what the App signed.
func (f *fakeGitHub) issue(w http.ResponseWriter, token string) {
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return &f.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer("77"), jwt.WithTimeFunc(f.now), jwt.WithIssuedAt(),
		jwt.WithExpirationRequired())
	if err == nil && claims.ExpiresAt.Sub(claims.IssuedAt.Time) > 10*time.Minute {
		err = errors.New("it lasts too long")
	}
	if err != nil {
		f.t.Error(err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	f.issued++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"token":"installation-%d","expires_at":%q}`, f.issued, f.now().Add(time.Hour).Format(time.RFC3339))
}

func (f *fakeGitHub) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/actions/runs/8/jobs"):
		fmt.Fprintf(
			w,
			`{"jobs":[{"id":7,"run_id":8,"run_attempt":1,"name":"build [x](http://evil) @all","head_sha":%q,`+
				`"status":"completed","runner_name":"amber",%s}]}`,
			sha, f.job,
		)
	case strings.HasSuffix(path, "/commits/"+sha+"/check-runs"):
		var found []checkRun
		for _, c := range f.checks {
			if c.Name == r.URL.Query().Get("check_name") {
				found = append(found, c)
			}
		}
		f.write(w, map[string]any{"check_runs": found})
	case r.Method == http.MethodPost && path == "/repos/o/r/check-runs":
		run := f.read(body)
		run.ID = int64(len(f.checks) + 1)
		f.checks = append(f.checks, run)
		f.made(w, run)
	case r.Method == http.MethodPatch && strings.HasPrefix(path, "/repos/o/r/check-runs/"):
		run := f.read(body)
		run.ID, run.Name = f.checks[0].ID, f.checks[0].Name
		f.checks[0] = run
		f.made(w, run)
	case strings.HasSuffix(path, "/statuses") && r.Method == http.MethodGet:
		f.write(w, f.statuses)
	case path == "/repos/o/r/statuses/"+sha:
		var s commitStatus
		_ = json.Unmarshal(body, &s)
		f.statuses = append([]commitStatus{s}, f.statuses...)
		f.made(w, s)
	case path == "/user":
		f.write(w, account{ID: 5})
	case strings.HasSuffix(path, "/commits/"+sha+"/pulls"):
		f.write(w, f.pulls)
	default:
		f.answerComment(w, r, body)
	}
}

// answerComment answers what is asked of the comments on pull request 12.
func (f *fakeGitHub) answerComment(w http.ResponseWriter, r *http.Request, body []byte) {
	var c comment
	_ = json.Unmarshal(body, &c)
	one, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/repos/o/r/issues/comments/"))
	switch {
	case r.URL.Path == "/repos/o/r/issues/12/comments" && r.Method == http.MethodGet:
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		f.write(w, f.comments[min((page-1)*perPage, len(f.comments)):min(page*perPage, len(f.comments))])
	case r.URL.Path == "/repos/o/r/issues/12/comments":
		c.ID, c.User, c.App = int64(len(f.comments)+1), &account{ID: 5}, &account{ID: 77}
		f.comments = append(f.comments, c)
		f.made(w, c)
	case err == nil && r.Method == http.MethodPatch:
		f.comments[one-1].Body = c.Body
		f.made(w, c)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// said is how many annotations there are.
func (f *fakeGitHub) said() int { return len(f.checks) + len(f.statuses) + len(f.comments) }

func (f *fakeGitHub) read(body []byte) (run checkRun) {
	if err := json.Unmarshal(body, &run); err != nil {
		f.t.Error(err)
	}
	return run
}

func (f *fakeGitHub) made(w http.ResponseWriter, v any) {
	if f.onMade != nil {
		f.onMade()
	}
	w.WriteHeader(http.StatusCreated)
	f.write(w, v)
}

// whenMade has something done when an annotation is made, before GitHub answers.
func (f *fakeGitHub) whenMade(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onMade = do
}

func (f *fakeGitHub) write(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// scene is an annotator, its loop and what it asks.
type scene struct {
	*fakeGitHub
	a      *Annotator
	ledger *ledger.Ledger
	loop   *deliver.Loop
	clock  time.Time
}

func newScene(t *testing.T, mode Mode) *scene {
	t.Helper()
	s := &scene{clock: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	now := func() time.Time { return s.clock }
	fake, app, address := newGitHub(t, now)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.fakeGitHub, s.ledger = fake, l
	s.a = &Annotator{Mode: mode, App: "77", GitHub: github.NewClient(address, app.Token, app.HTTP, now), Ledger: l,
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
	died := time.Date(2026, 5, 4, 9, 59, 0, 0, time.UTC)
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
	if len(s.checks) != 1 || s.checks[0].External != "ns.uid/1/2" || s.issued != 1 {
		t.Errorf("%+v, %d tokens", s.checks, s.issued)
	}
	text := s.requests.String()
	for _, lack := range []string{"@everybody", "](https://evil", "<img", "[x]("} {
		if strings.Contains(strings.ReplaceAll(text, `"name": "coroner: build [x](http://evil) @all"`, ""), lack) {
			t.Errorf("%q of a log is in the request", lack)
		}
	}
	golden(t, "check", s.requests.String())
}

// What completes is never annotated; if it was taken for a death, that is withdrawn.
func TestCompleted(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		s.put(func(v *rules.Verdict) { v.Label = rules.Completed })
		if s.asked != 0 {
			t.Errorf("%s: GitHub was asked %d times", mode, s.asked)
		}
		s = newScene(t, mode)
		s.put(second(rules.Completed))
		if s.requests.Len() != 0 {
			t.Errorf("%s: %s", mode, &s.requests)
		}
		s = newScene(t, mode)
		s.put(func(*rules.Verdict) {})
		s.put(second(rules.Completed))
		if !strings.Contains(s.requests.String(), "Withdrawn: completed") || len(s.checks)+len(s.comments) > 1 {
			t.Errorf("%s: %s", mode, &s.requests)
		}
	}
}

// The jobs that did not die with their runner, and why.
var notDead = map[string]string{
	`"conclusion":"success","started_at":"2026-05-04T09:50:00Z","completed_at":"2026-05-04T09:59:30Z"`: "job succeeded",
	`"conclusion":"failure","started_at":"2026-05-04T09:40:00Z","completed_at":"2026-05-04T09:50:00Z"`: "not under way",
	`"conclusion":"failure","started_at":"2026-05-04T10:09:00Z","completed_at":"2026-05-04T10:11:00Z"`: "knows no job",
	`"conclusion":"success","started_at":"2026-05-04T10:09:00Z","completed_at":"2026-05-04T10:11:00Z"`: "knows no job",
	`"conclusion":null,"started_at":null,"completed_at":null`:                                          "knows no job",
}

// Nothing is said of a job that succeeded, or was not under way when the runner died: a green job is
// never called dead. Why is logged and stored.
func TestNotItsJob(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		for job, why := range notDead {
			s := newScene(t, mode)
			var log bytes.Buffer
			s.job, s.a.Log = job, zerolog.New(&log)
			s.put(func(*rules.Verdict) {})
			note, err := s.ledger.Deliveries("github").Note(t.Context(), "ns.uid/1", 1)
			if s.said() != 0 || !strings.HasPrefix(note, "no: ") || !strings.Contains(note, why) || err != nil ||
				!strings.Contains(log.String(), "job not annotated: ") || !strings.Contains(log.String(), why) {
				t.Errorf("%s: %s: %q %v, log %s, sent %s", mode, job, note, err, &log, &s.requests)
			}
		}
	}
}

// What was said while the job seemed to go on is withdrawn where it turns out that it succeeded.
func TestSucceededAfterAll(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		s.job = `"conclusion":null,"started_at":"2026-05-04T09:50:00Z","completed_at":null`
		s.put(func(*rules.Verdict) {})
		s.job = strings.Replace(lost, "failure", "success", 1)
		s.put(second(rules.NodeShutdown))
		if text := s.requests.String(); s.said() == 0 || strings.Count(text, "Withdrawn: the job succeeded") != 1 ||
			strings.Contains(text, "node-shutdown") || len(s.checks)+len(s.comments) > 1 {
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
	if len(s.statuses) != 2 {
		t.Errorf("%+v", s.statuses)
	}
	golden(t, "status", s.requests.String())
}

// The status of another attempt, whose job has the same name, is not withdrawn with this one's.
func TestStatusOfAnotherCase(t *testing.T) {
	s := newScene(t, Status)
	s.put(func(*rules.Verdict) {})
	s.statuses[0].Page = "https://coroner.example/runners/arc/birch?case=ns.uid%2F2"
	s.put(second(rules.Completed))
	if len(s.statuses) != 1 || strings.Contains(s.requests.String(), "Withdrawn") {
		t.Errorf("%s", &s.requests)
	}
}

// A kill between the request and the record of it never makes a second annotation.
func TestKilledBetweenRequestAndRecord(t *testing.T) {
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		ctx, kill := context.WithCancel(t.Context())
		s.whenMade(kill)
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
		if n, err := killed.List.Waiting(t.Context()); n != 1 || s.said() != 1 || err != nil {
			t.Fatalf("%s: it was not killed in between: %d wait, %v", mode, n, err)
		}
		s.whenMade(nil)
		s.loop = s.newLoop()
		s.clock = s.clock.Add(time.Hour)
		s.flush()
		if n := s.said(); n != 1 {
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
		s.limited = header
		s.put(func(*rules.Verdict) {})
		asked := s.asked
		for range 60 {
			s.flush()
		}
		if asked != 1 || s.asked != asked {
			t.Errorf("%s: asked %d times at first, %d in the pause", name, asked, s.asked-asked)
		}
		s.limited = nil
		s.clock = s.clock.Add(2 * time.Hour)
		s.flush()
		if len(s.checks) != 1 {
			t.Errorf("%s: %d check runs after the pause", name, len(s.checks))
		}
	}
}

// Nothing leaves the scope, and the dry run sends nothing.
func TestScope(t *testing.T) {
	s := newScene(t, Check)
	s.a.Scope = Scope{"other/*", "o/s*"}
	s.put(func(*rules.Verdict) {})
	if s.asked != 0 {
		t.Errorf("asked %d times out of scope", s.asked)
	}
	s = newScene(t, Log)
	var log bytes.Buffer
	s.a.Log = zerolog.New(&log)
	s.put(func(*rules.Verdict) {})
	if s.asked != 0 || !strings.Contains(log.String(), `"repository":"o/r"`) ||
		!strings.Contains(log.String(), "The runner died, not your test: host-teardown (confirmed)") {
		t.Errorf("asked %d times, said %s", s.asked, &log)
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
