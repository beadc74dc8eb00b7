package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"coroner/rules"
)

// Markdown writes the post-mortem of v for a ticket or an incident's channel:
// GitHub, GitLab and Slack show it alike. It has no headings and no tables,
// for Slack knows neither.
//
// Invariant: what came from a log is in a code block or a code span, or a
// plain word. So no log line can end its block, and none becomes a link, a
// mention, an issue's number or HTML.
func Markdown(w io.Writer, v *rules.Verdict) error {
	m := &markdown{w: bufio.NewWriter(w), v: v}
	m.headline()
	if v.Label.Death() {
		m.facts()
		m.proof()
	}
	m.unknownLines()
	if v.Label.Death() {
		m.differential()
		m.seeMore()
		m.footer()
	}
	return m.w.Flush()
}

type markdown struct {
	w *bufio.Writer
	v *rules.Verdict
}

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

// headline is what the page says in its first two lines.
func (m *markdown) headline() {
	v := m.v
	cause := "**" + prose(string(v.Label)) + "**"
	if v.Resource != "" {
		cause += " of " + prose(v.Resource)
	}
	parts := []string{fmt.Sprintf("%s (%s)", cause, prose(string(v.Confidence))), m.whose()}
	if v.DiedAt != nil {
		parts = append(parts, v.DiedAt.UTC().Format(clock))
	}
	if v.Node != "" {
		parts = append(parts, "node "+code(v.Node))
	}
	if v.Cluster != "" {
		parts = append(parts, "cluster "+code(v.Cluster))
	}
	if v.Initiator != "" && v.Initiator != "none" && v.Initiator != "unknown" {
		parts = append(parts, "by "+prose(v.Initiator))
	}
	m.printf("%s\n\n> %s\n", strings.Join(parts, " · "), prose(v.Summary))
}

func (m *markdown) whose() string {
	v := m.v
	switch {
	case v.Runner != "":
		return code(strings.TrimPrefix(v.Namespace+"/"+v.Runner, "/"))
	case v.PodUID != "":
		return "pod UID " + code(v.PodUID)
	}
	return "no runner named"
}

func (m *markdown) facts() {
	v := m.v
	m.printf("\n- exit: %s\n", m.exit())
	if job := jobText(v.Job, code); job != "" {
		m.printf("- job: %s\n", job)
	}
	if v.Pool != "" {
		m.printf("- pool: %s\n", code(v.Pool))
	}
	if v.Domain != "" && v.Domain != "none" {
		m.printf("- domain: %s\n", prose(v.Domain))
	}
	m.printf("- retry: %s", prose(retry(v)))
	if v.Advice != "" {
		m.printf(" — %s", prose(v.Advice))
	}
	m.printf("\n")
}

func (m *markdown) exit() string {
	if m.v.Exit.Code == nil {
		return "no exit record"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", *m.v.Exit.Code, prose(m.v.Exit.Reason)))
}

func (m *markdown) section(title string) { m.printf("\n**%s**\n\n", title) }

// proofLines is how many lines the code block has at most. More than that is
// no proof that a person reads in a channel.
const proofLines = 15

// proof is the lines that decide, or the last ones about the runner where none does.
func (m *markdown) proof() {
	title, lines := "What decides (UTC)", m.rows(func(r Row) bool { return r.Decisive })
	if len(lines) == 0 {
		title, lines = "The last lines about it (UTC)", m.rows(func(r Row) bool { return r.Mine })
		lines = lines[max(0, len(lines)-5):]
	}
	if len(lines) == 0 {
		return
	}
	m.section(title)
	left := len(lines) - proofLines
	if left > 0 {
		lines = lines[:proofLines]
	}
	m.block("", lines)
	if left > 0 {
		m.printf("\n%d more lines decide.\n", left)
	}
}

func (m *markdown) rows(want func(Row) bool) (out []string) {
	for _, r := range collapse(m.v.Evidence) {
		if !want(r) {
			continue
		}
		at := "-"
		if r.At != nil {
			at = r.At.UTC().Format("15:04:05.000")
		}
		out = append(out, fmt.Sprintf("%-12s  %-10s %s", at, r.Source, cut(r.Brief(), 400)))
	}
	return out
}

// block writes a code block. Its lines are cleaned already.
func (m *markdown) block(language string, lines []string) {
	m.printf("```%s\n", language)
	for _, l := range lines {
		m.printf("%s\n", inBlock(l))
	}
	m.printf("```\n")
}

// unknownLines are those that no signal knows, for a person to judge.
func (m *markdown) unknownLines() {
	var lines []string
	for _, l := range m.v.NotUnderstood {
		at := "-"
		if l.At != nil {
			at = l.At.UTC().Format("15:04:05.000")
		}
		lines = append(lines, fmt.Sprintf("%-12s  %-10s %s", at, Clean(l.Source), cut(Clean(l.Text), 400)),
			fmt.Sprintf("%-12s  %s", "", Clean(strings.TrimPrefix(l.Where+": ", ": ")+l.Because)))
	}
	if len(lines) > 0 {
		m.section("Not understood: no signal knows these lines, and they prove nothing")
		m.block("", lines)
	}
}

func (m *markdown) differential() {
	v := m.v
	if len(v.RuledOut) > 0 {
		m.section("Ruled out")
		for _, r := range v.RuledOut {
			m.printf("- %s: %s\n", prose(string(r.Label)), prose(r.Because))
		}
	}
	if len(v.Open) > 0 {
		m.section("Still open")
		for _, o := range v.Open {
			m.printf("- %s: would be decided by %s\n", prose(string(o.Label)), prose(o.Needs))
		}
	}
	if len(v.Missing) > 0 {
		m.section("Missing")
		for _, x := range v.Missing {
			m.printf("- %s\n", prose(x))
		}
	}
}

func (m *markdown) seeMore() {
	if cmds := Commands(m.v); len(cmds) > 0 {
		m.section("See more")
		m.block("sh", cmds)
	}
}

func (m *markdown) footer() {
	rule := "no rule"
	if m.v.Rule != "" {
		rule = "rule " + code(m.v.Rule)
	}
	m.printf("\n%s · rulebook %s · revision %d · said by coroner\n", rule, code(m.v.Rulebook), m.v.Revision)
}
