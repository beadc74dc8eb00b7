// Package phrase puts the words of log lines into sentences: what a line says of a
// cause, without what programs write around it, and who was killed. It is pure.
//
// Invariant: every word that it returns stands in the lines, but for a name, its
// process id and the brackets around that.
//
// Crash behaviour: there is no state to lose.
package phrase

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Gist is what evidence says of the cause, without what a program writes
// around it. Evidence is a record as expressions have it, its captures and its text, or
// a list of them: of several lines the first that says more than a reason.
func Gist(evidence any) string {
	records, ok := evidence.([]any)
	if !ok {
		records = []any{evidence}
	}
	for _, r := range records {
		m, _ := r.(map[string]any)
		if words := causeIn(m); words != "" {
			return plainCause(words)
		}
	}
	for _, r := range records {
		m, _ := r.(map[string]any)
		if words := headOf(m); words != "" {
			return plainCause(words)
		}
	}
	return ""
}

// causeNames are the captures and fields that hold a cause in words.
var causeNames = []string{"message", "err", "error", "said", "status"}

// bareHeads are messages of structured lines that say only that something is
// so; what it is stands in their fields.
var bareHeads = []string{
	"container waiting", "container terminated", "pod status", "pod condition", "machine condition", "event",
	"Reconciler error", "Error syncing pod, skipping", "Unhandled Error",
}

// causeIn is the cause in a line's own words, or "" where it has only a head.
func causeIn(record map[string]any) string {
	for _, name := range causeNames {
		if s, _ := record[name].(string); s != "" {
			return s
		}
	}
	text, _ := record["text"].(string)
	msg, fields, _ := logtext.Message(&ingest.Entry{Text: text}, nil)
	if !slices.Contains(bareHeads, msg) {
		return msg
	}
	for _, name := range causeNames {
		if s := fields.Get(name); s != "" {
			return s
		}
	}
	return ""
}

// headOf is the reason where a line has no more words than that.
func headOf(record map[string]any) string {
	for _, name := range []string{"reason", "why"} {
		if s, _ := record[name].(string); s != "" {
			return s
		}
	}
	text, _ := record["text"].(string)
	msg, _, _ := logtext.Message(&ingest.Entry{Text: text}, nil)
	return msg
}

// wrappings are what programs write before a cause: each is taken off with all
// that it matches.
var wrappings = []*regexp.Regexp{
	regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\] `),
	regexp.MustCompile(`^(?:\*\*|##)\[error\]`),
	regexp.MustCompile(`^-{2,}`),
	regexp.MustCompile(`^\[ *\d+\.\d+\] `),
	regexp.MustCompile(`^Unschedulable: "`),
	regexp.MustCompile(`^(?:message|reason|error|err|desc): `),
	regexp.MustCompile(`^Reason: +`),
	regexp.MustCompile(`^\S+ ERROR: \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?: `),
	regexp.MustCompile(`^Operation for "\{[^}]*\}" failed\. .*?\bError: `),
	regexp.MustCompile(`^network is not ready: .*? message:`),
	regexp.MustCompile(`^rpc error: code = \w+ desc = `),
	regexp.MustCompile(`^(?:error killing pod|failed to sync pod): `),
	regexp.MustCompile(`^\d\d:\d\d:\d\d\S* +\S+ +(?:DEBUG|INFO|WARN|WARNING|ERROR) +`),
}

// asides are what stands in or behind a cause and says nothing of it.
var asides = []struct {
	like *regexp.Regexp
	with string
}{
	{regexp.MustCompile(` ?\(UniqueName: "[^"]*"\)`), ""},
	{regexp.MustCompile(` pod "[^"]*" \(UID: "[^"]*"\)`), ""},
	{regexp.MustCompile(`[. ]+preemption: \d+/\d+ nodes are available: .*$`), ""},
	{regexp.MustCompile(`,? (?:UID \d+,? )?total-vm:\d+kB.*$`), ""},
	{regexp.MustCompile(` op 0x[0-9a-f]+:\(\w+\) flags .*$`), ""},
	{regexp.MustCompile(`(?:: unknown)+$`), ""},
	{regexp.MustCompile(`\brpc error: code = \w+ desc = `), ""},
	{regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`), "$1"},
	{regexp.MustCompile(` +: `), ": "},
	{regexp.MustCompile(`-{3,}$`), ""},
}

// syncFailure is how the kubelet wraps what kept it from a pod's container.
var syncFailure = regexp.MustCompile(`^failed to "\w+" for "[^"]*" with \w+: ("(?:[^"\\]|\\.)*")`)

// plainCause is a cause without the wrappings of the programs that handed it on.
func plainCause(s string) string {
	for range 8 { // a message is wrapped a few times at most
		before := s
		s = strings.TrimSpace(s)
		for _, w := range wrappings {
			if at := w.FindStringIndex(s); at != nil && at[1] < len(s) {
				s = s[at[1]:]
			}
		}
		if m := syncFailure.FindStringSubmatch(s); m != nil {
			if inner, err := strconv.Unquote(m[1]); err == nil {
				s = inner
			}
		}
		s = lastColumn(s)
		if head, rest, ok := strings.Cut(s, ": "); ok && strings.HasPrefix(rest, head+": ") {
			s = rest
		}
		if s == before {
			break
		}
	}
	for _, a := range asides {
		s = a.like.ReplaceAllString(s, a.with)
	}
	return strings.TrimRight(s, " .:,")
}

var columns = regexp.MustCompile(`(?:\t| {3,})`)

// lastColumn is the words of the last column of a row, without the name of a
// field that holds them.
func lastColumn(s string) string {
	parts := columns.Split(s, -1)
	last := strings.TrimSpace(parts[len(parts)-1])
	if len(parts) == 1 || !strings.Contains(last, " ") {
		return s
	}
	for { // name=value pairs before the one with the words
		word, rest, found := strings.Cut(last, " ")
		name, value, pair := strings.Cut(word, "=")
		if !found || !pair || name == "" {
			return last
		}
		if next, _, _ := strings.Cut(rest, " "); !strings.Contains(next, "=") {
			return value + " " + rest
		}
		last = rest
	}
}

// Victim names the process that a line says was killed, `java (pid 1187)`;
// of several lines the first that names one.
func Victim(evidence any) string {
	records, ok := evidence.([]any)
	if !ok {
		records = []any{evidence}
	}
	for _, r := range records {
		m, _ := r.(map[string]any)
		name := ""
		for _, capture := range []string{"task", "program"} {
			if s, _ := m[capture].(string); s != "" && name == "" {
				name = s
			}
		}
		pid, _ := m["pid"].(int)
		switch {
		case name != "" && pid > 0:
			return name + " (pid " + strconv.Itoa(pid) + ")"
		case name != "":
			return name
		}
	}
	return ""
}
