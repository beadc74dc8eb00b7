package push

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// answer is what a handler says to a push of entries, why it refused it, and with
// whose name it handed them on.
func answer(t *testing.T, id *Identity, headers []string, entries ...ingest.Entry) (int, string, *Identity) {
	t.Helper()
	reason, got := "", (*Identity)(nil)
	req := agentRequest(t, entries)
	req.Header.Del(AgentHeader)
	for _, h := range headers {
		req.Header.Add(AgentHeader, h)
	}
	if id != nil {
		req = req.WithContext(WithIdentity(req.Context(), *id))
	}
	w := httptest.NewRecorder()
	NewHandler(Limits{}, nil, func(ctx context.Context, _ []ingest.Entry) error {
		id, _ := IdentityFrom(ctx)
		got = &id
		return nil
	}, func(r string) { reason = r }).ServeHTTP(w, req)
	return w.Code, reason, got
}

// The credential's node, the header and the labels agree, or nothing is taken.
func TestAnAgentSpeaksForItsNodeOnly(t *testing.T) {
	line := func(node string) ingest.Entry {
		return ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Kernel, Node: node, Text: "x"}
	}
	proven := &Identity{Cluster: "blue", Node: "n1", Agent: true}
	shared, unnamed := &Identity{Cluster: "blue"}, &Identity{Node: "n1", Agent: true}
	blue := line("n1")
	blue.Cluster = "blue"
	for _, tt := range []struct {
		what    string
		id      *Identity
		headers []string
		entries []ingest.Entry
		want    *Identity
	}{
		{"nothing is proven", nil, []string{"n1"}, []ingest.Entry{line("n1")}, &Identity{Node: "n1", Agent: true}},
		{"all three agree", proven, []string{"n1"}, []ingest.Entry{line("n1")}, proven},
		{"a shared token names a cluster", shared, []string{"n1"}, []ingest.Entry{line("n1")}, proven},
		{"a shared token, a shipper", shared, nil, []ingest.Entry{line("n1")}, shared},
		{"its cluster too", proven, []string{"n1"}, []ingest.Entry{blue}, proven},
		{"of a server without a name", unnamed, []string{"n1"}, []ingest.Entry{line("n1")}, unnamed},
		{"a label of another node", nil, []string{"n1"}, []ingest.Entry{line("n1"), line("n2")}, nil},
		{"no label", nil, []string{"n1"}, []ingest.Entry{line("")}, nil},
		{"another header than the credential", proven, []string{"n2"}, []ingest.Entry{line("n2")}, nil},
		{"another header, right labels", proven, []string{"n2"}, []ingest.Entry{line("n1")}, nil},
		{"an agent as a shipper", proven, nil, []ingest.Entry{line("n1")}, nil},
		{"an empty header", proven, []string{""}, []ingest.Entry{line("n1")}, nil},
		{"an empty header of nobody", nil, []string{""}, []ingest.Entry{line("")}, nil},
		{"blanks", nil, []string{"  "}, []ingest.Entry{line("  ")}, nil},
		{"capitals", nil, []string{"MILL-3"}, []ingest.Entry{line("MILL-3")}, nil},
		{"a slash", nil, []string{"ci/n1"}, []ingest.Entry{line("ci/n1")}, nil},
		{"a control character", nil, []string{"n\x1b1"}, []ingest.Entry{line("n\x1b1")}, nil},
		{"a line break", nil, []string{"n1\nn2"}, []ingest.Entry{line("n1\nn2")}, nil},
		{"a star", nil, []string{"*"}, []ingest.Entry{line("*")}, nil},
		{"300 letters", nil, []string{strings.Repeat("n", 300)}, []ingest.Entry{line(strings.Repeat("n", 300))}, nil},
		{"253 letters", nil, []string{strings.Repeat("n", 253)}, []ingest.Entry{line(strings.Repeat("n", 253))},
			&Identity{Node: strings.Repeat("n", 253), Agent: true}},
		{"a name with points", nil, []string{"ip-10-0-0-1.ec2.internal"},
			[]ingest.Entry{line("ip-10-0-0-1.ec2.internal")},
			&Identity{Node: "ip-10-0-0-1.ec2.internal", Agent: true}},
		{"two headers", nil, []string{"n1", "n2"}, []ingest.Entry{line("n1")}, nil},
		{"a longer name", proven, []string{"n1"}, []ingest.Entry{line("n1.evil")}, nil},
		{"another case", proven, []string{"N1"}, []ingest.Entry{line("N1")}, nil},
	} {
		code, reason, got := answer(t, tt.id, tt.headers, tt.entries...)
		if tt.want == nil && (code != http.StatusForbidden || reason != "node" || got != nil) {
			t.Errorf("%s: %d %q, handed on as %v", tt.what, code, reason, got)
		}
		if tt.want != nil && (code != http.StatusNoContent || got == nil || *got != *tt.want) {
			t.Errorf("%s: %d %q, handed on as %v, want %v", tt.what, code, reason, got, tt.want)
		}
	}
}

// Who proves its node proves its cluster: that of a server without a name is one too,
// and no label makes it another's.
func TestAnAgentSpeaksForItsClusterOnly(t *testing.T) {
	e := ingest.Entry{Source: ingest.Kernel, Node: "n1", Cluster: "west", Text: "x"}
	for id, reason := range map[Identity]string{{Node: "n1", Agent: true}: "cluster",
		{Cluster: "east", Node: "n1", Agent: true}: "cluster", {Cluster: "west", Node: "n1", Agent: true}: "", {}: ""} {
		code, got, _ := answer(t, &id, []string{"n1"}, e)
		if got != reason || (code == http.StatusNoContent) != (reason == "") {
			t.Errorf("%+v: %d %q, want %q", id, code, got, reason)
		}
	}
}

// What no agent reads is not taken from one: the API server's and GitHub's word,
// coroner's own, a controller's line that stands in no pod's log.
func TestAgentsReadJournalsAndPodLogs(t *testing.T) {
	mark := func(kind ingest.MarkKind) *ingest.Mark {
		return &ingest.Mark{Kind: kind, From: at, To: at.Add(time.Second)}
	}
	pod := func(source ingest.Source, text string) ingest.Entry {
		return ingest.Entry{Source: source, Namespace: "ci", Pod: "p", PodUID: "u", Text: text}
	}
	for _, tt := range []struct {
		what  string
		e     ingest.Entry
		taken bool
	}{
		{"kernel", ingest.Entry{Source: ingest.Kernel, Text: "x"}, true},
		{"a mark without a source", ingest.Entry{Mark: mark(ingest.Reached)}, true},
		{"how far it has read", ingest.Entry{Source: ingest.Agent, Mark: mark(ingest.Reached)}, true},
		{"a container's output", pod(ingest.Runner, "x"), true},
		{"a controller's log", pod(ingest.Controller, "x"), true},
		{"a source of a later version", ingest.Entry{Source: "moon", Trust: ingest.Attested, Text: "x"}, true},
		{"the audit log", pod("audit", "x"), false},
		{"the audit log in capitals", pod("Audit", "x"), false},
		{"objects in capitals", pod("KUBE", "x"), false},
		{"the API server", ingest.Entry{Source: "kube-apiserver", Text: "x"}, false},
		{"events", pod("events", "x"), false},
		{"an object", pod(ingest.Kube, "pod gone"), false},
		{
			"a namespace's coverage", ingest.Entry{Source: ingest.Kube, Namespace: "ci", Mark: mark(ingest.Covered)},
			false,
		},
		{"GitHub", pod(ingest.GitHub, "job"), false},
		{
			"that an agent is silent", ingest.Entry{Source: ingest.Agent, Text: `coroner agent of node "n1" is silent`},
			false,
		},
		{"a gap of coroner's", ingest.Entry{Source: ingest.Agent, Mark: mark(ingest.Gap)}, false},
		{"how far a pod was read", ingest.Entry{Source: ingest.Agent, PodUID: "u", Mark: mark(ingest.Reached)}, false},
		{"a controller of no pod", ingest.Entry{Source: ingest.Controller, Text: "x"}, false},
		{"a listener of no namespace", ingest.Entry{Source: ingest.Listener, Pod: "l", Text: "x"}, false},
		{"the coverage of no controller", ingest.Entry{Source: ingest.Controller, Mark: mark(ingest.Covered)}, false},
	} {
		tt.e.Node, tt.e.At, tt.e.Clock = "n1", at, ingest.WallClock
		code, reason, _ := answer(t, nil, []string{"n1"}, tt.e)
		if tt.taken != (code == http.StatusNoContent) || !tt.taken && (code != http.StatusForbidden ||
			reason != "source") {
			t.Errorf("%s: %d %q", tt.what, code, reason)
		}
	}
}

// A relay hands on what its cluster's Kubernetes API says, and how far it has watched; it
// is on no node, in no other cluster, and has no word of its own.
func TestARelaySpeaksForItsAPIServer(t *testing.T) {
	mark := func(kind ingest.MarkKind) *ingest.Mark {
		return &ingest.Mark{Kind: kind, From: at, To: at.Add(time.Second)}
	}
	east, unnamed := Identity{Cluster: "east", Relay: true}, Identity{Relay: true}
	kube := ingest.Entry{Source: ingest.Kube, Namespace: "ci", Pod: "p", PodUID: "u", Text: "pod deleted"}
	of := func(change func(*ingest.Entry)) ingest.Entry {
		e := kube
		change(&e)
		return e
	}
	for _, tt := range []struct {
		what    string
		id      Identity
		headers []string
		e       ingest.Entry
		reason  string // "" = taken
	}{
		{"an object", east, nil, kube, ""},
		{"of a node", east, nil, of(func(e *ingest.Entry) { e.Node = "n1" }), ""},
		{"of its cluster", east, nil, of(func(e *ingest.Entry) { e.Cluster = "east" }), ""},
		{"of the server's own", unnamed, nil, kube, ""},
		{"what was watched", east, nil, of(func(e *ingest.Entry) { e.Mark = mark(ingest.Covered) }), ""},
		{"what was missed", east, nil, of(func(e *ingest.Entry) { e.Mark = mark(ingest.Gap) }), ""},

		{"of another cluster", east, nil, of(func(e *ingest.Entry) { e.Cluster = "west" }), "cluster"},
		{"of another than the server's own", unnamed, nil, of(func(e *ingest.Entry) { e.Cluster = "west" }), "cluster"},
		{"as an agent", east, []string{"n1"}, of(func(e *ingest.Entry) { e.Node = "n1" }), "node"},
		{"how far an agent has read", east, nil, of(func(e *ingest.Entry) { e.Mark = mark(ingest.Reached) }), "source"},
		{"the kernel", east, nil, of(func(e *ingest.Entry) { e.Source = ingest.Kernel }), "source"},
		{"a runner", east, nil, of(func(e *ingest.Entry) { e.Source = ingest.Runner }), "source"},
		{"a controller", east, nil, of(func(e *ingest.Entry) { e.Source = ingest.Controller }), "source"},
		{"GitHub", east, nil, of(func(e *ingest.Entry) { e.Source = ingest.GitHub }), "source"},
		{"coroner", east, nil, of(func(e *ingest.Entry) { e.Source = ingest.Agent }), "source"},
		{"the audit log", east, nil, of(func(e *ingest.Entry) { e.Source = "audit" }), "source"},
	} {
		tt.e.At, tt.e.Clock = at, ingest.WallClock
		code, reason, got := answer(t, &tt.id, tt.headers, tt.e)
		if reason != tt.reason || (code == http.StatusNoContent) != (reason == "") || reason == "" && *got != tt.id {
			t.Errorf("%s: %d %q, want %q; handed on as %v", tt.what, code, reason, tt.reason, got)
		}
	}
}

// A later version's agent may say more: what nobody knows makes no mark of a line
// and trusts nothing.
func TestWhatALaterVersionSays(t *testing.T) {
	var e ingest.Entry
	if err := setField(&e, "shoe_size", "43"); err != nil || e.Mark != nil {
		t.Errorf("%v %+v", err, e.Mark)
	}
	if got := knownSource("Kernel"); got != ingest.Unknown || !got.Forgeable() {
		t.Errorf("%q", got)
	}
}
