package annotate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest/forge"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// fakeGitLab is as much of GitLab as coroner sees: one project with one job, a merge request,
// comments there and on the commit, and limits.
type fakeGitLab struct {
	t        *testing.T
	mu       sync.Mutex // guards what follows
	job      string     // its status and times
	requests []map[string]any
	notes    map[string][]note // by the path of their place
	statuses []labStatus       // of the commit, the last of each name and pipeline
	refuses  bool              // to set a status, as where the token is a Reporter's
	hookAt   string            // what a path holds that onMade is for
	sent     bytes.Buffer      // what changed something
	asked    int
	limited  bool
	onMade   func()
}

const labPod = "runner-t3sxyz-project-42-concurrent-0-abcdefgh"

// failed is a job that was under way when the runner died.
const failed = `"status":"failed","started_at":"2026-05-04T09:50:00.000Z","finished_at":"2026-05-04T10:00:30.000Z"`

// ServeHTTP answers as GitLab does.
func (f *fakeGitLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	path := strings.TrimPrefix(r.URL.Path, "/api/v4")
	body, _ := io.ReadAll(r.Body)
	var in note
	_ = json.Unmarshal(body, &in)
	if r.Method != http.MethodGet {
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, body, "", "  ")
		fmt.Fprintf(&f.sent, "%s %s\n%s\n\n", r.Method, path, &pretty)
	}
	const commit = "/projects/42/repository/commits/" + sha
	switch {
	case r.Header.Get("Authorization") != "Bearer glpat-7":
		w.WriteHeader(http.StatusUnauthorized)
	case f.limited:
		w.Header().Set("RateLimit-Limit", "60")
		w.Header().Set("RateLimit-Remaining", "0")
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	case path == "/user":
		f.write(w, account{ID: 5})
	case path == "/projects/42":
		f.write(w, map[string]any{"id": 42, "path_with_namespace": "acme/ci/mill"})
	case path == "/projects/42/jobs/7001":
		fmt.Fprintf(w, `{"id":7001,"name":"build [x](http://evil) @all","commit":{"id":%q},"pipeline":{"id":900},%s}`,
			sha, f.job)
	case path == commit+"/merge_requests":
		f.write(w, f.requests)
	case strings.HasSuffix(path, "/notes") && r.Method == http.MethodGet:
		f.write(w, f.page(r, f.notes[path]))
	case path == commit+discussions && r.Method == http.MethodGet:
		var all []map[string]any
		for _, n := range f.page(r, f.notes[path]) {
			all = append(all, map[string]any{"id": fmt.Sprintf("abc%d", n.ID), "notes": []note{n}})
		}
		f.write(w, all)
	case r.Method == http.MethodPost && (strings.HasSuffix(path, "/notes") || path == commit+discussions):
		in.ID, in.Author = int64(len(f.notes[path])+1), &account{ID: 5}
		f.notes[path] = append(f.notes[path], in)
		f.made(path)
		w.WriteHeader(http.StatusCreated)
		f.write(w, in)
	case r.Method == http.MethodPut:
		f.edit(w, path, in)
	default:
		f.answerStatus(w, r, path, body)
	}
}

// answerStatus answers what is asked of the commit's statuses. Of a pipeline only the last of a name
// is shown.
func (f *fakeGitLab) answerStatus(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	var in labStatus
	_ = json.Unmarshal(body, &in)
	sets := r.Method == http.MethodPost && path == "/projects/42/statuses/"+sha
	switch {
	case path == "/projects/42/repository/commits/"+sha+"/statuses":
		f.write(w, slices.DeleteFunc(slices.Clone(f.statuses), func(s labStatus) bool {
			return s.Name != r.URL.Query().Get("name")
		}))
	case sets && f.refuses:
		w.WriteHeader(http.StatusForbidden)
		f.write(w, map[string]string{"message": "403 Forbidden"})
	case sets && in.Pipeline == 900 && len(in.Page) < 256:
		f.statuses = slices.DeleteFunc(f.statuses, func(s labStatus) bool { return s.Name == in.Name })
		in.Status, in.State, in.Pipeline = in.State, "", 0
		f.statuses = append(f.statuses, in)
		f.made(path)
		w.WriteHeader(http.StatusCreated)
		f.write(w, in)
	default:
		w.WriteHeader(http.StatusNotFound)
		f.write(w, map[string]any{"message": map[string]string{"error": "404 Not found"}})
	}
}

func (f *fakeGitLab) made(path string) {
	if f.onMade != nil && strings.Contains(path, f.hookAt) {
		f.onMade()
	}
}

// edit changes a comment by the address that is its own.
func (f *fakeGitLab) edit(w http.ResponseWriter, path string, in note) {
	for place, notes := range f.notes {
		for i := range notes {
			at := fmt.Sprintf("%s/%d", place, notes[i].ID)
			if strings.HasSuffix(place, discussions) {
				at = fmt.Sprintf("%s/abc%d/notes/%d", place, notes[i].ID, notes[i].ID)
			}
			if at == path {
				notes[i].Body = in.Body
				f.write(w, notes[i])
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// Said is how many comments and statuses there are.
func (f *fakeGitLab) Said() int {
	n := len(f.statuses)
	for _, notes := range f.notes {
		n += len(notes)
	}
	return n
}

// WhenMade has something done when a comment is made, before GitLab answers.
func (f *fakeGitLab) WhenMade(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onMade = do
}

func (f *fakeGitLab) page(r *http.Request, all []note) []note {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	return all[min((page-1)*perPage, len(all)):min(page*perPage, len(all))]
}

func (f *fakeGitLab) write(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

const (
	onMerge  = "/projects/42/merge_requests/12/notes"
	onCommit = "/projects/42/repository/commits/" + sha + discussions
)

// labScene is an annotator of GitLab's jobs, its loop and what it asks.
type labScene struct {
	*fakeGitLab
	g      *GitLab
	ledger *ledger.Ledger
	loop   *deliver.Loop
	clock  time.Time
}

func newLabScene(t *testing.T) *labScene {
	t.Helper()
	s := &labScene{clock: time.Date(2026, 5, 4, 10, 1, 0, 0, time.UTC),
		fakeGitLab: &fakeGitLab{t: t, job: failed, notes: map[string][]note{}, requests: []map[string]any{
			{
				"iid":               11,
				"state":             "merged",
				"target_project_id": 42,
			}, {"iid": 12, "state": "opened", "target_project_id": 42},
			{"iid": 13, "state": "opened", "target_project_id": 43}}}}
	server := httptest.NewServer(s.fakeGitLab)
	t.Cleanup(server.Close)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.ledger = l
	now := func() time.Time { return s.clock }
	s.g = &GitLab{Ledger: l, Scope: Groups{"acme"}, Pages: "https://coroner.example", Log: zerolog.Nop(),
		Book: shippedBook(t),
		API: forge.New(forge.Options{Name: "GitLab", URL: server.URL + "/api/v4", HTTP: server.Client(), Now: now,
			Prefix: "RateLimit-", Token: func() (string, error) { return "glpat-7", nil }})}
	s.loop = &deliver.Loop{
		Receiver: "gitlab",
		List:     l.Deliveries("gitlab"),
		Send:     s.g.Send,
		Log:      zerolog.Nop(),
		Now:      now,
		Metrics:  deliver.NewMetrics(prometheus.NewRegistry()),
	}
	s.flush()
	return s
}

func (s *labScene) flush() {
	s.t.Helper()
	s.clock = s.clock.Add(time.Second)
	if err := s.loop.Flush(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

func (s *labScene) put(change func(*rules.Verdict)) {
	s.t.Helper()
	died := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	v := &rules.Verdict{Runner: labPod, Namespace: "gitlab", Node: "n1", Label: rules.HostTeardown, Revision: 1,
		Confidence: rules.Confirmed, Domain: "platform", Retry: "helps", DiedAt: &died, Job: rules.Job{ID: "7001"},
		Summary: "The node was *drained*; @everybody !1 ~bug %v1 $2\n/close\nby job-7.", Advice: "Look at the node."}
	change(v)
	err := s.ledger.Write(s.t.Context(), s.clock, func(tx *ledger.Tx) error {
		return tx.AddVerdict("ns.uid/1", v, s.clock, false)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.flush()
}

// delivery is the case's last revision, as it is sent once more after a crash.
func (s *labScene) delivery() ledger.Delivery {
	s.t.Helper()
	last, ok, err := s.ledger.LastVerdict(s.t.Context(), "ns.uid/1")
	if err != nil || !ok {
		s.t.Fatal(err)
	}
	return ledger.Delivery{Record: last}
}

func same(*rules.Verdict) {}

// The commit's open merge request in its project has one comment, which revisions edit; nothing
// in it mentions anybody or is a command.
func TestNoteOnAMergeRequest(t *testing.T) {
	s := newLabScene(t)
	s.put(same)
	s.flush()
	s.put(second(rules.NodeShutdown))
	all := s.notes[onMerge]
	if len(all) != 1 || len(s.notes) != 1 || strings.Contains(all[0].Body, "host-teardown") ||
		!strings.Contains(all[0].Body, "node-shutdown") || strings.Count(all[0].Body, "<!-- end -->") != 1 {
		t.Errorf("%+v", s.notes)
	}
	for _, lack := range []string{"@everybody", "](http://evil", "[x](", "@all", "\n/", "!1", "~bug", "%v1", "$2"} {
		if strings.Contains(all[0].Body, lack) {
			t.Errorf("%q of a log is in the comment", lack)
		}
	}
	golden(t, "gitlab", s.sent.String())
}

// Beside the comment the commit has a status of the job, in the job's pipeline. A revision takes its
// place; what is there already, as after a crash, is not set again.
func TestLabStatus(t *testing.T) {
	s := newLabScene(t)
	want := func(description string) {
		t.Helper()
		got := s.statuses
		if len(got) != 1 || got[0].Name != "coroner: build [x](http://evil) @all" || got[0].Status != "success" ||
			got[0].Description != description || got[0].Page != "https://coroner.example/runners/gitlab/"+labPod+
			"?case=ns.uid%2F1" {
			t.Errorf("%+v, want %s", got, description)
		}
	}
	s.put(same)
	want("The runner died, not your test: host-teardown (confirmed)")
	sent := s.sent.String()
	if _, err := s.g.Send(t.Context(), s.delivery()); err != nil || s.sent.String() != sent {
		t.Errorf("%v, sent again: %s", err, strings.TrimPrefix(s.sent.String(), sent))
	}
	s.put(second(rules.HardwareFailure))
	want("The runner died, not your test: hardware-failure (confirmed)")
	s.put(func(v *rules.Verdict) {
		second(rules.Completed)(v)
		v.Revision = 3
	})
	want("Withdrawn: completed")
}

// Where the token may not set a status, as on a protected branch, the comment stands and the record
// says so; a status of another attempt is not withdrawn, nor what was never said.
func TestNoLabStatus(t *testing.T) {
	s := newLabScene(t)
	s.refuses = true
	s.put(same)
	note, err := s.ledger.Deliveries("gitlab").Note(t.Context(), "ns.uid/1", 1)
	if len(s.notes[onMerge]) != 1 || len(s.statuses) != 0 || err != nil ||
		note != "a comment, and no status: GitLab answers 403: 403 Forbidden" {
		t.Errorf("%+v %+v, noted %q %v", s.notes, s.statuses, note, err)
	}
	s.refuses = false
	s.statuses = []labStatus{{Status: "success", Name: "coroner: build [x](http://evil) @all", Page: "https://other"}}
	s.put(second(rules.Completed))
	if len(s.statuses) != 1 || s.statuses[0].Page != "https://other" {
		t.Errorf("%+v", s.statuses)
	}
	s = newLabScene(t) // an address that is too long for a status
	s.g.Pages = "https://coroner.example/" + strings.Repeat("x", 200)
	if s.put(same); len(s.statuses) != 1 || s.statuses[0].Page != "" {
		t.Errorf("%+v", s.statuses)
	}
}

// Where there is no merge request it stands on the commit, once.
func TestNoteOnACommit(t *testing.T) {
	s := newLabScene(t)
	s.requests = nil
	s.put(same)
	s.put(second(rules.NodeShutdown))
	all := s.notes[onCommit]
	if len(all) != 1 || len(s.notes) != 1 || !strings.Contains(all[0].Body, "node-shutdown") {
		t.Errorf("%+v", s.notes)
	}
}

// What others wrote stays, though it has coroner's marks, and keeps nothing from being said.
func TestStrangersNote(t *testing.T) {
	s := newLabScene(t)
	s.put(same)
	copied := s.notes[onMerge][0]
	copied.Author, copied.Body = &account{ID: 6}, strings.Replace(copied.Body, " 1 -->", " 999 -->", 1)
	s.notes[onMerge] = []note{copied}
	for i := range 150 {
		s.notes[onMerge] = append(s.notes[onMerge], note{ID: int64(i + 2), Body: "ship it", Author: &account{ID: 6}})
	}
	s.put(second(rules.NodeShutdown))
	all := s.notes[onMerge]
	if len(all) != 152 || all[0].Body != copied.Body || !strings.Contains(all[151].Body, "node-shutdown") {
		t.Errorf("%d comments: %+v", len(all), all[len(all)-1])
	}
}

// Nothing is said of a runner that is no job's of GitLab's, of a job that GitLab does not have
// as one that can have died so, and outside the scope.
func TestNoNote(t *testing.T) {
	const at = `"started_at":"2026-05-04T09:50:00Z"`
	const over = `"status":"failed",` + at + `,"finished_at":"2026-05-04T09:55:00Z"`
	const out, unseen, which = "out of the scope", "does not know the job", "not known which job"
	job := func(id string) func(*rules.Verdict) { return func(v *rules.Verdict) { v.Job.ID = id } }
	pod := func(name string) func(*rules.Verdict) { return func(v *rules.Verdict) { v.Runner = name } }
	for name, tt := range map[string]struct {
		job    string
		scope  Groups
		change func(*rules.Verdict)
		asked  bool
		why    string // a part of the note
	}{
		"a job that succeeded":    {job: `"status":"success",` + at, asked: true},
		"a job that began later":  {job: `"status":"running","started_at":"2026-05-04T10:05:00Z"`, asked: true},
		"a job that was over":     {job: over, asked: true},
		"a job that never began":  {job: `"status":"pending","started_at":null`, asked: true},
		"another group":           {job: failed, scope: Groups{"acm"}, asked: true, why: out},
		"a group inside":          {job: failed, scope: Groups{"acme/other"}, asked: true, why: out},
		"no scope":                {job: failed, scope: Groups{}, asked: true, why: out},
		"a job that GitLab lacks": {job: failed, change: job("7002"), asked: true, why: unseen},
		"a project that GitLab lacks": {job: failed, change: pod("runner-a-project-43-concurrent-0-x"), asked: true,
			why: unseen},
		"no job":                       {job: failed, change: job(""), why: which},
		"a job that is no number":      {job: failed, change: job("7001/../1"), why: which},
		"another runner":               {job: failed, change: pod("amber-runner-1"), why: which},
		"a project that is no number":  {job: failed, change: pod("runner-a-project-4x-concurrent-0"), why: which},
		"a runner that did its job":    {job: failed, change: func(v *rules.Verdict) { v.Label = rules.Completed }},
		"what is withdrawn, was never": {job: failed, change: second(rules.Completed), asked: true},
	} {
		s := newLabScene(t)
		s.job = tt.job
		if tt.scope != nil {
			s.g.Scope = tt.scope
		}
		if tt.change == nil {
			tt.change = same
		}
		if s.put(tt.change); s.sent.Len() > 0 || (s.asked > 0) != tt.asked {
			t.Errorf("%s: asked %d times, sent %s", name, s.asked, &s.sent)
		}
		note, err := s.ledger.Deliveries("gitlab").Note(t.Context(), "ns.uid/1", 1)
		if !strings.Contains(note, tt.why) || err != nil {
			t.Errorf("%s: noted %q %v, want %q", name, note, err, tt.why)
		}
	}
}

// A dry run asks what the other asks and writes nothing: the log says what would be written.
func TestDryNote(t *testing.T) {
	var log bytes.Buffer
	s := newLabScene(t)
	s.put(same)
	sent := s.sent.String()
	s.g.Dry, s.g.Log = true, zerolog.New(&log)
	s.put(second(rules.HardwareFailure))
	for _, part := range []string{`"repository":"acme/ci/mill"`, `"kind":"comment"`, `"kind":"status"`,
		`"request":"POST /projects/42/statuses/` + sha + `"`,
		`"request":"PUT ` + onMerge + `/1"`,
		`"title":"The runner died, not your test: hardware-failure (confirmed)"`, "Look at the node.",
		"would annotate a job at GitLab"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("no %s in %s", part, &log)
		}
	}
	if s.sent.String() != sent {
		t.Errorf("sent %s", &s.sent)
	}
}

// Why a job gets no comment is logged and stored; one that it has is withdrawn, by a revision that
// says that nothing died as by one that knows the job as green.
func TestNoteOfAGreenJob(t *testing.T) {
	const green = `"status":"success","started_at":"2026-05-04T09:50:00Z","finished_at":"2026-05-04T10:00:30Z"`
	s := newLabScene(t)
	var log bytes.Buffer
	s.job, s.g.Log = green, zerolog.New(&log)
	s.put(same)
	note, err := s.ledger.Deliveries("gitlab").Note(t.Context(), "ns.uid/1", 1)
	if note != "no: the job succeeded" || err != nil || !strings.Contains(log.String(), "job not annotated: ") {
		t.Errorf("%q %v: %s", note, err, &log)
	}
	for label, want := range map[rules.Label]string{
		rules.Completed: "Withdrawn: completed", rules.NodeShutdown: "Withdrawn: the job succeeded",
	} {
		s := newLabScene(t)
		s.put(same)
		s.job = green
		s.put(second(label))
		if all := s.notes[onMerge]; len(all) != 1 || !strings.Contains(all[0].Body, want) {
			t.Errorf("%s: %+v", label, all)
		}
	}
}

// GitLab's limits are kept, and what waited for them is said after.
func TestGitLabLimits(t *testing.T) {
	s := newLabScene(t)
	s.limited = true
	s.put(same)
	asked := s.asked
	if s.flush(); asked != 1 || s.asked != asked {
		t.Errorf("asked %d and %d times while it said to wait", asked, s.asked)
	}
	s.limited = false
	s.clock = s.clock.Add(time.Minute)
	if s.flush(); len(s.notes[onMerge]) != 1 {
		t.Errorf("%+v", s.notes)
	}
}

// Which groups a scope has, and what is none.
func TestGroups(t *testing.T) {
	g := Groups{"Acme/ci", "solo"}
	for project, want := range map[string]bool{"acme/ci": true, "acme/CI/mill": true, "acme/cider": false,
		"acme":     false,
		"solo/x/y": true, "": false} {
		if g.Has(project) != want {
			t.Errorf("%q: %v", project, !want)
		}
	}
	for path, fine := range map[string]bool{"a": true, "a/b/c-1.x": true, "": false, "/a": false, "a/": false,
		"a//b": false,
		"a/*":  false, "../a": false, "a b": false} {
		if err := (Groups{path}).Check(); (err == nil) != fine {
			t.Errorf("%q: %v", path, err)
		}
	}
}
