package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/casefile"
)

// listenerLine is a line of a listener's log, some seconds into a day.
func listenerLine(second int, message, fields string) string {
	at := time.Date(2026, 4, 7, 0, 0, second, 0, time.UTC).Format(time.RFC3339)
	return at + "\tINFO\tlistener-app.listener\t" + message + "\t" + fields + "\n"
}

func decision(second, assigned, wanted int) string {
	fields := `{"assigned job": %d, "decision": %d, "min": 0, "max": 10, "currentRunnerCount": 0}`
	return listenerLine(second, "Calculated target runner count", fmt.Sprintf(fields, assigned, wanted))
}

func replayLog(t *testing.T, name, text string) []rules.Verdict {
	t.Helper()
	entries := bundle.Bytes(name, []byte(text), bundle.Options{}).Entries(nil)
	return classify.Replay(entries, loadBook(t), classify.Options{})
}

// What lasts is open until something shows that it is over, and both times are told.
// What was over before anybody felt it is not told at all.
func TestPoolCaseOpensAndResolves(t *testing.T) {
	stuck := decision(0, 3, 0) + decision(300, 3, 0)
	for _, tt := range []struct {
		name, log string
		label     rules.Label
		state     rules.State
	}{
		{"still", stuck, rules.ListenerDown, rules.Open},
		{"over", stuck + decision(600, 3, 3), rules.ListenerDown, rules.Resolved},
		{"blip", decision(0, 3, 0) + decision(50, 3, 3), rules.None, ""},
		{"well", decision(0, 0, 0) + decision(50, 3, 3), rules.None, ""},
		{"again", stuck + decision(600, 3, 3) + decision(900, 2, 0), rules.ListenerDown, rules.Open},
	} {
		v := replayLog(t, "listener.log", tt.log)[0]
		if v.Label != tt.label || v.State != tt.state {
			t.Errorf("%s: %s %s, want %s %s", tt.name, v.Label, v.State, tt.label, tt.state)
		}
		if tt.state != "" && (v.Kind != casefile.OfPool || v.Since == nil || v.Since.Second() != 0 || v.DiedAt != nil) {
			t.Errorf("%s: %s since %v, died %v", tt.name, v.Kind, v.Since, v.DiedAt)
		}
		if (v.Until != nil) != (tt.state == rules.Resolved) {
			t.Errorf("%s: until %v", tt.name, v.Until)
		}
	}
}

// A line about one pool says nothing of another one, and a line that names none
// says nothing of either.
func TestPoolsAreToldApart(t *testing.T) {
	removed := func(pool string) string {
		return "2026-04-07T00:00:00Z\tINFO\tAutoscalingRunnerSet\tAutoscaling runner set is in outdated phase, " +
			"removing the listener\t" +
			`{"autoscalingrunnerset": {"name":"` + pool + `","namespace":"ci"}}` + "\n"
	}
	made := strings.Replace(removed("gull"), "Autoscaling runner set is in outdated phase, removing the listener",
		"Creating a new AutoscalingListener resource", 1)
	made = strings.Replace(made, "00:00:00", "00:01:00", 1)
	got := map[string]rules.State{}
	for _, v := range replayLog(t, "controller.log", removed("heron")+removed("gull")+made) {
		got[v.Pool] = v.State
	}
	if len(got) != 1 || got["heron"] != rules.Open {
		t.Errorf("%v, want heron open and nothing of gull, whose listener came back", got)
	}
}

// A listener is no runner: what it says of its pool is filed under the pool, and opens no
// case of its own pod.
func TestPoolLinesAreFiledUnderThePool(t *testing.T) {
	b := loadBook(t)
	for text, want := range map[string]bool{
		"2026-04-07T00:00:00Z\tINFO\tlistener-app.listener\tGetting next message\t{\"lastMessageID\": 4}": false,
		"2026-04-07T00:00:00Z\tINFO\tlistener-app.listener\tJob started message received.\t{\"RunnerName\": " +
			"\"a-1\"}": true,
	} {
		e := ingest.Entry{Source: ingest.Listener, Trust: ingest.Attested, Namespace: "arc", Text: text,
			Pod: "heron-754b578d-listener", PodUID: "0a0b0c0d-1111-2222-3333-444455556666"}
		f, ok := classify.File(&e, b)
		if !ok || f.Runner != want || (len(f.Subjects) > 0) != want {
			t.Errorf("%s: filed %v, a runner %v of %v, want %v", text, ok, f.Runner, f.Subjects, want)
		}
		if names := fmt.Sprint(f.Standing); !want && !strings.HasPrefix(names, "[{pool heron ") {
			t.Errorf("%s: filed under the pools %s", text, names)
		}
		e.Pod = "listener"
		if _, ok := classify.File(&e, b); ok != want {
			t.Errorf("%s: of a pool without a name: filed %v", text, ok)
		}
	}
}

// What a listener says of its own session is told of its pool, and not once more of a runner without a name.
func TestListenersTroubleIsItsPools(t *testing.T) {
	text := "2026-04-07T00:00:00Z\tERROR\tlistener-app.listener\tfailed to refresh message session\t{\"error\": " +
		"\"actions error: StatusCode 404, session ID that doesn't exist\"}\n" +
		"2026/04/07 00:00:01 Application returned an error: failed to refresh message session: StatusCode 404\n"
	entries := bundle.Bytes("a.log", []byte(text), bundle.Options{}).Entries(nil)
	got := classify.Replay(entries, loadBook(t), classify.Options{})
	if len(got) != 1 || got[0].Label != "listener-down" {
		t.Errorf("%d verdicts, the first %s", len(got), got[0].Label)
	}
}

// A controller speaks of runners, in whatever form it writes an object, and never of the
// pod that it is in: what names no runner is about none.
func TestControllersOwnPodIsMeantByNoLineOfIt(t *testing.T) {
	b := loadBook(t)
	for object, want := range map[string]string{
		`, "ephemeralrunner": {"name":"heron-x7k2m-runner-9qwzt","namespace":"ci"}`: "heron-x7k2m-runner-9qwzt",
		`, "ephemeralrunner": "ci/heron-x7k2m-runner-9qwzt"`:                        "heron-x7k2m-runner-9qwzt",
		`, "ephemeralrunner": "a/b/c"`:                                              "",
		"":                                                                          "",
	} {
		e := ingest.Entry{Source: ingest.Controller, Trust: ingest.Attested, Namespace: "arc",
			Pod: "arc-gha-rs-controller-594d85965-tnmkc", PodUID: "0a0b0c0d-1111-2222-3333-444455556666",
			Text: "2026-04-07T00:00:00Z\tINFO\tEphemeralRunner\tEphemeral runner container failed\t" +
				`{"exitCode": 1` + object + `}`}
		f, ok := classify.File(&e, b)
		var got string
		for _, s := range f.Subjects {
			got += s.Namespace + "/" + s.Name
		}
		if want != "" {
			want = "ci/" + want
		}
		if !ok || got != want {
			t.Errorf("%s: filed %v, of %q, want %q", object, ok, got, want)
		}
	}
}

// A record that says how long something has been wrong already tells since when it is.
func TestTroubleBeganBeforeItWasTold(t *testing.T) {
	at := time.Date(2026, 4, 7, 10, 11, 0, 0, time.UTC)
	e := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Kube, Trust: ingest.Attested, Namespace: "ci",
		Text: "runner counts pool=heron", Fields: map[string]string{"msg": "runner counts", "pool": "heron",
			"pending": "0", "running": "0", "failed": "2", "lasts": "660"}}
	v := classify.JudgeStanding(slices.Values([]ingest.Entry{e}), loadBook(t), casefile.OfPool, "", "heron")
	if want := at.Add(-11 * time.Minute); v.Label != rules.PoolBlocked || v.Since == nil || !v.Since.Equal(want) {
		t.Errorf("%s since %v, want %v", v.Label, v.Since, want)
	}
}
