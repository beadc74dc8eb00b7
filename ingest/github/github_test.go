package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/workflow"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// world is a GitHub that answers as a test says, a clock, and a poller.
type world struct {
	t      *testing.T
	now    time.Time
	asked  []string // what GitHub was asked for
	answer func(w http.ResponseWriter, r *http.Request)
	filed  []ingest.Entry
	log    bytes.Buffer
	*Poller
}

const secretToken = "ghs_0123456789"

func newWorld(t *testing.T, perMinute int) *world {
	w := &world{t: t, now: time.Date(2026, 10, 1, 9, 20, 0, 0, time.UTC)}
	c := NewClient("https://github.example/", func() (string, error) { return secretToken, nil },
		&http.Client{Transport: w}, func() time.Time { return w.now })
	w.Poller = NewPoller(c, perMinute,
		func(_ context.Context, e []ingest.Entry) error { w.filed = append(w.filed, e...); return nil },
		NewMetrics(prometheus.NewRegistry()), zerolog.New(&w.log))
	return w
}

// RoundTrip is GitHub: it answers at once, or cuts off.
func (w *world) RoundTrip(r *http.Request) (res *http.Response, err error) {
	w.asked = append(w.asked, r.URL.RequestURI())
	if r.Header.Get("Authorization") != "Bearer "+secretToken || r.Header.Get("X-GitHub-Api-Version") == "" ||
		r.Header.Get("Accept") != "application/vnd.github+json" {
		w.t.Errorf("headers: %v", r.Header)
	}
	defer func() {
		if recover() != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	answer := httptest.NewRecorder()
	w.answer(answer, r)
	return answer.Result(), nil
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) turns(n int) {
	for range n {
		w.askNext(context.Background())
	}
}

func (w *world) want(asked, filed int) {
	w.t.Helper()
	if len(w.asked) != asked || len(w.filed) != filed {
		w.t.Fatalf("asked %d times, filed %d, want %d and %d: %q", len(w.asked), len(w.filed), asked, filed, w.asked)
	}
}

func (w *world) outcome(name string) float64 {
	return testutil.ToFloat64(w.metrics.questions.WithLabelValues(name))
}

func (w *world) question() Question {
	return Question{Case: "c1", Repository: "mills/flour", Run: "36180041", Runner: "mill-runner-1", Cluster: "east",
		Namespace: "ci", Pod: "mill-runner-1", PodUID: "u1", Died: w.now.Add(-time.Minute)}
}

// job is a job in the shape of GitHub's REST API, 2022-11-28.
func job(id int, runner, status, conclusion, completed string) string {
	text := func(s string) string {
		if s == "" {
			return "null"
		}
		return strconv.Quote(s)
	}
	return fmt.Sprintf(
		`{"id":%d,"run_id":36180041,"run_url":"https://api.github.com/repos/mills/flour/actions/runs/36180041",`+
			`"run_attempt":1,"node_id":"CR_x","head_sha":"4be5",
		"url":"u","html_url":"h","status":"%s","conclusion":%s,"created_at":"2026-10-01T09:00:00Z",`+
			`"started_at":"2026-10-01T09:00:20Z","completed_at":%s,"name":"build (x)",
		"steps":[{"name":"Set up job","status":"completed","conclusion":"success","number":1}],"check_run_url":"c",`+
			`"labels":["mill"],"runner_id":77,"runner_name":%s,"runner_group_id":2,
		"runner_group_name":"kubernetes","workflow_name":"CI","head_branch":"main"}`,
		id,
		status,
		text(conclusion),
		text(completed),
		text(runner),
	)
}

func jobs(all ...string) string {
	return fmt.Sprintf(`{"total_count":%d,"jobs":[%s]}`, len(all), strings.Join(all, ","))
}

func say(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// The job is the one that GitHub gave to the runner, on whatever page it is.
func TestFindsTheRunnersJob(t *testing.T) {
	w := newWorld(t, 60)
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			rw.Header().Set("Link",
				`<https://api.github.com/x?page=2>; rel="next", <https://api.github.com/x?page=2>; rel="last"`)
			fmt.Fprint(rw,
				jobs(job(1, "another-runner", "completed", "success", "2026-10-01T09:10:00Z"),
					job(2, "", "queued", "", "")))
			return
		}
		fmt.Fprint(rw, jobs(job(3, "mill-runner-1", "completed", "failure", "2026-10-01T09:18:58Z")))
	}
	w.Enqueue(w.question())
	w.turns(1)
	w.want(2, 1)
	if want := "/repos/mills/flour/actions/runs/36180041/jobs?filter=all&per_page=100&page=1"; w.asked[0] != want {
		t.Errorf("asked %s, want %s", w.asked[0], want)
	}
	e := w.filed[0]
	if e.Source != ingest.GitHub || e.Trust != ingest.Attested || e.Pod != "mill-runner-1" || e.PodUID != "u1" ||
		!e.At.Equal(time.Date(2026, 10, 1, 9, 18, 58, 0, time.UTC)) {
		t.Errorf("entry %+v", e)
	}
	if e.Cluster != "east" {
		t.Errorf("an answer about a runner of east is filed under cluster %q", e.Cluster)
	}
	want := `github job status=completed conclusion=failure runner_name=mill-runner-1 repository=mills/flour ` +
		`run_id=36180041 job_id=3 started_at=2026-10-01T09:00:20Z completed_at=2026-10-01T09:18:58Z name="build (x)"`
	if e.Text != want {
		t.Errorf("text %s", e.Text)
	}
}

// Names of runners are used again: the job is the one that the runner had when it died, else the
// last that it had before, and never one that began later, whichever GitHub tells of first.
func TestJobAtTheDeath(t *testing.T) {
	died := time.Date(2026, 10, 1, 9, 19, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return died.Add(time.Duration(seconds) * time.Second) }
	var (
		lost    = workflow.Job{ID: 1, Runner: "r", Started: at(-600), Completed: at(660)}
		goesOn  = workflow.Job{ID: 2, Runner: "r", Started: at(-500)}
		earlier = workflow.Job{ID: 3, Runner: "r", Started: at(-900), Completed: at(-605)}
		told    = workflow.Job{ID: 4, Runner: "r", Started: at(-600), Completed: at(-20)}
		next    = workflow.Job{ID: 5, Runner: "r", Started: at(20), Completed: at(90)}
		later   = workflow.Job{ID: 6, Runner: "r", Started: at(300), Completed: at(400)}
		another = workflow.Job{ID: 7, Runner: "r2", Started: at(-60)}
		queued  = workflow.Job{ID: 8, Runner: "r"}
	)
	for _, tt := range []struct {
		all  []workflow.Job
		want int64
	}{
		{[]workflow.Job{earlier, lost, next, later, another, queued}, lost.ID},
		{[]workflow.Job{later, goesOn, earlier}, goesOn.ID},
		{[]workflow.Job{earlier, told, later, another}, told.ID},
		{[]workflow.Job{earlier, later}, earlier.ID},
		{[]workflow.Job{earlier, next}, next.ID}, // a clock that is ahead
		{[]workflow.Job{later, another, queued}, 0},
		{nil, 0},
	} {
		for range 2 {
			if got := JobAt(tt.all, "r", died); got.ID != tt.want {
				t.Errorf("%+v: job %d, want %d", tt.all, got.ID, tt.want)
			}
			slices.Reverse(tt.all)
		}
	}
	w := newWorld(t, 60)
	w.answer = say(jobs(job(3, "mill-runner-1", "completed", "success", "2026-10-01T09:18:58Z")))
	q := w.question()
	q.Died = time.Date(2026, 10, 1, 8, 55, 0, 0, time.UTC) // the job began five minutes later
	w.Enqueue(q)
	w.turns(1)
	w.want(1, 0)
}

// All pages of a run's jobs are read, whether GitHub says so by a link or by a number; where there
// are more than are read, that is told.
func TestAllPages(t *testing.T) {
	for name, tt := range map[string]struct {
		has, told int
		link      bool
		asked     int
		complete  bool
	}{
		"one page":          {100, 100, false, 1, true},
		"a link":            {256, 0, true, 3, true},
		"a number":          {256, 256, false, 3, true},
		"fewer than told":   {150, 256, false, 3, false},
		"more than is read": {1001, 1001, true, maxPages, false},
	} {
		w := newWorld(t, 60)
		w.answer = func(rw http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("page"))
			var some []string
			for id := (n-1)*perPage + 1; id <= min(n*perPage, tt.has); id++ {
				some = append(some, job(id, "r", "completed", "failure", "2026-10-01T09:18:58Z"))
			}
			if tt.link && n*perPage < tt.has {
				rw.Header().Set("Link", `<https://api.github.com/x?page=9>; rel="next"`)
			}
			fmt.Fprintf(rw, `{"total_count":%d,"jobs":[%s]}`, tt.told, strings.Join(some, ","))
		}
		all, complete, err := w.client.LatestJobs(t.Context(), "mills/flour", 36180041)
		if err != nil || complete != tt.complete || len(all) != min(tt.has, maxPages*perPage) ||
			len(w.asked) != tt.asked || !strings.Contains(w.asked[0], "filter=latest&") {
			t.Errorf("%s: %d jobs, complete: %v, asked %q, %v", name, len(all), complete, w.asked, err)
		}
	}
}

// A job whose number is known is asked for alone; another runner's is no answer.
func TestOneJob(t *testing.T) {
	w := newWorld(t, 60)
	w.answer = say(job(41, "another-runner", "in_progress", "", ""))
	q := w.question()
	q.Run, q.Job = "", "41"
	w.Enqueue(q)
	w.turns(2)
	w.want(1, 0)
	if w.asked[0] != "/repos/mills/flour/actions/jobs/41" || w.outcome("unknown") != 1 {
		t.Errorf("asked %q", w.asked)
	}
}

// A job that is not concluded is asked for again, for half an hour; each answer
// stands at its time. One that is concluded is not.
func TestAsksAgain(t *testing.T) {
	w := newWorld(t, 60)
	w.answer = say(jobs(job(3, "mill-runner-1", "in_progress", "", "")))
	q := w.question()
	w.Enqueue(q)
	w.Enqueue(q) // the case has its question
	for range 40 {
		w.turns(1)
		w.pass(time.Minute)
	}
	w.want(6, 6)
	if at := w.filed[1].At.Sub(q.Died); at < 3*time.Minute || at > 5*time.Minute {
		t.Errorf("asked again %s after the death", at)
	}
	w.answer = say(jobs(job(3, "mill-runner-1", "completed", "success", "2026-10-01T09:18:58Z")))
	q.Case, q.Died = "c2", w.now
	w.Enqueue(q)
	for range 40 {
		w.turns(1)
		w.pass(time.Minute)
	}
	w.want(7, 7)
}

// What only looks like a repository or a number never gets into a request.
func TestRefusesOddQuestions(t *testing.T) {
	w := newWorld(t, 60)
	w.answer = say(jobs())
	for i, q := range []Question{
		{Repository: "mills/../../user", Run: "1"}, {Repository: "mills/..", Run: "1"}, {Repository: "flour", Run: "1"},
		{Repository: "a/b?x=1", Run: "1"},
		{Repository: "a/b", Run: "1/../../x"}, {Repository: "a/b", Run: "-1"},
		{Repository: "a/b", Job: "beb2b7e7-3d59-42d9-a5c7-f2aa433c1653"}, {Repository: "a/b"},
	} {
		q.Case, q.Runner, q.Died = strconv.Itoa(i), "r", w.now
		w.Enqueue(q)
	}
	w.Enqueue(Question{Case: "old", Repository: "a/b", Run: "1", Runner: "r", Died: w.now.Add(-2 * time.Hour)})
	w.turns(10)
	w.want(0, 0)
}

// An answer that has not changed is not sent twice.
func TestETag(t *testing.T) {
	w := newWorld(t, 60)
	sent := 0
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `W/"e1"`)
		if r.Header.Get("If-None-Match") == `W/"e1"` {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		sent++
		fmt.Fprint(rw, jobs(job(3, "mill-runner-1", "in_progress", "", "")))
	}
	w.Enqueue(w.question())
	w.turns(1)
	w.pass(3 * time.Minute)
	w.turns(1)
	w.want(2, 2)
	if sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

// GitHub is not asked before the time that it names, and a part of the limit is
// left to others.
func TestRateLimits(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header map[string]string
		wait   time.Duration
		filed  int // the answer itself counts
	}{
		"used up": {
			403,
			map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "+600"},
			601 * time.Second, 0,
		},
		"nearly used up": {
			200,
			map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "499", "X-RateLimit-Reset": "+600"},
			601 * time.Second, 1,
		},
		"secondary limit": {
			403, map[string]string{"Retry-After": "90", "X-RateLimit-Remaining": "4000"}, 90 * time.Second, 0,
		},
		"too many":      {429, map[string]string{"Retry-After": "30"}, 30 * time.Second, 0},
		"no time named": {429, nil, time.Minute, 0},
		"absurd time":   {429, map[string]string{"Retry-After": "99999999"}, 61 * time.Minute, 0},
	} {
		w := newWorld(t, 600)
		w.answer = func(rw http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				if after, ok := strings.CutPrefix(v, "+"); ok {
					n, _ := strconv.Atoi(after)
					v = strconv.FormatInt(w.now.Unix()+int64(n), 10)
				}
				rw.Header().Set(k, v)
			}
			rw.WriteHeader(c.status)
			fmt.Fprint(rw, jobs(job(3, "mill-runner-1", "in_progress", "", "")))
		}
		w.Enqueue(w.question())
		w.turns(1)
		other := w.question()
		other.Case = "c2"
		w.Enqueue(other)
		w.pass(c.wait - 2*time.Second)
		w.turns(3)
		if len(w.asked) != 1 || len(w.filed) != c.filed {
			t.Errorf("%s: asked %d times, filed %d before the time was over", name, len(w.asked), len(w.filed))
		}
		w.pass(4 * time.Second)
		w.turns(3)
		if len(w.asked) < 2 && c.wait < Age {
			t.Errorf("%s: not asked again", name)
		}
	}
}

// The operator's own limit holds, whatever waits.
func TestPace(t *testing.T) {
	w := newWorld(t, 6)
	w.answer = say(jobs(job(3, "mill-runner-1", "completed", "success", "2026-10-01T09:18:58Z")))
	for i := range 20 {
		q := w.question()
		q.Case = strconv.Itoa(i)
		w.Enqueue(q)
	}
	for range 60 { // a minute
		w.turns(2)
		w.pass(time.Second)
	}
	if len(w.asked) < 5 || len(w.asked) > 7 {
		t.Errorf("asked %d times in a minute", len(w.asked))
	}
}

// Trouble is told once, without the token, and everything goes on.
func TestTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		says   string
	}{
		"token":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "the token"},
		"denied":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "actions: read"},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, "502"},
		"foreign": {say("<html>"), "cannot read GitHub's answer"},
		"cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "does not answer"},
	} {
		w := newWorld(t, 600)
		w.answer = c.answer
		w.Enqueue(w.question())
		for range 5 {
			w.turns(1)
			w.pass(time.Minute)
		}
		if n := strings.Count(w.log.String(), "\n"); n != 1 || !strings.Contains(w.log.String(), c.says) ||
			strings.Contains(w.log.String(), secretToken) {
			t.Errorf("%s: %d lines: %s", name, n, w.log.String())
		}
		w.answer = say(jobs(job(3, "mill-runner-1", "completed", "success", "2026-10-01T09:18:58Z")))
		w.pass(5 * time.Minute)
		w.turns(2)
		if len(w.filed) != 1 {
			t.Errorf("%s: it did not go on", name)
		}
	}
	w := newWorld(t, 600)
	w.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }
	w.Enqueue(w.question())
	w.turns(3)
	w.want(1, 0)
	if w.log.Len() > 0 {
		t.Errorf("a run that is gone is no trouble: %s", w.log.String())
	}
}

// What could not be stored is asked for once more.
func TestNotStored(t *testing.T) {
	w := newWorld(t, 600)
	w.answer = say(jobs(job(3, "mill-runner-1", "completed", "success", "2026-10-01T09:18:58Z")))
	stored, fail := w.receive, true
	w.receive = func(ctx context.Context, e []ingest.Entry) error {
		if fail {
			fail = false
			return errors.New("disk full")
		}
		return stored(ctx, e)
	}
	w.Enqueue(w.question())
	w.turns(1)
	w.want(1, 0)
	w.pass(time.Minute)
	w.turns(1)
	w.want(2, 1)
}

// Names come from whoever writes a workflow.
func TestEntryIsClean(t *testing.T) {
	q := Question{Repository: "o/r"}
	name := "a\x1b[31m\nb\u202e status=completed " + strings.Repeat("é", 400)
	e := q.entryOf(&workflow.Job{Name: name, Status: "in_progress"},
		time.Unix(1e9, 0))
	if strings.ContainsAny(e.Text, "\x1b\n\u202e") || len(e.Text) > 600 ||
		strings.Contains(strings.ReplaceAll(e.Text, `name="`, ""), `completed é"`) ||
		e.Fields["status"] != "in_progress" {
		t.Errorf("%q", e.Text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(jobs(job(1, "r", "completed", "success", "2026-10-01T09:10:00Z"))))
	f.Add([]byte(job(1, "", "queued", "", "")))
	f.Add([]byte(`{"jobs":null,"id":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _, err := decodeJobs(data)
		if err != nil && len(all) > 0 {
			t.Fatal("jobs and an error")
		}
		for i := range all {
			e := (&Question{}).entryOf(&all[i], time.Unix(1e9, 0))
			if len(e.Text) > ingest.MaxText || strings.ContainsAny(e.Text, "\n\x1b") {
				t.Fatalf("%q", e.Text)
			}
		}
	})
}
