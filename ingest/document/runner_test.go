package document

import (
	"strings"
	"testing"

	"coroner/ingest"
)

func TestRunnerLines(t *testing.T) {
	checkLines(t, "out.txt", []wanted{
		{
			line: "[RUNNER 2026-05-04 10:00:00Z INFO JobDispatcher] Running",
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00Z",
			text: "Running",
		},
		{
			line:   "[WORKER 2026-05-04 10:00:00Z ERR  Worker] No",
			src:    ingest.Runner,
			text:   "No",
			fields: map[string]string{"process": "WORKER", "severity": "error", "class": "Worker"},
		},
		{
			line: "[2026-05-04 10:00:00Z INFO Listener] diag",
			src:  ingest.Runner,
			text: "diag",
			at:   "2026-05-04T10:00:00Z",
		},
		{line: "[diag] [2026-05-04 10:00:00Z INFO Listener] diag", src: ingest.Runner, text: "diag"},
		{line: "[10:00:00Z WARN Listener] cut", src: ingest.Runner, text: "cut", at: "-"},
		{
			line: "2026-05-04 10:00:00Z: Listening for Jobs",
			src:  ingest.Runner,
			text: "Listening for Jobs",
			at:   "2026-05-04T10:00:00Z",
		},
		{line: "   ⎿  2026-05-04 10:00:00Z: Listening for Jobs", src: ingest.Runner, text: "Listening for Jobs"},
		{line: "> > [RUNNER 2026-05-04 10:00:00Z INFO A] quoted", src: ingest.Runner, text: "quoted"},
		{line: "^CExiting runner...", src: ingest.Runner, text: "Exiting runner..."},
		{line: "\x1b[32m√ Connected to GitHub\x1b[0m\r", src: ingest.Runner, text: "√ Connected to GitHub"},
		{
			line: "2026-05-04T10:00:00Z RUNNER_VITALS oom=0",
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00Z",
			text: "RUNNER_VITALS oom=0",
		},
		{line: "2026-05-04T10:00:00Z run-job: no work", src: ingest.Runner, text: "run-job: no work"},
		{line: "ERROR: Job failed (system failure): no", src: ingest.Runner},
		// job logs
		{
			line: "2026-05-04T10:00:00.1234567Z ##[error]no",
			src:  ingest.Job,
			at:   "2026-05-04T10:00:00.1234567Z",
			text: "##[error]no",
		},
		{
			line: "2026-05-04T10:00:00.1234567Z May 04 10:00:00 n kernel: oom",
			src:  ingest.Job,
			text: "May 04 10:00:00 n kernel: oom",
		},
		{line: "2026-05-04T10:00:00.1234567Z Current runner version: '2.0'", src: ingest.Job},
		{
			line:   "build (x, 1)\tRun it\t\ufeff2026-05-04T10:00:00.1234567Z hello",
			src:    ingest.Job,
			text:   "hello",
			fields: map[string]string{"job": "build (x, 1)", "step": "Run it"},
		},
		{line: "##[group]x", src: ingest.Job},
		{
			line: "2026-05-04T10:00:00.123456Z 00O Running with gitlab-runner 18",
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00.123456Z",
			text: "Running with gitlab-runner 18",
		},
		// near misses
		{line: "[RUNNER] hello", src: ingest.Unknown},
		{line: "[RUNNER 2026-05-04 10:00:00Z LOUD X] hello", src: ingest.Runner}, // only a runner begins so
		{line: "[2026-05-04 10:00:00Z LOUD X] hello", src: ingest.Unknown},
		{line: "2026-05-04 10:00:00Z Listening", src: ingest.Unknown, at: "2026-05-04T10:00:00Z"},
	})
}

// TestRunnerLog: in a log that is clearly a runner's nothing is anybody else's.
func TestRunnerLog(t *testing.T) {
	line := "[RUNNER 2026-05-04 10:00:00Z INFO X] hi\n"
	doc := strings.Repeat(
		line,
		6,
	) + "[  12.345678] Out of memory\n" + `{"_TRANSPORT":"kernel","_BOOT_ID":"b","MESSAGE":"oom"}` +
		"\n__CURSOR=s=1;i=1\nordinary\n"
	entries, marks := readAll(t, Document{Name: "runner.txt"}, doc)
	for _, e := range entries {
		if e.Source != ingest.Runner {
			t.Errorf("%q: source %q", e.Text, e.Source)
		}
	}
	if len(entries) != 10 || has(marks, ingest.Mixed, ingest.Unknown) != nil {
		t.Errorf("%d entries, marks %+v", len(entries), marks)
	}
}

func TestDiagFile(t *testing.T) {
	_, marks := readAll(
		t,
		Document{Name: "_diag/Runner_20260504-100000-utc.log"},
		"[2026-05-04 10:00:00Z INFO Listener] a\n[2026-05-04 10:00:09Z INFO Listener] b\n",
	)
	c := has(marks, ingest.Covered, ingest.Runner)
	if c == nil || c.Mark.Lines != 2 || has(marks, ingest.Ended, ingest.Runner) == nil {
		t.Errorf("%+v", marks)
	}
}
