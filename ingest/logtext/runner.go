package logtext

import "strings"

// starts is a set of beginnings of lines, by their first byte.
type starts [256][]string

func newStarts(all ...string) *starts {
	var t starts
	for _, s := range all {
		t[s[0]] = append(t[s[0]], s)
	}
	return &t
}

func (t *starts) matchString(s string) bool {
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
		"An error occurred: Runner version", "Runner version 'v", "Runner version v",
		"An error occurred: Not configured", "Starting Runner listener with startup type",
		"Started listener process", "Runner reconnected.",
		"Http response code: NotFound from 'POST https://api.github.com/actions/runner",
		"Unhandled exception happened in worker", "Cannot configure the runner because it is already configured",
		"Runner.Listener", "Runner init exited. Exiting this process",
	)
	gitlabLines = newStarts(
		"ERROR: Job failed", "Job failed (system failure)", "Error: Job failed", "Running with gitlab-runner",
		"Preparing the \"", "WARNING: Failed to pull image with policy", "Error cleaning up pod",
		"Error cleaning up secrets",
		"Error: Error cleaning up pod", "ERROR: Preparation failed", "section_start:", "section_end:",
		"ERROR: Error cleaning up",
		"Waiting for pod", "Job succeeded",
	)
	jobLines = newStarts("##[error]", "##[warning]", "##[group]", "##[endgroup]", "##[debug]", "##[command]",
		"[command]/", "##[section]",
		// a secret that ends with a bracket masks every bracket
		"##[error***", "##[warning***", "##[group***", "##[endgroup***", "##[debug***")
)

// IsActionsRunner says whether s is a line that only an actions runner or its
// wrapper prints.
func IsActionsRunner(s string) bool {
	if actionsLines.matchString(s) {
		return true
	}
	if len(s) > 22 && IsDigit(s[0]) { // 2026-05-04T10:00:00Z RUNNER_VITALS …, … run-job: …
		st, ok := ISOStamp(s)
		if !ok {
			return false
		}
		if s[st.Size-1] == 'Z' && strings.HasPrefix(s[st.Size:], ": ") {
			return true
		}
		s = strings.TrimLeft(s[st.Size:], " ")
	}
	return strings.HasPrefix(s, "RUNNER_VITALS ") || strings.HasPrefix(s, "run-job: ") || actionsLines.matchString(s)
}

// IsRunner is IsActionsRunner or a line of GitLab Runner.
func IsRunner(s string) bool { return IsActionsRunner(s) || gitlabLines.matchString(s) }

// IsJobLog says whether s is a line of a GitHub job log without its time.
func IsJobLog(s string) bool { return jobLines.matchString(s) }

// MayBeRunner says whether a line with this text can make another stream out of its
// own: a runner's. It is true of more texts than do, see fromStream.
func MayBeRunner(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	switch c := text[0]; {
	case c == '[':
		return true
	case IsDigit(c):
		// all that take more off such a text look for an ISOStamp
		return len(text) >= 19 && text[4] == '-' && text[7] == '-'
	}
	return hasPrefix(text, "RUNNER_VITALS ") || hasPrefix(text, "run-job: ") || actionsLines.matchBytes(text)
}

func (t *starts) matchBytes(b []byte) bool {
	for _, p := range t[b[0]] {
		if hasPrefix(b, p) {
			return true
		}
	}
	return false
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}
