package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/apidoc"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/google/go-cmp/cmp"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

func verdict(runner string, revision int) *rules.Verdict {
	died, code := t0.Add(-time.Minute), 137
	return &rules.Verdict{Runner: runner, Namespace: "arc", Node: "n1", PodUID: "uid-" + runner, Pool: "linux",
		Label: rules.CgroupOOM, Confidence: rules.Confirmed,
		Domain: "workload", Initiator: "kernel", Retry: "useless", Resource: "memory", Rule: "cgroup-OOM-kernel-kill",
		JudgedBy: rules.JudgedBy{Rulebook: "abc"}, Revision: revision, DiedAt: &died,
		Exit:    rules.Exit{Code: &code, Reason: "OOMKilled", Signal: 9},
		Job:     rules.Job{Name: "build", ID: "7", RunID: "8", Repository: "o/r", Step: "test"},
		Summary: "a < b & c",
		Evidence: []rules.EvidenceLine{
			{
				At:       &died,
				Source:   "kernel",
				Node:     "n1",
				Signal:   "kernel.oom-kill",
				Text:     "oom",
				Decisive: true,
				Mine:     true,
				Where:    "journal:7",
			},
		},
		RuledOut: []rules.RuledOut{{Label: rules.NodeOOM, Because: "no"}},
		Open:     []rules.OpenLabel{{Label: rules.ChildOOM, Needs: "the job's log"}},
		Missing:  []string{"the kubelet"}, Advice: "more memory"}
}

// contract are the fields of a verdict as the API gives it. Programs read
// them: fields are added, never renamed or removed.
const contract = `{"id": "1", "recorded_at": "2026-05-04T10:00:00Z",
	"runner": "amber", "namespace": "arc", "node": "n1", "pod_uid": "uid-amber", "pool": "linux",
	"verdict": "cgroup-OOM", "confidence": "confirmed", "domain": "workload", "kind": "runner", ` +
	`"initiator": "kernel", ` +
	`"retry": "useless", "resource": "memory",
	"rule": "cgroup-OOM-kernel-kill", "rulebook": "abc", "revision": 1, "died_at": "2026-05-04T09:59:00Z",
	"exit": {"code": 137, "reason": "OOMKilled", "signal": 9},
	"job": {"name": "build", "id": "7", "run_id": "8", "repository": "o/r", "step": "test"},
	"summary": "a < b & c",
	"evidence": [{"at": "2026-05-04T09:59:00Z", "source": "kernel", "node": "n1", "signal": "kernel.oom-kill", ` +
	`"text": "oom", "decisive": true, "mine": true, "where": "journal:7"}],
	"ruled_out": [{"verdict": "node-OOM", "because": "no"}],
	"open": [{"verdict": "child-OOM", "needs": "the job's log"}],
	"missing": ["the kubelet"], "advice": "more memory"}`

// bare is the same of a verdict that knows nothing: what is not known is there
// and empty.
const bare = `{"id": "2", "recorded_at": "2026-05-04T10:00:00Z", "runner": "", "namespace": "", "node": "", ` +
	`"pod_uid": "",
	"verdict": "unknown", "confidence": "suspected", "kind": "runner", "domain": "", "initiator": "", ` +
	`"retry": "", "rule": "", ` +
	`"rulebook": "", "revision": 1, "died_at": null,
	"exit": {"code": null, "reason": "", "signal": 0}, "job": {"name": "", "id": "", "run_id": "", "repository": "", ` +
	`"step": ""},
	"summary": "", "evidence": [], "ruled_out": [], "open": [], "missing": []}`

func parse(t testing.TB, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// serve is the API over a ledger that fill fills.
func serve(t testing.TB, fill func(put func(at time.Time, f func(*ledger.Tx) error))) (*API, http.Handler) {
	t.Helper()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	fill(func(at time.Time, f func(*ledger.Tx) error) {
		if err := l.Write(t.Context(), at, f); err != nil {
			t.Fatal(err)
		}
	})
	a := &API{Source: l, Now: func() time.Time { return t0.Add(time.Hour) }}
	mux := http.NewServeMux()
	a.Register(mux)
	return a, apidoc.Held(t, mux)
}

func ask(t testing.TB, h http.Handler, path string) (code int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		t.Errorf("%s: content type %q", path, kind)
	}
	return w.Code, w.Body.String()
}

// What a program reads of a verdict is there under its name, in the list and
// at a runner's name.
func TestTheContract(t *testing.T) {
	_, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			empty := rules.Verdict{Label: rules.Unknown, Confidence: rules.Suspected, Revision: 1,
				Evidence: []rules.EvidenceLine{}, RuledOut: []rules.RuledOut{}, Open: []rules.OpenLabel{},
				Missing: []string{}}
			return errors.Join(tx.AddVerdict("1", verdict("amber", 1), t0, false),
				tx.AddVerdict("2", &empty, t0, false),
				tx.PutCase(ledger.Case{
					ID:        "1",
					Namespace: "arc",
					Name:      "amber",
					UID:       "uid-amber",
					Node:      "n1",
					Runner:    true,
					State:     ledger.StateJudged,
					Heard:     t0.Add(time.Second),
				}),
				tx.PutCase(ledger.Case{ID: "3", Name: "birch", Runner: true, State: ledger.StateOpen, Heard: t0}))
		})
	})
	for path, want := range map[string]string{
		"/api/v1/verdicts": `{"verdicts": [` + contract + `,` + bare + `]}`,
		"/api/v1/runners/amber": `{"exact": true, "runners": [{"id": "1", "kind": "runner", ` +
			`"runner": "amber", "namespace": "arc", ` +
			`"node": "n1", "pod_uid": "uid-amber", "state": "judged", "heard_at": "2026-05-04T10:00:01Z", ` +
			`"verdict": ` + contract + `, "revisions": [],
			"siblings": {"within": "10m", "of": 1, "more": false, "died": [{"id": "1", "runner": "amber", ` +
			`"namespace": "arc", "verdict": "cgroup-OOM", "confidence": "confirmed", ` +
			`"died_at": "2026-05-04T09:59:00Z"}]}}]}`,
		"/api/v1/runners/birch": `{"exact": true, "runners": [{"id": "3", "kind": "runner", ` +
			`"runner": "birch", "namespace": "", ` +
			`"node": "", "pod_uid": "", "state": "open", "heard_at": "2026-05-04T10:00:00Z", "verdict": null, ` +
			`"revisions": []}]}`,
	} {
		code, body := ask(t, h, path)
		if diff := cmp.Diff(parse(t, want), parse(t, body)); diff != "" || code != http.StatusOK {
			t.Errorf("%s: %d\n%s", path, code, diff)
		}
		if strings.Contains(body, `\u003c`) {
			t.Errorf("%s: a person who reads it sees escapes", path)
		}
	}
}

// states sums up what the API gives for a name: id, state, revision of the
// verdict, the revisions before it, opinion.
func states(t testing.TB, body string) (out []string) {
	t.Helper()
	var a Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Runners {
		s := r.ID + " " + r.State
		if r.Verdict != nil {
			s += " verdict " + string(rune('0'+r.Verdict.Revision))
		}
		for _, v := range r.Revisions {
			s += " before " + string(rune('0'+v.Revision))
		}
		if r.Opinion != nil {
			s += " opinion " + r.Opinion.ID + " " + string(r.Opinion.Label) + " " + string(rune('0'+r.Opinion.Revision))
		}
		out = append(out, s)
	}
	return out
}

// A person finds a runner by its name, with or without namespace, the start of
// it or the pod's UID, and sees where its case stands.
func TestRunners(t *testing.T) {
	a, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			c := func(id, namespace, name string, state ledger.State, heard int) error {
				return tx.PutCase(ledger.Case{
					ID:        id,
					Namespace: namespace,
					Name:      name,
					UID:       "uid-" + id,
					Runner:    true,
					State:     state,
					Heard:     t0.Add(time.Duration(heard)),
				})
			}
			pod := ledger.Case{ID: "pod", Namespace: "arc", Name: "amber-1", State: ledger.StateOpen}
			return errors.Join(tx.PutCase(pod),
				c("judged", "arc", "amber-1", ledger.StateJudged, 1), c("twin", "ci", "amber-1", ledger.StateOpen, 2),
				c("revised", "arc", "birch", ledger.StateEnding, 3), c("ending", "arc", "cedar", ledger.StateEnding, 4),
				c("alive", "arc", "dogwood", ledger.StateEnding, 5),
				c("longer", "arc", "amber-11", ledger.StateOpen, 6),
				tx.AddVerdict("judged", verdict("amber-1", 2), t0, false),
				tx.AddVerdict("judged", verdict("amber-1", 1), t0, false),
				tx.AddVerdict("judged", verdict("amber-1", 3), t0, false),
				tx.AddVerdict("revised", verdict("birch", 1), t0, false))
		})
	})
	a.Opinion = func(_ context.Context, c ledger.Case) (*rules.Verdict, error) {
		v := verdict(c.Name, 7)
		if c.ID == "alive" {
			v.Label = rules.None
		}
		return v, nil
	}
	for _, tt := range []struct {
		path string
		code int
		want []string
	}{
		{"amber-1", 200, []string{"twin open", "judged judged verdict 3 before 1 before 2"}},
		{"arc/amber-1", 200, []string{"judged judged verdict 3 before 1 before 2"}},
		{"arc%2Famber-1", 200, []string{"judged judged verdict 3 before 1 before 2"}},
		{"amber", 200, []string{"longer open", "twin open", "judged judged verdict 3 before 1 before 2"}},
		{"uid-judged", 200, []string{"judged judged verdict 3 before 1 before 2"}},
		{"birch", 200, []string{"revised ending verdict 1"}},
		{"cedar", 200, []string{"ending ending opinion ending cgroup-OOM 0"}},
		{"dogwood", 200, []string{"alive ending"}},
		{"ci/birch", 404, nil},
		{"nobody", 404, nil},
		{"amb%25", 404, nil},
	} {
		code, body := ask(t, h, "/api/v1/runners/"+tt.path)
		if diff := cmp.Diff(tt.want, states(t, body)); diff != "" || code != tt.code {
			t.Errorf("%s: %d, want %d: %s", tt.path, code, tt.code, diff)
		}
		if tt.code == 404 && !strings.Contains(body, `"runners":[]`) {
			t.Errorf("%s: %s; a program wants an empty list", tt.path, body)
		}
	}
	a.Opinion = nil
	if code, body := ask(t, h, "/api/v1/runners/cedar"); code != 200 || len(states(t, body)) != 1 {
		t.Errorf("without opinions: %d %s", code, body)
	}
	if code, body := ask(t, h, "/api/v1/runners/"); code != 400 || !strings.Contains(body, `{"error":"no name`) {
		t.Errorf("no name: %d %s", code, body)
	}
}

// fake is a source that keeps what it was asked for.
type fake struct {
	err    error
	what   string
	limit  int
	query  ledger.Query
	cases  []ledger.Case
	judged error // of Revisions
}

func (f *fake) FindRunners(_ context.Context, _ *string, what string, limit int) ([]ledger.Case, bool, error) {
	f.what, f.limit = what, limit
	return f.cases, true, f.err
}
func (f *fake) Case(context.Context, string) (ledger.Case, bool, error) {
	return ledger.Case{}, false, f.err
}
func (f *fake) RunnersOn(context.Context, string, string, time.Time, time.Time) (int, error) {
	return 0, f.err
}
func (f *fake) FindStanding(context.Context, casefile.Kind, *string, string) ([]ledger.Case, error) {
	return nil, f.err
}

func (f *fake) Labels(context.Context) ([]rules.Label, error)              { return []rules.Label{"rack-fire"}, nil }
func (f *fake) Lives(context.Context, string) ([]ledger.Case, error)       { return nil, f.judged }
func (f *fake) Revisions(context.Context, string) ([]ledger.Record, error) { return nil, f.judged }
func (f *fake) Verdicts(_ context.Context, q ledger.Query) ([]ledger.Record, error) {
	f.query = q
	return nil, f.err
}

func (f *fake) Next(_ context.Context, c *ledger.Cursor) ([]ledger.Record, error) {
	f.query = c.Query()
	return nil, f.err
}

func serveFake(t testing.TB, f *fake) (*API, http.Handler) {
	a := &API{Source: f, Now: func() time.Time { return t0 }}
	mux := http.NewServeMux()
	a.Register(mux)
	return a, apidoc.Held(t, mux)
}

// The parameters of the list are what they are called, and a mistake in one is
// told instead of answered with something else.
func TestVerdictsParameters(t *testing.T) {
	east, pool := "east", casefile.OfPool
	for query, want := range map[string]ledger.Query{
		"":                              {Limit: 100},
		"kind=pool&state=open":          {Limit: 100, Standing: ledger.Standing{Kind: &pool, State: rules.Open}},
		"runner=arc/abc&node=n&limit=":  {Runner: "arc/abc", Node: "n", Limit: 100},
		"verdict=cgroup-OOM&limit=1":    {Labels: []rules.Label{rules.CgroupOOM}, Limit: 1},
		"verdict=cgroup-oom,+node-OOM,": {Labels: []rules.Label{rules.CgroupOOM, rules.NodeOOM}, Limit: 100},
		"verdict=RACK-fire": {Labels: []rules.Label{"rack-fire"},
			Limit: 100}, // of the ledger only
		"pool=p&repository=o/r&job=7":             {Pool: "p", Repository: "o/r", Job: "7", Limit: 100},
		"pool=tuist-runners/p":                    {Pool: "p", Limit: 100},
		"job=7&run=8":                             {Job: "7", Run: "8", Limit: 100},
		"cluster=east&node=n":                     {Cluster: &east, Node: "n", Limit: 100},
		"cluster=":                                {Limit: 100},
		"verdict=unknown,UNKNOWN,unknown":         {Labels: []rules.Label{rules.Unknown}, Limit: 100},
		"since=0001-01-01T00:00:00Z":              {Since: time.Unix(0, 0).UTC(), Limit: 100},
		"until=1h":                                {Until: t0.Add(-time.Hour), Limit: 100},
		"limit=1000":                              {Limit: maxVerdicts},
		"limit=1001":                              {Limit: maxVerdicts},
		"since=90m":                               {Since: t0.Add(-90 * time.Minute), Limit: 100},
		"since=2026-01-02T15:04:05Z":              {Since: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Limit: 100},
		"since=2026-01-02T15%3A04%3A05%2B01%3A00": {Since: time.Date(2026, 1, 2, 14, 4, 5, 0, time.UTC), Limit: 100},
	} {
		f := &fake{}
		_, h := serveFake(t, f)
		code, body := ask(t, h, "/api/v1/verdicts?"+query)
		if diff := cmp.Diff(want, f.query); diff != "" || code != 200 || strings.TrimSpace(body) != `{"verdicts":[]}` {
			t.Errorf("%s: %d %s %s", query, code, body, diff)
		}
	}
	for query, says := range map[string]string{
		"limit=0": "limit", "limit=-1": "limit", "limit=x": "limit", "limit=1.5": "limit",
		"limit=99999999999999999999": "limit",
		"verdict=oom":                "verdict", "confidence=confirmed": "confidence: no such parameter",
		"runner=am": "runner", "runner=arc/a": "runner", "until=x": "until",
		"since=yesterday": "since", "since=-5m": "since", "since=90": "since", "since=2026-01-02": "since",
	} {
		f := &fake{}
		_, h := serveFake(t, f)
		code, body := ask(t, h, "/api/v1/verdicts?"+query)
		var got map[string]string
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 400 ||
			!strings.HasPrefix(got["error"], says) || !strings.Contains(got["error"], "want ") || f.query.Limit != 0 {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
}

// A ledger that cannot be read is an error and not "nobody".
func TestSourceFails(t *testing.T) {
	disk := errors.New("disk")
	for what, f := range map[string]*fake{
		"/api/v1/verdicts":        {err: disk},
		"/api/v1/runners/a":       {err: disk},
		"/api/v1/runners/a/b":     {cases: []ledger.Case{{ID: "1"}}, judged: disk},
		"/api/v1/runners/opinion": {cases: []ledger.Case{{ID: "1", State: ledger.StateEnding}}},
	} {
		a, h := serveFake(t, f)
		a.Opinion = func(context.Context, ledger.Case) (*rules.Verdict, error) { return nil, disk }
		if code, body := ask(t, h, what); code != 500 || strings.TrimSpace(body) != `{"error":"disk"}` {
			t.Errorf("%s: %d %s", what, code, body)
		}
	}
}

// A question changes nothing.
func TestOnlyQuestions(t *testing.T) {
	_, h := serveFake(t, &fake{})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		for _, path := range []string{"/api/v1/verdicts", "/api/v1/runners/a"} {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest(method, path, nil)); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

func TestSince(t *testing.T) {
	for text, want := range map[string]time.Time{
		"90m":                       t0.Add(-90 * time.Minute),
		"7d":                        t0.Add(-7 * 24 * time.Hour),
		"2w":                        t0.Add(-14 * 24 * time.Hour),
		"0s":                        t0,
		"1h30m":                     t0.Add(-90 * time.Minute),
		"2026-01-02T15:04:05Z":      time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		"2026-01-02T15:04:05.5Z":    time.Date(2026, 1, 2, 15, 4, 5, 5e8, time.UTC),
		"2026-01-02T15:04:05+02:00": time.Date(2026, 1, 2, 13, 4, 5, 0, time.UTC),
	} {
		if got, err := Since(text, t0); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "-1h", "d", "1y", "1.5d", "99999d", "10", "now", "2026-01-02", "2026-01-02 15:04:05",
		"2026-13-02T15:04:05Z",
	} {
		if _, err := Since(text, t0); err == nil || !strings.Contains(err.Error(), "90m") {
			t.Errorf("%q: %v; want an error that shows how it is written", text, err)
		}
	}
}

// Whatever name is asked for, the server looks for that one.
func TestClientNames(t *testing.T) {
	f := &fake{cases: []ledger.Case{{ID: "1", State: ledger.StateOpen}}}
	_, h := serveFake(t, f)
	server := httptest.NewServer(h)
	defer server.Close()
	for _, base := range []string{server.URL, server.URL + "/"} {
		c := &Client{Server: base, HTTP: server.Client()}
		for _, name := range []string{
			"amber", "arc/amber", "a b", "50%", "a%2Fb", "%zz", "a?b=c", "a#b", "a+b", "a&b;c", "ü", `a\b`, "a/b/c",
			"a:b", `"`, "a.b", "..a",
		} {
			got, err := c.Runner(t.Context(), "", name)
			if err != nil || f.what != name || f.limit != maxRunners || len(got.Runners) != 1 {
				t.Errorf("%q: asked for %q, got %+v, %v", name, f.what, got, err)
			}
		}
	}
}

// The client gives what the server has, to the field.
func TestClientRoundTrip(t *testing.T) {
	_, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			return errors.Join(tx.AddVerdict("1", verdict("amber", 1), t0, false),
				tx.AddVerdict("1", verdict("amber", 2), t0, false),
				tx.PutCase(ledger.Case{
					ID:        "1",
					Namespace: "arc",
					Name:      "amber",
					Runner:    true,
					State:     ledger.StateJudged,
					Heard:     t0,
				}))
		})
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" {
			t.Errorf("%v", r.Header)
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	c := &Client{Server: server.URL, Header: http.Header{"Authorization": {"Bearer t"}}, HTTP: server.Client()}
	first, second := Recorded{"1", t0, *verdict("amber", 1)}, Recorded{"1", t0, *verdict("amber", 2)}
	got, err := c.Runner(t.Context(), "", "amber")
	want := Answer{Exact: true,
		Runners: []Runner{{Subject: Subject{ID: "1", Runner: "amber", Namespace: "arc"}, State: "judged", Heard: t0,
			Verdict:   &second,
			Revisions: []Recorded{first},
			Siblings: &Siblings{
				Within: "10m",
				Of:     1,
				Died:   []Sibling{{"1", "amber", "arc", rules.CgroupOOM, rules.Confirmed, second.DiedAt}},
			}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	const begin = "runners whose names begin with amb, or hold it"
	if some, err := c.Runner(t.Context(), "", "amb"); err != nil || some.Exact || len(some.Runners) != 1 ||
		some.Meaning != begin {
		t.Errorf("the start of a name: %+v %v", some, err)
	}
	nobody, err := c.Runner(t.Context(), "", "nobody")
	if err != nil || len(nobody.Runners) != 0 {
		t.Errorf("nobody: %+v %v", nobody, err)
	}
	all, err := c.Verdicts(t.Context(), url.Values{"runner": {"arc/amb"}, "limit": {"5"}})
	if diff := cmp.Diff(Verdicts{[]Recorded{second}}, all); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if none, err := c.Verdicts(t.Context(), url.Values{"verdict": {"node-OOM"}}); err != nil ||
		len(none.Verdicts) != 0 {
		t.Errorf("%+v %v", none, err)
	}
	if _, err := c.Verdicts(t.Context(), url.Values{"limit": {"x"}}); err == nil ||
		!strings.Contains(err.Error(), "want a number") {
		t.Errorf("a mistake in the question: %v", err)
	}
}

// A server that is none of coroner's, or ill, is one line that says so. Above
// all it is not "no such runner".
func TestClientSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		what, body string
		code       int
		says       string
	}{
		{"an error", `{"error":"ledger: disk"}`, 500, "500 Internal Server Error: ledger: disk"},
		{
			"a proxy's page", "<html>\r\n<h1>Bad gateway</h1>\n" + strings.Repeat("x", 1000), 502,
			"502 Bad Gateway: <html> <h1>Bad gateway</h1> xx",
		},
		{"no body", "", 503, "503 Service Unavailable"},
		{"wants a login", "login", 401, "401 Unauthorized: login"},
		{"another server's page", "<html>hello</html>", 200, "not coroner's"},
		{"a path that is not there", "404 page not found\n", 404, "not coroner's"},
		{"another API", `{"status":"success","data":[]}`, 200, "not coroner's"},
		{"another API's 404", `{"kind":"Status","message":"not found"}`, 404, "not coroner's"},
		{"null", `null`, 200, "not coroner's"},
		{"a list", `[]`, 200, "not coroner's"},
		{"nothing", ``, 200, "not coroner's"},
		{"cut off", `{"runners":[{"id":"1"`, 200, "not coroner's"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.code)
			_, _ = w.Write([]byte(tt.body))
		}))
		c := &Client{Server: server.URL, HTTP: server.Client()}
		_, err1 := c.Runner(t.Context(), "", "amber")
		_, err2 := c.Verdicts(t.Context(), nil)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.HasPrefix(err.Error(), "server "+server.URL+": ") ||
				!strings.Contains(err.Error(), tt.says) ||
				strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 400 {
				t.Errorf("%s: %q, want …%s…", tt.what, err, tt.says)
			}
		}
		server.Close()
		if _, err := c.Runner(t.Context(), "", "amber"); err == nil ||
			!strings.Contains(err.Error(), "connection refused") {
			t.Errorf("a server that is gone: %v", err)
		}
	}
	nowhere := &Client{Server: "::", HTTP: http.DefaultClient}
	if _, err := nowhere.Runner(t.Context(), "", "amber"); err == nil ||
		!strings.HasPrefix(err.Error(), "server ::: ") {
		t.Errorf("no address: %v", err)
	}
}
