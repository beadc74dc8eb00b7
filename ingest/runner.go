package ingest

import (
	"strings"
)

// levels are the four letters that the runner writes for a severity.
var levels = map[string]string{"CRIT": "critical", "ERR": "error", "WARN": "warning", "INFO": "info", "VERB": "debug"}

// peelRunner: what the actions runner writes to stdout when
// ACTIONS_RUNNER_PRINT_LOG_TO_STDOUT is set (since v2.296), to its _diag files,
// and what a tailer makes of those:
//
//	[RUNNER 2026-05-04 10:00:00Z INFO JobDispatcher] text
//	[2026-05-04 10:00:00Z ERR  Terminal] text
//	[diag] [2026-05-04 10:00:00Z INFO JobDispatcher] text
//
// The severity, the class and the process become fields.
func peelRunner(r *reader, d *draft, s string) (string, bool) {
	if inner, ok := strings.CutPrefix(s, "[diag] "); ok {
		return inner, true
	}
	process, head := "", s[1:]
	for _, p := range []string{"RUNNER", "WORKER"} {
		if inner, ok := strings.CutPrefix(head, p+" "); ok {
			process, head = p, inner
		}
	}
	st, ok := isoStamp(head)
	if !ok {
		st, ok = dayStamp(head)
	}
	if !ok || st.zone == nil || len(head) == st.size || head[st.size] != ' ' {
		return s, false
	}
	place, text, ok := strings.Cut(head[st.size+1:], "]")
	level, class, both := strings.Cut(place, " ")
	if !ok || !both || levels[level] == "" {
		return s, false
	}
	if d.Clock != WallClock && st.year != 0 {
		r.times.put(&d.Entry, st)
	}
	d.Fields = map[string]string{"severity": levels[level], "class": strings.TrimSpace(class)}
	if process != "" {
		d.Fields["process"] = process
	}
	return strings.TrimPrefix(text, " "), true
}

// dayStamp reads a time of day, `15:04:05Z`, of which the date was cut away.
func dayStamp(s string) (st stamp, ok bool) {
	if len(s) < 9 || !digit(s[0]) || !st.clock(s, 0) {
		return st, false
	}
	st.readZone(s)
	return st, true
}

// peelConsole: the runner's console, `2026-05-04 10:00:00Z: Listening for Jobs`.
func peelConsole(r *reader, d *draft, s string) (string, bool) {
	if len(s) < 22 || s[10] != ' ' || s[19] != 'Z' || s[20] != ':' {
		return s, false
	}
	st, ok := isoStamp(s)
	if !ok {
		return s, false
	}
	if d.Clock != WallClock {
		r.times.put(&d.Entry, st)
	}
	return strings.TrimLeft(s[21:], " "), true
}

// starts is a set of beginnings of lines, by their first byte.
type starts [256][]string

func newStarts(all ...string) *starts {
	var t starts
	for _, s := range all {
		t[s[0]] = append(t[s[0]], s)
	}
	return &t
}

func (t *starts) match(s string) bool {
	if s == "" {
		return false
	}
	for _, p := range t[s[0]] {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// What only a runner prints. Console lines of the actions runner and of
// run.sh and run-helper.sh; the wrapper and the vitals probe of tuist; GitLab
// Runner in a job's log.
var (
	actionsLines = newStarts(
		"[RUNNER ", "[WORKER ", "[diag] [", "√ Connected to GitHub", "√ Removed ", "√ Runner ", "√ Settings Saved",
		"Runner listener exit", "Runner listener exited", "Listening for Jobs", "Current runner version: '",
		"Exiting runner...", "Restarting runner...", "Exiting with unknown error code:",
		"Runner update in progress", "Runner will exit shortly for update", "Must not run interactively with sudo",
		"A session for this runner already exists", "Failed to create a session. The runner registration",
		"An error occurred: Runner version", "Runner version 'v", "Runner version v", "An error occurred: Not configured", "Starting Runner listener with startup type",
		"Started listener process", "Runner reconnected.", "Http response code: NotFound from 'POST https://api.github.com/actions/runner",
		"Unhandled exception happened in worker", "Cannot configure the runner because it is already configured",
		"Runner.Listener", "Runner init exited. Exiting this process",
	)
	gitlabLines = newStarts(
		"ERROR: Job failed", "Job failed (system failure)", "Error: Job failed", "Running with gitlab-runner",
		"Preparing the \"", "WARNING: Failed to pull image with policy", "Error cleaning up pod", "Error cleaning up secrets",
		"Error: Error cleaning up pod", "ERROR: Preparation failed", "section_start:", "section_end:", "ERROR: Error cleaning up",
		"Waiting for pod", "Job succeeded",
	)
	jobLines = newStarts("##[error]", "##[warning]", "##[group]", "##[endgroup]", "##[debug]", "##[command]", "[command]/", "##[section]")
)

// actionsShaped says whether s is a line that only an actions runner or its
// wrapper prints.
func actionsShaped(s string) bool {
	if actionsLines.match(s) {
		return true
	}
	if len(s) > 22 && digit(s[0]) { // 2026-05-04T10:00:00Z RUNNER_VITALS …, … run-job: …
		st, ok := isoStamp(s)
		if !ok {
			return false
		}
		if s[st.size-1] == 'Z' && strings.HasPrefix(s[st.size:], ": ") {
			return true
		}
		s = strings.TrimLeft(s[st.size:], " ")
	}
	return strings.HasPrefix(s, "RUNNER_VITALS ") || strings.HasPrefix(s, "run-job: ") || actionsLines.match(s)
}

// runnerShaped is actionsShaped or a line of GitLab Runner.
func runnerShaped(s string) bool { return actionsShaped(s) || gitlabLines.match(s) }

// jobShaped says whether s is a line of a GitHub job log without its time.
func jobShaped(s string) bool { return jobLines.match(s) }

// peelTabs: `Job<TAB>Step<TAB>2026-05-04T10:00:00.1234567Z text`, gh run view --log.
func peelTabs(r *reader, d *draft, s string) (string, bool) {
	i := strings.IndexByte(s, '\t')
	if i < 0 || strings.IndexByte(s[i+1:], '\t') < 0 {
		return s, false
	}
	job, rest := s[:i], s[i+1:]
	step, rest, _ := strings.Cut(rest, "\t")
	st, ok := isoStamp(rest)
	if !ok || st.zone == nil || st.frac == 0 {
		return s, false
	}
	r.times.put(&d.Entry, st)
	d.Fields = map[string]string{"job": brief(job, 256), "step": brief(step, 256)}
	return strings.TrimPrefix(rest[st.size:], " "), true
}

// peelGitLab: `2026-05-04T10:00:00.123456Z 00O text`, job logs of GitLab Runner
// with FF_TIMESTAMPS (on by default since 18). A `+` continues the line before.
func peelGitLab(r *reader, d *draft, s string) (string, bool) {
	st, ok := isoStamp(s)
	if !ok || len(s) < st.size+5 || s[st.size] != ' ' {
		return s, false
	}
	tag := s[st.size+1:]
	if !hexDigit(tag[0]) || !hexDigit(tag[1]) || tag[2] != 'O' && tag[2] != 'E' || tag[3] != ' ' && tag[3] != '+' {
		return s, false
	}
	r.times.put(&d.Entry, st)
	return tag[4:], true
}

func hexDigit(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
