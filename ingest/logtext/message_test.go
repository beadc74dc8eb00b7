package logtext

import (
	"strings"
	"testing"

	"coroner/ingest"
)

func TestMessage(t *testing.T) {
	tests := []struct {
		text, msg string
		fields    map[string]string
	}{
		// klog text
		{
			`I0504 10:00:00.000001    1234 kubelet.go:99] "SyncLoop DELETE" source="api" pods=["ci/a","ci/b"]`,
			"SyncLoop DELETE",
			map[string]string{"source": "api", "pods": `["ci/a","ci/b"]`, "severity": "info"},
		},
		{
			`E0504 10:00:00.000001 1 x.go:1] "Boom" err="it said \"no\"" pod="ci/a"`,
			"Boom",
			map[string]string{"err": `it said "no"`, "pod": "ci/a", "severity": "error"},
		},
		{
			`I0504 10:00:00.000001 1 x.go:1] "PLEG" pod="ci/a" event={"ID":"u1","Type":"ContainerDied","Data":"c1"}`,
			"PLEG",
			map[string]string{"event.ID": "u1", "event.Type": "ContainerDied", "event.Data": "c1"},
		},
		{`I0504 10:00:00.000001 1 x.go:1] "PLEG" pod="ci/a" event=&{ID:u1 Type:ContainerDied Data:c1}`, "PLEG",
			map[string]string{"event.ID": "u1", "event.Type": "ContainerDied", "event.Data": "c1"}},
		{
			`... eviction.go:7] "Eviction manager: attempting" resourceName="memory"`,
			"Eviction manager: attempting",
			map[string]string{"resourceName": "memory"},
		},
		{
			`W0504 10:00:00.000001 1 old.go:12] no quotes here`,
			"no quotes here",
			map[string]string{"severity": "warning"},
		},
		{`I0504 10:00:00.000001 1 x.go:1] "cut off in the mi`, "cut off in the mi", nil},
		// klog JSON
		{
			`{"ts":1777888800000.5,"caller":"a/b.go:1","msg":"Killing","v":2,"pod":{"name":"p","namespace":"ci"},` +
				`"gracePeriod":30}`,
			"Killing",
			map[string]string{"pod": "ci/p", "pod.name": "p", "gracePeriod": "30", "v": "2"},
		},
		// logrus
		{
			`time="2026-05-04T10:00:00Z" level=info msg="StopContainer for \"abc\" with timeout 30 (s)" id=7`,
			`StopContainer for "abc" with timeout 30 (s)`,
			map[string]string{"id": "7", "level": "info", "severity": "info"},
		},
		{
			`{"level":"info","msg":"shim disconnected","time":"2026-05-04T10:00:00Z","id":"x"}`,
			"shim disconnected",
			map[string]string{"id": "x"},
		},
		// slog
		{
			`time=2026-05-04T10:00:00.000Z level=INFO source=a/b.go:7 msg="Updating job info" component=worker ` +
				`runnerName=r1`,
			"Updating job info",
			map[string]string{"runnerName": "r1", "component": "worker"},
		},
		// zap
		{
			"2026-05-04T10:00:00Z\tINFO\tEphemeralRunner\tPod gone\t{\"ephemeralrunner\": {\"name\":\"r1\"," +
				"\"namespace\":\"ci\"}, \"exitCode\": 137}",
			"Pod gone",
			map[string]string{
				"logger":               "EphemeralRunner",
				"ephemeralrunner":      "ci/r1",
				"ephemeralrunner.name": "r1",
				"exitCode":             "137",
			},
		},
		{
			"2026-05-04T10:00:00Z\tINFO\trunner pod gone\t{\"pool\": \"big\"}",
			"runner pod gone",
			map[string]string{"pool": "big", "severity": "info"},
		},
		{"INFO\tsetup\tmain.go:3\tstarting", "starting", map[string]string{"caller": "main.go:3"}},
		{
			`{"severity":"error","ts":"2026-05-04T10:00:00Z","logger":"EphemeralRunner","message":"failed",` +
				`"state":{"exitCode":9,"reason":"Error"},"list":[1,2]}`,
			"failed",
			map[string]string{"state.exitCode": "9", "state.reason": "Error", "list": "[1,2]"},
		},
		{
			`2026-05-04T10:00:00.1Z ERROR controller-runtime.controller Reconciler error {"controller": "runner"}`,
			"Reconciler error",
			map[string]string{"controller": "runner", "logger": "controller-runtime.controller"},
		},
		// words, then pairs
		{
			`2026-05-04T10:00:00Z INFO runner pod gone pod=r1 exitCode=137 reason=Error`,
			"runner pod gone",
			map[string]string{"pod": "r1", "exitCode": "137"},
		},
		{
			`ERROR: Job failed (system failure): prepare: no  duration_s=1.5 job=7 project=3`,
			"ERROR: Job failed (system failure): prepare: no",
			map[string]string{"job": "7"},
		},
	}
	for _, tt := range tests {
		e := ingest.Entry{Text: tt.text}
		msg, fields, ok := Message(&e, nil)
		if !ok || msg != tt.msg {
			t.Errorf("%s\n  msg %q ok %v, want %q", tt.text, msg, ok, tt.msg)
		}
		for k, v := range tt.fields {
			if fields.Get(k) != v {
				t.Errorf("%s\n  %s = %q, want %q", tt.text, k, fields.Get(k), v)
			}
		}
	}
}

// TestMessagePlain: text that is not structured is its own message.
func TestMessagePlain(t *testing.T) {
	for _, text := range []string{
		"", "hello", "[not] a klog line", "unit: Main process exited, code=killed, status=9/KILL", "a=b",
		"x.go:7: syntax error",
		"Error cleaning up: no", "{not json", "msg", "time flies", "see file.go:12] maybe",
	} {
		e := ingest.Entry{Text: text}
		if msg, _, ok := Message(&e, nil); msg != text || ok && text != "see file.go:12] maybe" {
			if text == "see file.go:12] maybe" {
				continue
			}
			t.Errorf("%q: msg %q ok %v", text, msg, ok)
		}
	}
	e := ingest.Entry{Text: "kind words", Fields: map[string]string{"msg": "given", "a": "b"}}
	if msg, fields, ok := Message(&e, nil); msg != "given" || len(fields) > 0 || !ok {
		t.Errorf("given message: %q %v %v", msg, fields, ok)
	}
	e = ingest.Entry{Source: ingest.Kata, Text: "plain", Fields: map[string]string{"SOURCE": "s1"}}
	if msg, fields, ok := Message(&e, nil); msg != "plain" || len(fields) > 0 || ok {
		t.Errorf("fields beside plain text: %q %v %v", msg, fields, ok)
	}
}

// Of several fields with one name the last counts, in a list as in a map, and the
// JSON behind a line hides nothing that stands before it.
func TestFieldsOfOneName(t *testing.T) {
	for text, want := range map[string]string{
		`time="2026-05-04T10:00:00Z" level=info msg=m pod=first pod=second`:               "second",
		`{"msg":"m","level":"info","pod":"first","pod":"second"}`:                         "second",
		"2026-05-04T10:00:00Z\tINFO\tpod\tm\t{\"pod\":\"first\",\"pod\":\"second\"}":      "second",
		"2026-05-04T10:00:00Z\tINFO\tours\tm\t{\"logger\":\"theirs\",\"pod\":\"second\"}": "second",
	} {
		_, fields, ok := Message(&ingest.Entry{Text: text}, nil)
		if got := fields.Map()["pod"]; !ok || fields.Get("pod") != want || got != want {
			t.Errorf("%s: pod %q and %q, want %q", text, fields.Get("pod"), got, want)
		}
		if strings.Contains(text, "theirs") && fields.Get("logger") != "ours" {
			t.Errorf("%s: logger %q", text, fields.Get("logger"))
		}
	}
}

// One field given twice is one: it makes no message of a sentence.
func TestOneFieldGivenTwice(t *testing.T) {
	for text, want := range map[string]string{
		"exit status=137 status=137":                             "exit status=137 status=137",
		"exit status=137 code=137":                               "exit",
		`server.go:12] "OOM" killed=a killed=a and more`:         `"OOM" killed=a killed=a and more`,
		`server.go:12] "OOM" killed=a by=b and more`:             "OOM",
		`I0504 10:00:00.000001    1 a.go:1] "OOM" killed=a more`: "OOM",
	} {
		if msg, _, _ := Message(&ingest.Entry{Text: text}, nil); msg != want {
			t.Errorf("%s: %q, want %q", text, msg, want)
		}
	}
}

// What a caller put into the room stays in front.
func TestFieldsBehindRoom(t *testing.T) {
	room := append(make(Fields, 0, 9), Field{"mine", "1"})
	for _, text := range []string{"plain", `time="2026-05-04T10:00:00Z" level=info msg=m pod=first`,
		`I0504 10:00:00.000001       1 a.go:1] "m" pod="first"`} {
		_, fields, ok := Message(&ingest.Entry{Text: text}, room)
		if fields.Get("mine") != "1" || ok && fields.Get("pod") != "first" {
			t.Errorf("%s: %v", text, fields)
		}
	}
}

func BenchmarkMessage(b *testing.B) {
	e := ingest.Entry{
		Source: ingest.Kubelet,
		Text: `I0504 10:00:00.000001     777 prober.go:120] "Probe failed" probeType="Liveness" ` +
			`pod="ci/pool-runner-1" podUID="00000000-1111-2222-3333-444444444444"`,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := Message(&e, nil); !ok {
			b.Fatal("not split")
		}
	}
}

// Many programs that are written in Go print the form of containerd's: a field that it does not know says so.
func TestFormOfManyPrograms(t *testing.T) {
	const head = `time="2026-05-04T10:00:00Z" level=info msg="exited: see \" job=1\"" `
	for fields, want := range map[string]ingest.Source{
		"id=1f2e namespace=k8s.io":              ingest.Containerd,
		"namespace=builds workflow=forge-1":     ingest.Unknown,
		"job=12 project=3 runner=glrt-1":        ingest.Unknown,
		`error="the job=12 is not a container"`: ingest.Containerd,
	} {
		if got, _ := ProgramOf(head + fields); got != want {
			t.Errorf("%s: %s", fields, got)
		}
	}
}
