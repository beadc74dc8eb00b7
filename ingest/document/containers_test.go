package document

import (
	"slices"
	"strings"
	"testing"

	"coroner/ingest"
)

const (
	testUID = "00000000-1111-2222-3333-444444444444"
	runPath = "x/pods/ci_pool-runner-a_" + testUID + "/runner/0.log"
)

func TestPathIdentity(t *testing.T) {
	id, static := strings.Repeat("ab", 32), "0123456789abcdef0123456789abcdef"
	for name, want := range map[string]ingest.Container{
		runPath: {Namespace: "ci", Pod: "pool-runner-a", UID: testUID, Name: "runner"},
		"ci_p_" + static + "/c/3.log.20260504-100000": {Namespace: "ci", Pod: "p", UID: static, Name: "c"},
		"containers/p_ci_c-" + id + ".log":            {Namespace: "ci", Pod: "p", Name: "c", ID: id},
		id + "-json.log":                              {ID: id},
		"dump/ci/p/logs.txt":                          {Namespace: "ci", Pod: "p"},
	} {
		if s := (Document{Name: name}).streamOfPath(); s == nil || s.Container != want {
			t.Errorf("%s: %+v, want %+v", name, s, want)
		}
	}
	for _, name := range []string{"", "runner/0.log", "ci_p_nouid/c/0.log", "a_b_c.log", "journal.jsonl",
		"controller.log"} {
		if s := (Document{Name: name}).streamOfPath(); s != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestCRI(t *testing.T) {
	checkLines(t, runPath, []wanted{
		{
			line: "2026-05-04T10:00:00.5Z stdout F hello",
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00.5Z",
			pod:  "ci/pool-runner-a/runner",
			text: "hello",
		},
		{
			line:   "2026-05-04T10:00:00.5Z stdout F [RUNNER 2026-05-04 09:59:59Z INFO JobDispatcher] hi",
			src:    ingest.Runner,
			at:     "2026-05-04T10:00:00.5Z",
			text:   "hi",
			fields: map[string]string{"process": "RUNNER", "class": "JobDispatcher", "severity": "info"},
		},
		// whatever a job prints stays the runner's text
		{
			line: "2026-05-04T10:00:00.5Z stdout F May 04 10:00:00 node-a kernel: oom",
			src:  ingest.Runner,
			text: "May 04 10:00:00 node-a kernel: oom",
		},
		{line: "2026-05-04T10:00:00.5Z stdout F 2026-05-04T10:00:00.5Z stdout F again", src: ingest.Runner},
		{
			line: `2026-05-04T10:00:00.5Z stdout F {"_TRANSPORT":"kernel","_BOOT_ID":"b","MESSAGE":"oom"}`,
			src:  ingest.Runner,
			text: `{"_TRANSPORT":"kernel","_BOOT_ID":"b","MESSAGE":"oom"}`,
		},
		{
			line: `{"_TRANSPORT":"kernel","_BOOT_ID":"b","MESSAGE":"oom"}`,
			src:  ingest.Runner,
			text: `{"_TRANSPORT":"kernel","_BOOT_ID":"b","MESSAGE":"oom"}`,
		},
		{
			line: "[pod/other/manager] hi",
			src:  ingest.Runner,
			pod:  "ci/pool-runner-a/runner",
			text: "[pod/other/manager] hi",
		},
		{
			line: `{"log":"hello\n","stream":"stdout","time":"2026-05-04T10:00:00.5Z"}`,
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00.5Z",
			text: "hello",
		},
	})
}

func TestStreamSources(t *testing.T) {
	pods := func(pod, container string) string { return "ci_" + pod + "_" + testUID + "/" + container + "/0.log" }
	zap := "2026-05-04T10:00:00Z stdout F 2026-05-04T10:00:00Z\tINFO\tEphemeralRunner\thi"
	for _, tt := range []struct {
		name, line string
		src        ingest.Source
		trust      ingest.Trust
	}{
		{pods("arc-controller-1", "manager"), zap, ingest.Controller, ingest.Attested},
		{pods("pool-listener", "listener"), zap, ingest.Listener, ingest.Attested},
		{pods("pool-listener", "listener"), "2026-05-04T10:00:00Z stdout F plain", ingest.Job, ingest.Claimed},
		{pods("pool-runner-a", "dind"), zap, ingest.Job, ingest.Claimed},
		{pods("api-1", "main"), zap, ingest.Job, ingest.Claimed},
		{pods("api-1", "main"), "2026-05-04T10:00:00Z stdout F √ Connected to GitHub", ingest.Runner, ingest.Claimed},
		{pods("arc-controller-1", "manager"), "2026-05-04T10:00:00Z stdout F [RUNNER 2026-05-04 10:00:00Z INFO X] hi",
			ingest.Runner, ingest.Claimed},
		{"some.log", "2026-05-04T10:00:00Z stdout F plain", ingest.Job, ingest.Claimed},
		{"some.log", zap, ingest.Controller, ingest.Claimed},
	} {
		if e := one(t, tt.name, tt.line); e.Source != tt.src || e.Trust != tt.trust {
			t.Errorf("%s: %q: source %q trust %d, want %q %d", tt.name, tt.line, e.Source, e.Trust, tt.src, tt.trust)
		}
	}
}

// What the operator names is a controller, whatever it is called; what prints
// a runner's lines is none, and a listener stays one.
func TestNamedControllers(t *testing.T) {
	d := Document{Controller: ingest.PodGlobs{"ops/dispatcher-*", "ops/gha-runner-broker-*", "jobs/*"}.Name}
	const zap, at = "2026-05-04T10:00:00Z\tINFO\thi", "2026-05-04T10:00:00Z stdout F "
	for _, tt := range []struct {
		pod, line string
		src       ingest.Source
		trust     ingest.Trust
	}{
		{"ops_dispatcher-0_" + testUID + "/dispatcher", at + zap, ingest.Controller, ingest.Attested},
		{"ops_dispatcher-0_" + testUID + "/main", at + "plain", ingest.Controller, ingest.Attested},
		{"ops_gha-runner-broker-0_" + testUID + "/runner", at + zap, ingest.Controller, ingest.Attested},
		{"ops_dispatcher-listener_" + testUID + "/main", at + zap, ingest.Listener, ingest.Attested},
		{"ops_dispatcher-0_" + testUID + "/dispatcher", at + "√ Connected to GitHub", ingest.Runner, ingest.Claimed},
		{"ci_dispatcher-0_" + testUID + "/dispatcher", at + zap, ingest.Job, ingest.Claimed},
		{"ops_other-0_" + testUID + "/dispatcher", at + zap, ingest.Job, ingest.Claimed},
		{"jobs_pool-runner-a-workflow_" + testUID + "/job", at + zap, ingest.Job, ingest.Claimed},
		{"jobs_pool-runner-a_" + testUID + "/runner", at + zap, ingest.Runner, ingest.Claimed},
		{"", "ops dispatcher-0 main " + zap, ingest.Controller, ingest.Attested},
		{"", "ci dispatcher-0 main " + zap, ingest.Job, ingest.Claimed},
	} {
		if d.Name = ""; tt.pod != "" {
			d.Name = tt.pod + "/0.log"
		}
		entries, _ := readAll(t, d, tt.line)
		if len(entries) != 1 || entries[0].Source != tt.src || entries[0].Trust != tt.trust {
			t.Errorf("%s: %q: %+v, want %q %d", tt.pod, tt.line, entries, tt.src, tt.trust)
		}
	}
}

// TestWholeStream: what a later line proves holds for the first ones too.
func TestWholeStream(t *testing.T) {
	doc := "2026-05-04T10:00:00Z stdout F boot\n2026-05-04T10:00:01Z stdout F 2026-05-04T10:00:01Z RUNNER_VITALS " +
		"oom=0\n"
	entries, _ := readAll(t, Document{Name: "ci_p_" + testUID + "/main/0.log"}, doc)
	for _, e := range entries {
		if e.Source != ingest.Runner {
			t.Errorf("%q: source %q", e.Text, e.Source)
		}
	}
}

func TestSplitLines(t *testing.T) {
	doc := "2026-05-04T10:00:00Z stdout P one \n2026-05-04T10:00:01Z stdout P two \n" +
		"2026-05-04T10:00:02Z stdout F three\n2026-05-04T10:00:03Z stdout P torn"
	entries, marks := readAll(t, Document{Name: runPath}, doc)
	if len(entries) != 2 || entries[0].Text != "one two three" || entries[1].Text != "torn" {
		t.Fatalf("%+v", entries)
	}
	if c := has(marks, ingest.Covered, ingest.Runner); c == nil || c.Mark.Lines != 2 || c.Pod != "pool-runner-a" ||
		c.PodUID != testUID {
		t.Errorf("covered: %+v", c)
	}
	if has(marks, ingest.Ended, ingest.Runner) == nil {
		t.Error("not ended")
	}
}

func TestEmptyStream(t *testing.T) {
	_, marks := readAll(t, Document{Name: runPath}, "")
	c, e := has(marks, ingest.Covered, ingest.Runner), has(marks, ingest.Ended, ingest.Runner)
	if c == nil || e == nil || c.Mark.Lines != 0 || !c.Mark.From.IsZero() {
		t.Errorf("%+v", marks)
	}
	if _, marks := readAll(t, Document{Name: "empty.log"}, ""); len(marks) != 0 {
		t.Errorf("nameless empty document: %+v", marks)
	}
}

func TestPrefixes(t *testing.T) {
	zap := "2026-05-04T10:00:00Z\tINFO\tlistener-app.listener\thi"
	checkLines(t, "kubectl.txt", []wanted{
		{
			line: "[pod/pool-runner-a/runner] [RUNNER 2026-05-04 10:00:00Z ERR  Terminal] hi",
			src:  ingest.Runner,
			pod:  "/pool-runner-a/runner",
			text: "hi",
			at:   "2026-05-04T10:00:00Z",
		},
		{
			line: "[pod/pool-runner-a/runner] 2026-05-04T10:00:00.5Z hi",
			src:  ingest.Runner,
			text: "hi",
			at:   "2026-05-04T10:00:00.5Z",
		},
		{
			line:  "[pod/pool-listener/listener] " + zap,
			src:   ingest.Listener,
			trust: ingest.Attested,
			pod:   "/pool-listener/listener",
			text:  zap,
			at:    "2026-05-04T10:00:00Z",
		},
		{line: "[pod/arc-controller-1/manager] " + zap, src: ingest.Controller, trust: ingest.Attested},
		{
			line: "[pod/pool-runner-a/runner] May 04 10:00:00 n kernel: oom",
			src:  ingest.Runner,
			text: "May 04 10:00:00 n kernel: oom",
		},
		{line: "[pod/x] hi", src: ingest.Unknown, text: "[pod/x] hi"},
		{
			line: "pool-runner-a runner [RUNNER 2026-05-04 10:00:00Z INFO X] hi",
			src:  ingest.Runner,
			pod:  "/pool-runner-a/runner",
			text: "hi",
		},
		{
			line:  "ci arc-controller-1 manager " + zap,
			src:   ingest.Controller,
			trust: ingest.Attested,
			pod:   "ci/arc-controller-1/manager",
		},
		{
			line: "runner-1  | √ Connected to GitHub",
			src:  ingest.Runner,
			pod:  "//runner-1",
			text: "√ Connected to GitHub",
		},
		{line: "some words here", src: ingest.Unknown, pod: "//"},
	})
}

func TestStern(t *testing.T) {
	doc := "+ ci pool-runner-a › runner\nci pool-runner-a runner plain text\n- ci pool-runner-a › runner\n"
	entries, marks := readAll(t, Document{}, doc)
	if len(entries) != 1 || entries[0].Pod != "pool-runner-a" || entries[0].Text != "plain text" {
		t.Fatalf("%+v", entries)
	}
	if c := has(marks, ingest.Covered, ingest.Runner); c == nil || c.Namespace != "ci" || c.Mark.Lines != 1 {
		t.Errorf("%+v", marks)
	}
}

// The runtime can write a line of one output between the parts of the other's.
func TestSplitLinesOfTwoOutputs(t *testing.T) {
	const at = "2026-05-04T10:00:00Z "
	entries, _ := readAll(
		t,
		Document{Name: runPath},
		at+"stdout P aaa \n"+at+"stderr F bbb\n"+at+"stderr P x\n"+at+"stdout F ccc\n",
	)
	var got []string
	for _, e := range entries {
		got = append(got, e.Text)
	}
	if want := []string{"bbb", "aaa ccc", "x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file's name is a hint: lines in the form of another program are that program's.
func TestNameAgainstForm(t *testing.T) {
	klog := func(file string) string {
		return "I0504 10:00:00.000000    1021 " + file + `:42] "Said something" pod="ci/a"` + "\n"
	}
	listener := `{"level":"info","ts":"2026-05-04T10:00:00Z","logger":"listener-app.listener","msg":"hi"}` + "\n"
	maker := `{"level":"info","ts":"2026-05-04T10:00:00Z","logger":"AutoscalingListener","msg":"hi"}` + "\n"
	for _, tt := range []struct {
		name, line string
		src        ingest.Source
		trust      ingest.Trust
	}{
		{"shutdown-manager.log", klog("nodeshutdown_manager_linux.go"), ingest.Kubelet, ingest.Attested},
		{"kubelet-shutdown-manager.log", klog("server.go"), ingest.Kubelet, ingest.Attested},
		{"controller.log", klog("kuberuntime_container.go"), ingest.Kubelet, ingest.Attested},
		{"controller.log", klog("static_autoscaler.go"), ingest.Controller, ingest.Attested},
		{"listener-gone.log", maker, ingest.Controller, ingest.Claimed},
		{"kubelet-and-arc.log", maker, ingest.Controller, ingest.Claimed},
		{"controller.log", listener, ingest.Listener, ingest.Claimed},
		{"controller.log", maker, ingest.Controller, ingest.Attested},
		{"listener.log", listener, ingest.Listener, ingest.Attested},
	} {
		if e := one(t, tt.name, tt.line); e.Source != tt.src || e.Trust != tt.trust {
			t.Errorf("%s: %q is %q's with trust %d", tt.name, e.Text, e.Source, e.Trust)
		}
	}
}

// What people handed on under a controller's name is a claim.
func TestNameOfPaste(t *testing.T) {
	zap := "2026-05-04T10:00:00Z\tINFO\tEphemeralRunner\tyes\t{\"a\": \"b\"}\n"
	for _, doc := range []string{"```\n" + zap + "```\n", "## Seen\n\n" + zap, zap + "</details>\n"} {
		_, marks := readAll(t, Document{Name: "controller.log"}, doc)
		if has(marks, ingest.Mixed, ingest.Unknown) == nil {
			t.Errorf("%q is believed", doc)
		}
	}
	entries, _ := readAll(t, Document{Name: "controller.log", Pasted: true}, zap)
	if len(entries) != 1 || entries[0].Source != ingest.Controller || entries[0].Trust != ingest.Claimed {
		t.Errorf("%+v", entries)
	}
}
