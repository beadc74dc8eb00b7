package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
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
	st, ok := logtext.ISOStamp(head)
	if !ok {
		st, ok = logtext.DayStamp(head)
	}
	if !ok || st.Zone == nil || len(head) == st.Size || head[st.Size] != ' ' {
		return s, false
	}
	place, text, ok := strings.Cut(head[st.Size+1:], "]")
	level, class, both := strings.Cut(place, " ")
	if !ok || !both || levels[level] == "" {
		return s, false
	}
	if d.Clock != ingest.WallClock && st.Year != 0 {
		r.account.clock.Set(&d.Entry, st)
	}
	d.Fields = map[string]string{"severity": levels[level], "class": strings.TrimSpace(class)}
	if process != "" {
		d.Fields["process"] = process
	}
	return strings.TrimPrefix(text, " "), true
}

// peelConsole: the runner's console, `2026-05-04 10:00:00Z: Listening for Jobs`.
func peelConsole(r *reader, d *draft, s string) (string, bool) {
	if len(s) < 22 || s[10] != ' ' || s[19] != 'Z' || s[20] != ':' {
		return s, false
	}
	st, ok := logtext.ISOStamp(s)
	if !ok {
		return s, false
	}
	if d.Clock != ingest.WallClock {
		r.account.clock.Set(&d.Entry, st)
	}
	return strings.TrimLeft(s[21:], " "), true
}

// peelTabs: `Job<TAB>Step<TAB>2026-05-04T10:00:00.1234567Z text`, gh run view --log.
func peelTabs(r *reader, d *draft, s string) (string, bool) {
	i := strings.IndexByte(s, '\t')
	if i < 0 || strings.IndexByte(s[i+1:], '\t') < 0 {
		return s, false
	}
	job, rest := s[:i], s[i+1:]
	step, rest, _ := strings.Cut(rest, "\t")
	st, ok := logtext.ISOStamp(rest)
	if !ok || st.Zone == nil || st.FractionDigits == 0 {
		return s, false
	}
	r.account.clock.Set(&d.Entry, st)
	d.Fields = map[string]string{"job": logtext.Brief(job, 256), "step": logtext.Brief(step, 256)}
	return strings.TrimPrefix(rest[st.Size:], " "), true
}

// peelGitLab: `2026-05-04T10:00:00.123456Z 00O text`, job logs of GitLab Runner
// with FF_TIMESTAMPS (on by default since 18). A `+` continues the line before.
func peelGitLab(r *reader, d *draft, s string) (string, bool) {
	st, ok := logtext.ISOStamp(s)
	if !ok || len(s) < st.Size+5 || s[st.Size] != ' ' {
		return s, false
	}
	tag := s[st.Size+1:]
	if !hexDigit(tag[0]) || !hexDigit(tag[1]) || tag[2] != 'O' && tag[2] != 'E' || tag[3] != ' ' && tag[3] != '+' {
		return s, false
	}
	r.account.clock.Set(&d.Entry, st)
	return tag[4:], true
}

func hexDigit(c byte) bool { return logtext.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
