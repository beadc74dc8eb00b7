package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/fixtures/shipped"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/manual"

	"github.com/rs/zerolog"
	"golang.org/x/net/html"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// site is the pages over a ledger that a test fills; it is an hour after t0.
type site struct {
	t      testing.TB
	ledger *ledger.Ledger
	pages  *Pages
	mux    *http.ServeMux
}

func newSite(t testing.TB, path string) *site {
	t.Helper()
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	rulebook := shipped.Rulebook(t)
	now := func() time.Time { return t0.Add(time.Hour) }
	s := &site{t: t, ledger: l, mux: http.NewServeMux()}
	s.pages = &Pages{API: &lookup.API{Source: l, Now: now}, Charts: l, Log: zerolog.Nop(), Now: now,
		Manual: func(l rules.Label) (manual.Page, bool) { return manual.PageOf(rulebook, l, nil) }}
	s.pages.API.Register(s.mux)
	s.pages.Register(s.mux, s.mux)
	return s
}

func (s *site) write(at time.Time, f func(tx *ledger.Tx) error) {
	s.t.Helper()
	if err := s.ledger.Write(s.t.Context(), at, f); err != nil {
		s.t.Fatal(err)
	}
}

// add records a runner's verdict; change makes it what the test wants.
func (s *site) add(name string, died time.Time, change func(*rules.Verdict)) {
	s.t.Helper()
	code := 137
	v := &rules.Verdict{Runner: name, Namespace: "ci", Node: "build-7", PodUID: "uid-" + name, Pool: "big",
		Label: rules.CgroupOOM, Confidence: rules.Confirmed,
		Domain: "workload", Initiator: "kernel", Retry: "useless", Rule: "cgroup-OOM-kernel-kill",
		JudgedBy: rules.JudgedBy{Rulebook: "abc"},
		Revision: 1, DiedAt: &died,
		Exit: rules.Exit{Code: &code, Reason: "OOMKilled"},
		Job:  rules.Job{Name: "build", RunID: "12", Repository: "o/r"}, Summary: "The kernel killed it.",
		Evidence: []rules.EvidenceLine{
			{
				At:       &died,
				Source:   "kernel",
				Signal:   "kernel.oom-kill",
				Text:     "oom-kill: told",
				Decisive: true,
				Mine:     true,
			},
		},
		Coverage: []casefile.Span{{Source: "kernel", From: died.Add(-10 * time.Minute), To: died}}}
	if change != nil {
		change(v)
	}
	s.write(died.Add(time.Minute), func(tx *ledger.Tx) error {
		id := ledger.NewCaseID(v.Cluster, v.Namespace, v.Runner, v.PodUID)
		return errors.Join(tx.AddVerdict(id, v, died, false), tx.PutCase(ledger.Case{ID: id,
			Cluster: v.Cluster, Namespace: v.Namespace, Name: v.Runner, UID: v.PodUID, Node: v.Node,
			Runner: true, State: ledger.StateJudged, Opened: died.Add(-time.Hour), Heard: died, Revision: v.Revision}))
	})
}

func (s *site) get(path string) (*httptest.ResponseRecorder, string) {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w, w.Body.String()
}

// holds checks a page's status and what it must and must not hold.
func (s *site) holds(path string, code int, wants ...string) string {
	s.t.Helper()
	w, body := s.get(path)
	if w.Code != code {
		s.t.Errorf("%s: status %d, want %d", path, w.Code, code)
	}
	text := visible(s.t, body)
	for _, want := range wants {
		not := strings.HasPrefix(want, "!")
		if strings.Contains(text, strings.TrimPrefix(want, "!")) == not {
			s.t.Errorf("%s: %q is not as wanted in\n%s", path, want, text)
		}
	}
	return body
}

// visible is the text of a page.
func visible(t testing.TB, page string) string {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func open(t testing.TB) *site { return newSite(t, filepath.Join(t.TempDir(), "l.db")) }

// A responder reads on one page what happened, why it is believed, what was not
// read, who else died, and takes it elsewhere.
func TestAutopsy(t *testing.T) {
	s := open(t)
	s.add("amber", t0, func(v *rules.Verdict) {
		before, after := t0.Add(-3*time.Second), t0.Add(2*time.Second)
		v.Evidence = append([]rules.EvidenceLine{
			{At: &before, Source: "runner", Text: "Running job: build", Mine: true},
		}, v.Evidence...)
		v.Evidence = append(v.Evidence,
			rules.EvidenceLine{At: &after, Source: "controller", Text: "exit code 137", Mine: true})
		v.Coverage = append(v.Coverage,
			casefile.Span{
				Source: "kubelet",
				From:   t0.Add(-2 * time.Second),
				To:     t0.Add(-time.Second),
				Lost:   "journald suppressed 40 messages",
			})
		v.RuledOut = []rules.RuledOut{{Label: rules.NodeOOM, Because: "no global OOM"}}
		v.Open = []rules.OpenLabel{{Label: rules.ChildOOM, Needs: "the job's log"}}
		v.Missing = []string{"the controller's log: not in what was read"}
		v.Advice = "Give it more memory."
	})
	s.add("birch", t0.Add(time.Minute), nil)
	body := s.holds("/runners/ci/amber", 200, "cgroup-OOM", "confirmed", "ci/amber", "The kernel killed it.",
		"2026-05-04 10:00:00Z", "137 OOMKilled",
		"Running the job again is useless", "Give it more memory.",
		"2 of the 2 runners on this node died within 10 minutes", "birch",
		"journald suppressed 40 messages", "no global OOM", "would be decided by the job's log",
		"the controller's log: not in what was read",
		`{job="coroner"} | runner="amber"`, "kubectl get events -n ci --field-selector involvedObject.name=amber",
		"**cgroup-OOM** (confirmed)",
		"rule cgroup-OOM-kernel-kill of rulebook abc")
	order := regexp.MustCompile(`(?s)Running job: build.*Gap:.*oom-kill: told.*exit code 137`)
	if !order.MatchString(body) {
		t.Error("the timeline is not in the order of time, with its gap")
	}
	if n := strings.Count(body, `class="decisive">`); n != 1 {
		t.Errorf("%d rows decide", n)
	}
	for _, want := range []string{
		`href="/api/v1/runners/uid-amber"`,
		`href="/api/v1/incidents/` + ledger.NewCaseID("", "ci", "amber", "uid-amber"), `href="/runners/ci/amber?case=`,
		`href="/verdicts/cgroup-OOM"`, `class="lost"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(body, "http-equiv") {
		t.Error("a page with a verdict asks again and again")
	}
}

// A case without a verdict says where it stands, and its page asks again.
func TestNoVerdictYet(t *testing.T) {
	s := open(t)
	s.pages.API.Opinion = func(_ context.Context, c ledger.Case) (*rules.Verdict, error) {
		return &rules.Verdict{Runner: c.Name, Label: rules.GuestOOM, Confidence: rules.Suspected, DiedAt: &t0}, nil
	}
	s.write(t0, func(tx *ledger.Tx) error {
		return errors.Join(tx.PutCase(ledger.Case{
			ID:     "1",
			Name:   "alive",
			Runner: true,
			State:  ledger.StateOpen,
			Heard:  t0,
		}),
			tx.PutCase(ledger.Case{ID: "2", Name: "dying", Runner: true, State: ledger.StateEnding, Heard: t0}))
	})
	for path, want := range map[string]struct {
		says  string
		again bool
	}{
		"/runners/alive":         {"It has not ended as far as is known; last heard of 2026-05-04 10:00:00Z", false},
		"/runners/dying":         {"No verdict yet: this is what it would be now", true},
		"/runners/dying?still=1": {"Let this page renew itself", false},
	} {
		if body := s.holds(path, 200, want.says); strings.Contains(body,
			`http-equiv="refresh" content="5"`) != want.again {
			t.Errorf("%s: asks again is not %v", path, want.again)
		}
	}
	s.holds("/runners/dying", 200, "guest-OOM", "stop that")
}

// Names that mean several runners give the choice; nobody gives the ways to ask.
func TestChoice(t *testing.T) {
	s := open(t)
	s.add("amber-1", t0, nil)
	s.add("amber-2", t0, nil)
	body := s.holds("/?q=amber", 200, "2 runners for amber")
	for _, link := range []string{`href="/runners/ci/amber-1?case=`, `href="/runners/ci/amber-2?case=`} {
		if !strings.Contains(body, link) {
			t.Errorf("lacks %s", link)
		}
	}
	s.holds("/runners/amber", 200, "2 runners for amber")
	s.holds("/runners/amber-", 200, "2 runners for amber-", "These are runners whose names begin with amber-")
	s.holds("/?q=nobody", 404, "No runner has nobody in its name", "a node with a time")
	s.holds("/runners/nobody", 404, "No runner has nobody in its name")
	s.holds("/?q=https://github.com/o/r", 400, "this address names no job")
	s.holds("/?q="+strings.Repeat("x", 513), 400, "too long")
	for text, to := range map[string]string{"amber-1": pathOf("amber-1"), "uid-amber-2": pathOf("amber-2")} {
		if w, _ := s.get("/?q=" + url.QueryEscape(text)); w.Code != 303 || w.Header().Get("Location") != to {
			t.Errorf("%s: %d to %s", text, w.Code, w.Header().Get("Location"))
		}
	}
}

func pathOf(name string) string {
	return lookup.PagePath(casefile.OfRunner, "ci", name, ledger.NewCaseID("", "ci", name, "uid-"+name))
}

// A name that only begins like one runner's is not that runner: the page says
// so, and does not show its post-mortem as the answer.
func TestNoGuessIsAnAnswer(t *testing.T) {
	s := open(t)
	s.add("runner-10", t0, nil)
	for _, path := range []string{"/runners/ci/runner-1", "/?q=runner-1"} {
		s.holds(path, 200, "1 runner for", "These are runners whose names begin with", "!Timeline")
	}
}

// An address stays that of one pod when another takes its name.
func TestPermalink(t *testing.T) {
	s := open(t)
	s.add("again", t0.Add(-time.Hour), func(v *rules.Verdict) { v.PodUID, v.Summary = "uid-1", "The first." })
	s.add("again", t0, func(v *rules.Verdict) { v.PodUID, v.Summary = "uid-2", "The second." })
	s.holds("/runners/ci/again", 200, "2 runners for ci/again")
	for uid, want := range map[string]string{"uid-1": "The first.", "uid-2": "The second."} {
		body := s.holds("/runners/"+uid, 200, want)
		link := regexp.MustCompile(`href="(/runners/ci/again\?case=[0-9a-f]+)"`).FindStringSubmatch(body)
		if link == nil {
			t.Fatal("no permanent address")
		}
		s.holds(link[1], 200, want)
	}
	s.holds("/runners/ci/again?case=none", 404)
	s.add("other", t0, nil)
	id := ledger.NewCaseID("", "ci", "other", "uid-other")
	for _, path := range []string{"/runners/ci/again?case=" + id, "/runners/?case=" + id, "/runners/other?case=" + id} {
		if w, _ := s.get(path); w.Code != 303 || w.Header().Get("Location") != pathOf("other") {
			t.Errorf("%s: %d to %s; an address that names another runner shows this one", path, w.Code,
				w.Header().Get("Location"))
		}
	}
	s.holds(pathOf("other"), 200, "ci/other", "Timeline")
	for _, odd := range []string{"a b%2F?#", "..", "ü'\"&=", "x:y@z"} {
		s.add(odd, t0, func(v *rules.Verdict) { v.PodUID = "uid-" + odd })
		s.holds(pathOf(odd), 200, "Timeline")
	}
}

// The list shows deaths, filters them, counts them, and goes on to older ones.
func TestList(t *testing.T) {
	s := open(t)
	s.holds("/", 200, "None in this time")
	for i := range 120 {
		s.add(fmt.Sprintf("r-%03d", i), t0.Add(-time.Duration(i)*time.Minute), func(v *rules.Verdict) {
			v.Label = []rules.Label{rules.CgroupOOM, rules.HostTeardown, rules.Completed}[i%3]
			v.Node = []string{"build-7", "build-8"}[i%2]
			v.Pool = []string{"big", "small"}[i%2]
			v.Job.Repository = []string{"o/r", "o/s"}[i%2]
		})
	}
	s.holds("/", 200, "80 verdicts in this time", "r-000", "r-001", "!r-002", "host-teardown 40", "cgroup-OOM 40",
		"!completed 40")
	s.holds("/?verdict=all", 200, "120 verdicts", "completed 40", "Older ones")
	s.holds("/?verdict=completed", 200, "40 verdicts", "r-002", "!r-001")
	s.holds("/?verdict=completed,host-teardown", 200, "80 verdicts", "r-001", "r-002", "!r-000")
	s.holds("/?verdict=host-teardown&node=build-8&since=30m", 200, "!r-000")
	s.holds("/?node=build-8", 200, "40 verdicts", "r-001", "!r-000")
	s.holds("/?pool=small&repository=o/s", 200, "40 verdicts", "r-001", "!r-000")
	s.holds("/?repository=o/none", 200, "None in this time")
	s.holds("/?verdict=oom", 400, `verdict="oom"`)
	s.holds("/?since=yesterday", 400, `since="yesterday"`)
	body := s.holds("/?verdict=all", 200)
	older := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body)
	if older == nil {
		t.Fatal("no way to the older ones")
	}
	s.holds(strings.ReplaceAll(older[1], "&amp;", "&"), 200, "r-119", "!r-000")
}

// What the charts draw is what their tables say.
func TestCharts(t *testing.T) {
	s := open(t)
	for i := range 7 {
		s.add(fmt.Sprintf("r-%d", i), t0, func(v *rules.Verdict) { v.Node = []string{"build-7", "build-8"}[i/4] })
	}
	s.add("late", t0.Add(30*time.Minute), func(v *rules.Verdict) { v.Label = rules.HostTeardown })
	body := s.holds("/", 200, "2026-05-04 10:00:00Z 7 7 cgroup-OOM", "2026-05-04 10:30:00Z 1 1 host-teardown",
		"when they were judged", "build-7 5", "build-8 3")
	if !strings.Contains(body, "<title>2026-05-04 10:00:00Z: 7 cgroup-OOM</title>") ||
		strings.Count(body, `<rect class="f-memory"`) != 3 {
		t.Error("the picture lacks a part")
	}
}

// Whatever stands in a log is text, on every page: it is escaped, cleaned and
// cut, and no page may run or load anything else.
func TestHostileText(t *testing.T) {
	s := open(t)
	evil := "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{.}}\x1b[31m\u202eabc\u2066\x00\u200b\u2028</" +
		"pre></textarea>" + strings.Repeat(
		"A",
		100_000,
	)
	s.add("x\"><script>alert(3)</script>", t0, func(v *rules.Verdict) {
		v.Namespace, v.Node, v.Pool, v.Summary, v.Initiator, v.Advice, v.Resource = evil, evil, evil, evil, evil, evil,
			evil
		v.Exit.Reason, v.Rule, v.Rulebook, v.Domain = evil, evil, evil, evil
		v.Job = rules.Job{Name: evil, ID: evil, RunID: evil, Repository: evil, Step: evil}
		v.Evidence = append(v.Evidence,
			rules.EvidenceLine{At: &t0, Source: evil, Text: evil, Where: evil, Mine: true},
			rules.EvidenceLine{Source: "runner", Text: `{"msg":"` + evil})
		v.RuledOut, v.Open, v.Missing = []rules.RuledOut{
			{Label: rules.NodeOOM, Because: evil},
		}, []rules.OpenLabel{{Label: rules.ChildOOM, Needs: evil}}, []string{evil}
		v.Coverage = append(v.Coverage, casefile.Span{Source: evil, From: t0.Add(-time.Minute), To: t0, Lost: evil})
		v.PodUID = "uid"
	})
	for _, path := range []string{"/runners/uid", "/runners/uid?all=1", "/", "/?q=" + url.QueryEscape(evil[:100]),
		"/?node=" + url.QueryEscape(evil[:200]), "/verdicts/" + url.PathEscape(evil[:100]),
		"/runners/" + url.PathEscape(evil[:100]), "/?since=" + url.QueryEscape(evil[:60]),
		"/?verdict=" + url.QueryEscape(evil[:60])} {
		w, body := s.get(path)
		harmless(t, path, body)
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if len(body) > 1_000_000 {
			t.Errorf("%s: %d bytes", path, len(body))
		}
	}
}

// harmless says whether a page has only the elements and attributes of its templates.
func harmless(t *testing.T, path, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "script" && (n.FirstChild != nil ||
			!strings.HasPrefix(attr(n, "src"), "/assets/coroner.js?")) || n.Data == "img" &&
			n.Type == html.ElementNode {
			t.Errorf("%s: an element that no template has: %s", path, n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "action") &&
				!strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%s: %s=%q", path, a.Key, a.Val)
			}
		}
		if n.Type == html.TextNode && strings.ContainsFunc(n.Data, func(r rune) bool {
			return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		}) {
			t.Errorf("%s: %.80q", path, n.Data)
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Each verdict has a page of its meaning.
func TestLabels(t *testing.T) {
	s := open(t)
	all := s.holds("/verdicts/", 200)
	for _, l := range rules.Labels {
		if !strings.Contains(all, `href="/verdicts/`+string(l)+`"`) {
			t.Errorf("%s is not in the list", l)
		}
		s.holds("/verdicts/"+string(l), 200, "What "+string(l)+" means")
	}
	s.holds("/verdicts/nothing", 404, "There is no verdict nothing")
}

// Whoever cannot see or use a mouse finds names on everything that is used.
func TestAccessible(t *testing.T) {
	s := open(t)
	s.add("amber", t0, nil)
	for _, path := range []string{"/", "/runners/ci/amber", "/verdicts/", "/verdicts/cgroup-OOM"} {
		_, body := s.get(path)
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		ids, h1 := map[string]bool{}, 0
		for n := range doc.Descendants() {
			if id := attr(n, "id"); id != "" && ids[id] {
				t.Errorf("%s: two elements are called %s", path, id)
			} else if id != "" {
				ids[id] = true
			}
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "h1":
				h1++
			case "html":
				if attr(n, "lang") == "" {
					t.Errorf("%s: no language", path)
				}
			case "svg":
				if attr(n, "aria-label") == "" && attr(n, "aria-hidden") != "true" {
					t.Errorf("%s: a picture without words", path)
				}
			case "input", "select":
				if n.Parent.Data != "label" && attr(n, "id") != "q" {
					t.Errorf("%s: field %s has no label", path, attr(n, "name"))
				}
			}
		}
		if h1 != 1 || !ids["main"] || !strings.Contains(body, `href="#main"`) {
			t.Errorf("%s: %d main headings, or no way past the menu", path, h1)
		}
	}
}

// A ledger that cannot be read is said to be, in a page.
func TestServerFails(t *testing.T) {
	s := open(t)
	if err := s.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/runners/amber", "/?q=amber"} {
		s.holds(path, 500, "The ledger could not be read")
	}
}

// What the ledger holds is told with the time as of which it is: that at which it was asked
// for. A server that cannot read its ledger shows nothing that looks current, and what comes
// from no ledger has no such time.
func TestAsOf(t *testing.T) {
	s := open(t)
	s.add("amber", t0, nil)
	const header, told = "X-Coroner-As-Of", "2026-05-04T11:00:00Z"
	pages := []string{"/", "/runners/ci/amber", "/?q=nobody"}
	answers := []string{"/api/v1/verdicts", "/api/v1/runners/amber", "/api/v1/search?q=amber",
		"/api/v1/runners/nobody"}
	for _, path := range pages {
		now := t0.Add(time.Hour)
		s.pages.Now = func() time.Time { // each look at the clock finds it later
			defer func() { now = now.Add(time.Minute) }()
			return now
		}
		w, body := s.get(path)
		if text := visible(t, body); w.Header().Get(header) != told || !strings.Contains(text, "as of 11:00:00 UTC") {
			t.Errorf("%s: %q, %s", path, w.Header().Get(header), text)
		}
	}
	for _, path := range answers {
		if w, _ := s.get(path); w.Header().Get(header) != told {
			t.Errorf("%s: %d, as of %q", path, w.Code, w.Header().Get(header))
		}
	}
	if err := s.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(append(pages, answers...), "/api/v1/verdicts?limit=none", "/api/v1/labels/none") {
		w, body := s.get(path)
		if w.Code < 400 || w.Header().Get(header) != "" || strings.Contains(visible(t, body), "as of") {
			t.Errorf("%s without a ledger: %d, as of %q", path, w.Code, w.Header().Get(header))
		}
	}
	if w, body := s.get("/verdicts/cgroup-OOM"); w.Code != 200 || w.Header().Get(header) != "" ||
		strings.Contains(body, `id="asof"`) {
		t.Errorf("what the rulebook says has a time: %d, %q", w.Code, w.Header().Get(header))
	}
}

// Styles and script are there, and may be kept as long as they are the same.
func TestAssets(t *testing.T) {
	s := open(t)
	_, page := s.get("/")
	found := regexp.MustCompile(`/assets/[a-z.]+\?v=[0-9a-f]+`).FindAllString(page, -1)
	if len(found) != 3 {
		t.Fatalf("%v", found)
	}
	for _, path := range found {
		if w, body := s.get(path); w.Code != 200 || body == "" ||
			!strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	r, packed := httptest.NewRequest(http.MethodGet, found[0], nil), httptest.NewRecorder()
	r.Header.Set("Accept-Encoding", "gzip")
	s.mux.ServeHTTP(packed, r)
	if _, plain := s.get(found[0]); packed.Header().Get("Content-Encoding") != "gzip" ||
		packed.Body.Len() >= len(plain) {
		t.Errorf("%s: %d bytes of %d, %v", found[0], packed.Body.Len(), len(plain), packed.Header())
	}
}

// What the pages load needs no token, and the pages are only where they were told to be.
func TestAssetsAreOpen(t *testing.T) {
	s, guarded, anybody := open(t), http.NewServeMux(), http.NewServeMux()
	s.pages.Register(guarded, anybody)
	for path, want := range map[string]int{"/assets/style.css": 200, "/assets/none.css": 404, "/": 404,
		"/runners/x": 404} {
		w := httptest.NewRecorder()
		anybody.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// Who may not read the pages reads why in their frame, which is as safe as the others.
func TestRefuse(t *testing.T) {
	s, w := open(t), httptest.NewRecorder()
	s.pages.Refuse(w, httptest.NewRequest(http.MethodGet, "/", nil), "they ask for a <token>", http.StatusUnauthorized)
	body := w.Body.String()
	harmless(t, "refused", body)
	if w.Code != 401 || !strings.Contains(body, "they ask for a &lt;token&gt;") ||
		!strings.Contains(body, "<h1>Unauthorized</h1>") ||
		!strings.Contains(body, `href="/assets/style.css?`) || w.Header().Get("Content-Security-Policy") != policy {
		t.Errorf("%d %v %s", w.Code, w.Header(), body)
	}
}

// Eyes tell eight colours apart: each label has that of its family, and each family one.
func TestColours(t *testing.T) {
	s := open(t)
	_, css := s.get("/assets/style.css")
	if len(familyOrder) > 8 {
		t.Errorf("%d colours", len(familyOrder))
	}
	for _, f := range familyOrder {
		if !strings.Contains(css, ".f-"+f+" {") {
			t.Errorf("family %s has no colour", f)
		}
	}
	for _, l := range rules.Labels {
		if own := families[l]; own == "" && l != rules.Unknown && l != rules.None || familyRank(l) < 0 {
			t.Errorf("%s is of no family", l)
		}
	}
	if familyOf("a-label-of-their-own") != "unknown" {
		t.Error("a label that a rulebook adds has no colour")
	}
}
