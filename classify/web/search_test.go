package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// The search box takes a label and words of a sentence, after names: a name that is one is
// found first.
func TestSearchTakesMore(t *testing.T) {
	s := open(t)
	s.add("amber", t0, func(v *rules.Verdict) { v.Summary = "The kernel killed it at its memory limit." })
	s.add("birch", t0, func(v *rules.Verdict) {
		v.Label, v.Summary, v.Job.Repository = rules.HostTeardown, "Something on the host killed it.", "o/kernel-tools"
	})
	s.add("limit-1", t0, func(v *rules.Verdict) { v.Summary = "Nobody knows." })
	s.add("fine", t0, func(v *rules.Verdict) { v.Label, v.Summary = rules.Completed, "The memory sufficed." })
	for text, to := range map[string]string{"host-teardown": "/?since=168h&verdict=host-teardown",
		"CGROUP-oom": "/?since=168h&verdict=cgroup-OOM"} {
		if w, _ := s.get("/?q=" + text); w.Code != 303 || w.Header().Get("Location") != to {
			t.Errorf("%s: %d to %s", text, w.Code, w.Header().Get("Location"))
		}
	}
	s.holds("/?q=memory+KILLED", 200, "1 runner for memory KILLED", "ci/amber", "told with these words",
		"!birch", "!fine")
	s.holds("/?q=kernel-tools", 200, "birch", "!amber")
	s.holds("/?q=killed", 200, "2 runners", "amber", "birch")
	s.holds("/?q=limit", 200, "These are runners whose names begin with limit", "!amber")
	s.holds("/?q=killed+nothing", 404, "No runner has killed nothing in its name")
	s.holds("/?q=host-tardown", 404, "Did you mean host-teardown", "words of its sentence")
	s.holds("/?q=zzz", 404, "!Did you mean")
}

// What is typed is completed: labels, runners; nothing for what no name can begin with.
func TestSuggest(t *testing.T) {
	s := open(t)
	for i := range 12 {
		s.add(fmt.Sprintf("amber-%02d", i), t0.Add(time.Duration(i)*time.Second), nil)
	}
	ask := func(text string) (out []string) {
		w, body := s.get("/suggest?q=" + url.QueryEscape(text))
		if err := json.Unmarshal([]byte(body), &out); err != nil || w.Code != 200 ||
			w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %s %v", text, w.Code, body, err)
		}
		return out
	}
	if got := ask("oom"); !slices.Contains(got, "cgroup-OOM") || !slices.Contains(got, "node-OOM") {
		t.Errorf("%v", got)
	}
	if got := ask("amb"); len(got) != 8 || !strings.HasPrefix(got[0], "amber-") {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "a", "zzz", "amber at 10:00", strings.Repeat("x", 600)} {
		if got := ask(text); got == nil || len(got) != 0 {
			t.Errorf("%.20s: %v", text, got)
		}
	}
	if got := ask("no"); len(got) == 0 { // node-OOM: two letters suffice for labels
		t.Error("no label")
	}
	_, body := s.get("/")
	if !strings.Contains(body, `list="hints"`) || !strings.Contains(body, `<option value="host-teardown">`) {
		t.Error("without a script nothing is suggested")
	}
}

// An address that nothing has is told in the frame; the API's own stay plain.
func TestNowhere(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/nothing", "/verdicts/x/y", "/%3Cscript%3E", "/assets/nope.js", "/assets/"} {
		w, body := s.get(path)
		if w.Code != 404 || !strings.Contains(body, `role="search"`) || strings.Contains(body, "<script>") ||
			w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %.300s", path, w.Code, body)
		}
	}
	s.holds("/nothing", 404, "No page has the address /nothing", "The latest deaths")
	if w, body := s.get("/api/v1/nothing"); w.Code != 404 || strings.Contains(body, "<html") {
		t.Errorf("%d %.100s", w.Code, body)
	}
}

// Who has just installed it reads what to do, and whether agents and streams arrive.
func TestBeginning(t *testing.T) {
	s := open(t)
	s.holds("/", 200, "To begin", "No agent has pushed", "No record has come", "helm upgrade --install",
		"kubectl -n arc-runners delete pod", "coroner demo", "!What coroner reads", "!only this machine")
	s.pages.LocalOnly = func() bool { return true }
	s.holds("/", 200, "No credential is configured: only this machine can push")
	s.write(t0.Add(59*time.Minute), func(tx *ledger.Tx) error {
		e := ingest.Entry{At: t0, Source: ingest.Kernel, Text: "a line"}
		if _, err := tx.AddEvidence(&e, nil, false); err != nil {
			return err
		}
		return tx.PutNodes(ledger.Node{Name: "build-7", Heard: t0.Add(50 * time.Minute)})
	})
	s.holds("/", 200, "To begin", "1 node with an agent, last heard from 10 min ago", "The last record came 1 min ago",
		"!No agent has pushed")
	s.add("amber", t0, nil)
	s.write(t0.Add(time.Hour), func(tx *ledger.Tx) error {
		return tx.PutNodes(ledger.Node{Name: "build-8", Heard: t0.Add(-50 * time.Minute), Silent: true})
	})
	s.holds("/", 200, "!To begin", "What coroner reads", "2 nodes with an agent",
		"Silent: build-8 , last heard from 1 h ago")
}

// What keeps coroner from its sources stands above everything else.
func TestTroubleComesFirst(t *testing.T) {
	s := open(t)
	s.add("amber", t0, nil)
	s.holds("/", 200, "!Attention")
	s.pages.Notes = func() []string { return []string{"namespace <b>arc</b> is not there"} }
	body := s.holds("/", 200, "Attention: namespace <b>arc</b> is not there")
	if strings.Index(body, "Attention") > strings.Index(body, `id="crowd"`) && strings.Contains(body, `id="crowd"`) ||
		strings.Index(body, "Attention") > strings.Index(body, `id="latest"`) || strings.Contains(body, "<b>arc") {
		t.Error("trouble does not come first, or is no text")
	}
}
