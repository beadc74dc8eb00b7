package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"coroner/rules"
)

// What decides stands before everything else that can be long, and says whose it is.
func TestWhatDecidesComesFirst(t *testing.T) {
	s := open(t)
	s.add("amber", t0, func(v *rules.Verdict) {
		v.Evidence = append(
			v.Evidence,
			rules.EvidenceLine{At: &t0, Source: "kernel", Signal: "kernel.oom-kill", Text: "oom-kill: a neighbour",
				Of: "ci/birch"},
			rules.EvidenceLine{
				At:       &t0,
				Source:   "kubelet",
				Signal:   "k",
				Text:     "second proof",
				Decisive: true,
				Mine:     true,
			},
			rules.EvidenceLine{At: &t0, Source: "containerd", Signal: "c", Text: "third proof", Decisive: true},
		)
		v.Advice = "Give it more memory."
	})
	s.add("quiet", t0, func(v *rules.Verdict) { v.Evidence[0].Decisive = false })
	body := s.holds("/runners/ci/amber", 200, "10:00:00 kernel oom-kill: told", "kubelet second proof",
		"1 more line decides it too", "oom-kill: a neighbour (of ci/birch )")
	if first := strings.Index(body, `class="proof"`); first < 0 || first > strings.Index(body, `class="facts"`) ||
		first > strings.Index(body, "Give it more memory") {
		t.Error("what decides does not come first")
	}
	if body := s.holds("/runners/ci/quiet", 200); strings.Contains(body, `class="proof"`) {
		t.Error("a line that decides nothing is shown as what decides")
	}
}

// A long line loses its middle, not its end, and no half of a character.
func TestCutMiddle(t *testing.T) {
	for text, want := range map[string]string{
		"abcdef": "abcdef", "abcdefg": "abc…fg", "ääbbbbbbüü": "ääb…üü", "": "",
	} {
		if got := cutMiddle(text, 3, 2); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A click leads to the job and to the logs where a flag says where those are; what a job
// printed makes no address.
func TestWaysOut(t *testing.T) {
	s := open(t)
	s.add("amber", t0, func(v *rules.Verdict) { v.Job = rules.Job{ID: "77", RunID: "12", Repository: "o/r"} })
	s.add("birch", t0, func(v *rules.Verdict) { v.Job = rules.Job{ID: "a-guid", RunID: "12", Repository: "o/r"} })
	s.add("cedar", t0, func(v *rules.Verdict) { v.Job = rules.Job{RunID: "12", Repository: "o/r/../../evil?x"} })
	s.add("dune", t0, func(v *rules.Verdict) { v.Job = rules.Job{RunID: "1/2", Repository: "o/r"} })
	if body := s.holds("/runners/ci/amber", 200); strings.Contains(body, "https://") {
		t.Error("an address that nobody named")
	}
	s.pages.Links = Links{GitHub: "https://github.example/", Grafana: "https://grafana.example", DataSource: "loki-1"}
	for name, want := range map[string]string{
		"amber": `href="https://github.example/o/r/actions/runs/12/job/77"`,
		"birch": `href="https://github.example/o/r/actions/runs/12"`,
		"cedar": "", "dune": "",
	} {
		_, body := s.get("/runners/ci/" + name)
		if want == "" && strings.Contains(body, "https://github.example") || !strings.Contains(body, want) {
			t.Errorf("%s: want %s", name, want)
		}
	}
	body := s.holds("/runners/ci/amber", 200, "The runner's log in Grafana", "The node's journal in Grafana")
	for _, want := range []string{`href="https://grafana.example/explore?panes=`, "%7Bnamespace%3D%5C%22ci%5C%22%7D",
		"pod%3D%5C%22amber%5C%22", "%22uid%22%3A%22loki-1%22", "1777887900000"} { // 15 minutes before t0
		if !strings.Contains(body, want) {
			t.Errorf("Grafana's address lacks %s", want)
		}
	}
}

// The list is sorted by what its column shows, says how long ago that is, and renews itself
// unless that was stopped, or older ones are read.
func TestListIsSortedByWhatItShows(t *testing.T) {
	s := open(t)
	died := t0.Add(-5 * time.Hour) // long before it is judged
	s.add("early", t0.Add(-3*time.Minute), nil)
	s.add("later", t0, func(v *rules.Verdict) { v.DiedAt = &died })
	s.add("yesterday", t0.Add(-21*time.Hour), nil)
	s.add("last", t0.Add(20*time.Minute), nil)
	body := s.holds("/", 200, "39 min ago", "59 min ago", "1 h ago", "died 05:00:00",
		"died 05-03 13:00:00")
	if got := regexp.MustCompile(`ci/(early|later|last)\?case`).FindAllStringSubmatch(body, -1); len(got) != 3 ||
		got[0][1] != "last" || got[1][1] != "later" || got[2][1] != "early" {
		t.Errorf("order %v", got)
	}
	body = body[strings.Index(body, `id="latest"`):]
	shown := regexp.MustCompile(`<td class="times"><time datetime="([^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(shown) != 4 {
		t.Errorf("%d times", len(shown))
	}
	for i := range shown {
		if i > 0 && shown[i][1] > shown[i-1][1] {
			t.Errorf("%s stands below %s", shown[i][1], shown[i-1][1])
		}
	}
	if !strings.Contains(body, `title="2026-05-04 10:01:00Z"`) {
		t.Error("a time that is told as an age lacks the time itself")
	}
	for path, want := range map[string]bool{"/": true, "/?still=1": false, "/?until=2026-05-04T10:10:00Z": false} {
		_, body := s.get(path)
		for _, sign := range []string{`<noscript><meta http-equiv="refresh" content="30"></noscript>`,
			`data-refresh="30"`} {
			if strings.Contains(body, sign) != want {
				t.Errorf("%s: renews itself is not %v", path, want)
			}
		}
	}
}

// An age is told in one unit, whatever it is.
func TestAges(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s ago", 59 * time.Second: "59 s ago", time.Minute: "1 min ago", time.Hour - 1: "59 min ago",
		time.Hour: "1 h ago", 47 * time.Hour: "47 h ago", 48 * time.Hour: "2 days ago", -90 * time.Second: "in 1 min",
	} {
		if got := timeAgo(t0, t0.Add(-d)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if got := timeAgo(t0, (*time.Time)(nil)); got != "—" {
		t.Errorf("no time: %q", got)
	}
}

// The picture shows so much time as was asked for; a mark leads to its line.
func TestZoom(t *testing.T) {
	s := open(t)
	s.add("amber", t0, func(v *rules.Verdict) {
		early := t0.Add(-30 * time.Minute)
		v.Evidence = append([]rules.EvidenceLine{
			{At: &early, Source: "runner", Signal: "r", Text: "half an hour before", Mine: true}}, v.Evidence...)
	})
	marks := func(path string) int {
		_, body := s.get(path)
		return strings.Count(body, `class="said"`) + strings.Count(body, `class="decides" x1`)
	}
	body := s.holds("/runners/ci/amber", 200, "What was read of the 10 minutes before", "09:50:00", "node: kernel",
		"runtime: kubelet")
	if !strings.Contains(body, "&amp;zoom=1h#timeline") || !strings.Contains(body, `<a href="#line-2"`) ||
		!strings.Contains(body, `<tr id="line-2"`) {
		t.Error("no way to another stretch of time, or from a mark to its line")
	}
	s.holds("/runners/ci/amber?zoom=1h", 200, "What was read of the 1 hour before", "09:00:00")
	s.holds("/runners/ci/amber?zoom=nonsense", 200, "What was read of the 10 minutes before")
	if a, b := marks("/runners/ci/amber"), marks("/runners/ci/amber?zoom=1h"); a != 1 || b != 2 {
		t.Errorf("%d and %d marks, want 1 and 2", a, b)
	}
}

// The pages reach nothing but the server that they came from.
func TestPolicy(t *testing.T) {
	s := open(t)
	w, _ := s.get("/")
	csp := w.Header().Get("Content-Security-Policy")
	if w.Code != http.StatusOK || !strings.Contains(csp, "connect-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("%d %s", w.Code, csp)
	}
}

// Who can unpack a page gets it packed, everybody else plain; both are the same page.
func TestPacked(t *testing.T) {
	s := open(t)
	for i := range 120 {
		s.add(fmt.Sprint("r-", i), t0, nil)
	}
	ask := func(accept string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, "/?still=1", nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", accept)
		s.mux.ServeHTTP(w, r)
		return w
	}
	plain := ask("").Body.String()
	for accept, want := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "br": false} {
		w := ask(accept)
		if w.Header().Get("Content-Encoding") == "gzip" != want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", accept, w.Header())
		}
		if !want {
			continue
		}
		if w.Body.Len() > 40_000 {
			t.Errorf("%d bytes", w.Body.Len())
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || string(text) != plain {
			t.Errorf("%s: another page: %v", accept, err)
		}
	}
}
