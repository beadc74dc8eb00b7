package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/fixtures"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// A text is taken for what a person means by it.
func TestUnderstand(t *testing.T) {
	noDeaths := []rules.Label{rules.Completed, rules.None}
	now := time.Date(2026, 5, 4, 11, 0, 0, 0, time.UTC)
	at := func(h, m, s int) time.Time { return time.Date(2026, 5, 4, h, m, s, 0, time.UTC) }
	on := func(node string, died time.Time) []ledger.Query {
		return []ledger.Query{
			{
				Node: node, Except: noDeaths, Limit: maxRunners,
				Died: ledger.Between{From: died.Add(-near), To: died.Add(near)},
			},
		}
	}
	job := func(id string) ledger.Query { return ledger.Query{Job: id, Limit: maxRunners} }
	run := func(id string) ledger.Query { return ledger.Query{Run: id, Limit: maxRunners} }
	type asked struct {
		runner  string
		queries []ledger.Query
	}
	for text, want := range map[string]asked{
		"amber-4kx2p":                 {runner: "amber-4kx2p"},
		" ci/amber ":                  {runner: "ci/amber"},
		"build-7":                     {runner: "build-7"},
		"two words":                   {runner: "two words"},
		"build-7 99:99":               {runner: "build-7 99:99"},
		"10:42":                       {runner: "10:42"},
		"build-7 10:42":               {queries: on("build-7", at(10, 42, 0))},
		"build-7@10:42":               {queries: on("build-7", at(10, 42, 0))},
		"n at 10:42:30Z":              {queries: on("n", at(10, 42, 30))},
		"n 11:30":                     {queries: on("n", at(11, 30, 0).AddDate(0, 0, -1))}, // it is 11:00: yesterday's
		"n 2026-05-04 09:00 UTC":      {queries: on("n", at(9, 0, 0))},
		"n 2026-05-04T11:00:00+02:00": {queries: on("n", at(9, 0, 0))},
		"https://github.com/o/r/actions/runs/12/job/34":               {queries: []ledger.Query{job("34"), run("12")}},
		"https://github.com/o/r/actions/runs/12/job/34?pr=5#step:1:2": {queries: []ledger.Query{job("34"), run("12")}},
		"https://ghe.example.com/o/r/actions/runs/12/attempts/2":      {queries: []ledger.Query{run("12")}},
		"https://github.com/o/r/runs/34":                              {queries: []ledger.Query{job("34")}},
		"https://gitlab.example.com/group/sub/project/-/jobs/99":      {queries: []ledger.Query{job("99")}},
		"http://gitlab.example.com/group/project/-/pipelines/98/":     {queries: []ledger.Query{run("98")}},
	} {
		got, err := understand(text, now, noDeaths)
		var queries []ledger.Query
		for _, t := range got.tries {
			queries = append(queries, t.query)
		}
		if diff := cmp.Diff(want.queries, queries); err != nil || got.runner != want.runner || diff != "" {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
		if (got.runner == "") != (len(got.tries) > 0 && got.tries[0].meaning != "") {
			t.Errorf("%s: it does not say what it was taken for", text)
		}
	}
	for _, text := range []string{
		"https://github.com/o/r", "https://example.com/", "http://github.com/o/r/actions/runs/x",
	} {
		if _, err := understand(text, now, noDeaths); err == nil || !strings.Contains(err.Error(), "want https://") {
			t.Errorf("%s: %v; want an error that shows an address of a job", text, err)
		}
	}
}

// many is a ledger with deaths on two nodes.
func many(t *testing.T) (*API, http.Handler) {
	return serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			var err error
			add := func(id, name, node string, died time.Duration, label rules.Label, job rules.Job) {
				v, at := verdict(name, 1), t0.Add(died)
				v.Node, v.DiedAt, v.Label, v.Job = node, &at, label, job
				err = errors.Join(err, tx.AddVerdict(id, v, at, false),
					tx.PutCase(ledger.Case{ID: id, Namespace: "arc", Name: name, UID: "uid-" + name,
						Node: node, Runner: true, State: ledger.StateJudged, Opened: at.Add(-time.Hour), Heard: at}))
			}
			add("1", "amber", "n1", -1*time.Minute, rules.HostTeardown,
				rules.Job{ID: "34", RunID: "12", Repository: "r"})
			add("2", "birch", "n1", -9*time.Minute, rules.HostTeardown,
				rules.Job{ID: "35", RunID: "12", Repository: "o/r"})
			add("3", "cedar", "n1", -30*time.Minute, rules.HostTeardown, rules.Job{})
			add("4", "dogwood", "n2", -1*time.Minute, rules.CgroupOOM, rules.Job{})
			add("5", "elder", "n1", -2*time.Minute, rules.Completed, rules.Job{})
			live := ledger.Case{
				ID:        "6",
				Namespace: "arc",
				Name:      "fir",
				Node:      "n1",
				Runner:    true,
				State:     ledger.StateOpen,
				Opened:    t0.Add(-2 * time.Hour),
				Heard:     t0.Add(-time.Hour),
			}
			later := ledger.Case{
				ID:        "7",
				Namespace: "arc",
				Name:      "gum",
				Node:      "n1",
				Runner:    true,
				State:     ledger.StateOpen,
				Opened:    t0.Add(time.Hour),
				Heard:     t0.Add(time.Hour),
			}
			// says that it ran amber's job
			add("9", "ivy", "n4", -1*time.Minute, rules.CgroupOOM,
				rules.Job{ID: "34", RunID: "12", Repository: "o/r", Claimed: true})
			gone := *verdict("hazel", 1) // its case is forgotten
			gone.Job, gone.Node = rules.Job{ID: "77"}, "n3"
			return errors.Join(err, tx.PutCase(live), tx.PutCase(later), tx.AddVerdict("8", &gone, t0, false))
		})
	})
}

// A responder who has a job's address, or a node and a time, finds the runners.
func TestSearch(t *testing.T) {
	_, h := many(t)
	for text, want := range map[string][]string{
		"amber":     {"amber"},
		"uid-birch": {"birch"},
		"https://github.com/o/r/actions/runs/12/job/34": {"amber"},
		"https://github.com/o/r/actions/runs/12/job/99": {"amber", "birch"}, // the job is not known, its run is
		"https://github.com/o/r/actions/runs/12":        {"amber", "birch"},
		"https://github.com/o/r/runs/77":                {"hazel"},
		"https://github.com/o/r/actions/runs/34":        {}, // a job's number is no run's
		"https://github.com/o/other/actions/runs/12":    {}, // another repository's
		"https://github.com/p/r/actions/runs/12":        {"amber"},
		"https://gitlab.example.com/o/r/-/jobs/12":      {},
		"amb":      {"amber"},
		"am":       {},
		"n1":       {"amber", "birch", "cedar"}, // elder completed
		"n1 09:30": {"cedar"},
		"n2":       {"dogwood"}, // no runner is called so, a node is
		"n2 08:00": {},
		"nobody":   {},
	} {
		code, body := ask(t, h, "/api/v1/search?q="+url.QueryEscape(text))
		var got Answer
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, r := range got.Runners {
			names = append(names, r.Runner)
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" || (code == 200) != (len(want) > 0) {
			t.Errorf("%s: %d %s", text, code, diff)
		}
		named := slices.Contains(
			[]string{
				"amber", "uid-birch", "https://github.com/o/r/actions/runs/12/job/34", "https://github.com/o/r/runs/77",
			},
			text,
		)
		if got.Exact != named || !got.Exact && got.Meaning == "" {
			t.Errorf("%s: exact %v, meaning %q; a guess must say that it is one", text, got.Exact, got.Meaning)
		}
	}
	for _, text := range []string{"", " ", "https://github.com/o", strings.Repeat("x", 513)} {
		if code, body := ask(t, h, "/api/v1/search?q="+url.QueryEscape(text)); code != 400 ||
			!strings.Contains(body, "want") {
			t.Errorf("%q: %d %s", text, code, body)
		}
	}
}

// Siblings are the deaths on the node within ten minutes, among the runners
// that were there: one that came later, and one that just ended, is no death.
func TestSiblings(t *testing.T) {
	a, _ := many(t)
	got, err := a.Find(t.Context(), "", "amber")
	if err != nil || len(got.Runners) != 1 {
		t.Fatal(got, err)
	}
	s := got.Runners[0].Siblings
	var names []string
	for _, d := range s.Died {
		names = append(names, d.Runner)
	}
	slices.Sort(names)
	// with elder, who completed, and fir, who lives
	if diff := cmp.Diff([]string{"amber", "birch"}, names); diff != "" || s.Of != 4 {
		t.Errorf("%d of %d: %s", len(s.Died), s.Of, diff)
	}
	died := func(ids ...string) (out []Sibling) {
		for _, id := range ids {
			out = append(out, Sibling{ID: id})
		}
		return out
	}
	for want, s := range map[string]Siblings{
		"2 of the 4 runners on this node died within 10 minutes of this": {Of: 4, Died: died("me", "a")},
		// this one only ended
		"1 of the 2 runners on this node died within 10 minutes of this": {Of: 2, Died: died("a")},
		"at least 3 of the 120 runners on this node died within 10 minutes of this": {
			Of:   120,
			Died: died("me", "a", "b"),
			More: true,
		},
		"None of the other 3 runners on this node died within 10 minutes of this": {Of: 4, Died: died("me")},
		"The other runner on this node did not die within 10 minutes of this":     {Of: 2, Died: died("me")},
		"Of other runners on this node at that time nothing is known":             {Of: 1, Died: died("me")},
	} {
		if got := s.Sentence("me"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An incident file gives explain the verdict that the server gave, and is a
// fixture as it stands.
func TestIncidentFile(t *testing.T) {
	rulebook := shipped.Rulebook(t)
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range all {
		if i%fixtures.Each() > 0 {
			continue
		}
		entries := read(t, in)
		said := classify.Replay(slices.Values(entries), rulebook, classify.Options{Runner: in.Want.Runner})[0]
		a, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
			put(t0, func(tx *ledger.Tx) error {
				return errors.Join(tx.AddVerdict("1", &said, t0, false),
					tx.PutCase(ledger.Case{
						ID:        "1",
						Namespace: said.Namespace,
						Name:      said.Runner,
						UID:       said.PodUID,
						Runner:    true,
						State:     ledger.StateJudged,
					}))
			})
		})
		a.Gather = func(context.Context, ledger.Case) ([]ingest.Entry, error) { return entries, nil }
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/incidents/1", nil))
		file, err := fixtures.Parse("x", w.Body.Bytes())
		if err != nil || file.Want.Verdict != string(said.Label) || file.Want.Confidence != string(said.Confidence) ||
			file.Want.Rule != said.Rule {
			t.Fatalf("%s: %v %+v\n%s", in.Name, err, file.Want, w.Body)
		}
		b := bundle.Bytes("x.txtar", w.Body.Bytes(), bundle.Options{})
		again := classify.Replay(b.Entries(nil), rulebook, classify.Options{Runner: in.Want.Runner})[0]
		if diff := cmp.Diff(said, again); diff != "" || b.Close() != nil {
			t.Errorf("%s: explain says something else: %s", in.Name, diff)
		}
	}
}

func read(t *testing.T, in fixtures.Incident) []ingest.Entry {
	t.Helper()
	b := bundle.Bytes(in.Name+".txtar", txtar.Format(&txtar.Archive{Files: in.Files}), bundle.Options{})
	defer b.Close()
	return slices.Collect(b.Entries(nil))
}

// A file whose evidence does not give the verdict any more says so.
func TestIncidentFileOfLess(t *testing.T) {
	a, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			return errors.Join(tx.AddVerdict("1", verdict("amber", 1), t0, false),
				tx.PutCase(ledger.Case{
					ID:        "1",
					Namespace: "arc",
					Name:      "amber",
					Runner:    true,
					State:     ledger.StateJudged,
				}))
		})
	})
	a.Gather = func(context.Context, ledger.Case) ([]ingest.Entry, error) {
		return []ingest.Entry{{Source: ingest.Kernel, Text: "x"}}, nil
	}
	for label, want := range map[rules.Label]bool{rules.CgroupOOM: false, rules.Unknown: true} {
		a.Opinion = func(context.Context, ledger.Case) (*rules.Verdict, error) {
			v := verdict("amber", 1)
			v.Label = label
			return v, nil
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/incidents/1", nil))
		if got := strings.Contains(w.Body.String(), "What is kept of it gives"); got != want {
			t.Errorf("%s: said is %v in\n%s", label, got, w.Body)
		}
	}
}

// A case whose evidence is swept, and one that nobody knows, say so.
func TestNoIncidentFile(t *testing.T) {
	a, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) error {
			return tx.PutCase(ledger.Case{ID: "1", Name: "empty", Runner: true, State: ledger.StateJudged})
		})
	})
	for path, want := range map[string]int{"1": http.StatusGone, "2": http.StatusNotFound} {
		a.Gather = func(context.Context, ledger.Case) ([]ingest.Entry, error) { return nil, nil }
		if code, body := ask(t, h, "/api/v1/incidents/"+path); code != want || !strings.Contains(body, "error") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	a.Gather = func(context.Context, ledger.Case) ([]ingest.Entry, error) { return nil, errors.New("disk") }
	if code, body := ask(t, h, "/api/v1/incidents/1"); code != 500 || !strings.Contains(body, "disk") {
		t.Errorf("%d %s", code, body)
	}
}
