package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"coroner/rules"
	"coroner/rules/casefile"
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
	if v.RunnerVerdict != nil {
		m.printf("\n- its runner: %s\n", runnerVerdictText(v.RunnerVerdict, codeSpan))
	}
	if v.Death() {
		m.writeFacts()
		m.writeProof()
	}
	m.unknownLines()
	if v.Death() {
		m.differential()
		m.seeMore()
		m.writeFooter()
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
	cause := "**" + plainProse(string(v.Label)) + "**"
	if v.Resource != "" {
		cause += " of " + plainProse(v.Resource)
	}
	parts := []string{fmt.Sprintf("%s (%s)", cause, plainProse(string(v.Confidence))), m.runnerNamed()}
	if v.DiedAt != nil {
		parts = append(parts, v.DiedAt.UTC().Format(clock))
	}
	if v.Node != "" {
		parts = append(parts, "node "+codeSpan(v.Node))
	}
	if v.Cluster != "" {
		parts = append(parts, "cluster "+codeSpan(v.Cluster))
	}
	if v.Initiator != "" && v.Initiator != "none" && v.Initiator != "unknown" {
		parts = append(parts, "by "+plainProse(v.Initiator))
	}
	m.printf("%s\n\n> %s\n", strings.Join(parts, " · "), plainProse(v.Summary))
}

func (m *markdown) runnerNamed() string {
	v := m.v
	switch {
	case v.Runner != "":
		return codeSpan(strings.TrimPrefix(v.Namespace+"/"+v.Runner, "/"))
	case v.PodUID != "":
		return "pod UID " + codeSpan(v.PodUID)
	case v.Kind != casefile.OfRunner && v.About() != "":
		return v.Kind.Word() + " " + codeSpan(v.About())
	}
	return "no runner named"
}

func (m *markdown) writeFacts() {
	v := m.v
	m.printf("\n- exit: %s\n", m.exitText())
	if job := jobText(v.Job, codeSpan); job != "" {
		m.printf("- job: %s\n", job)
	}
	if v.Pool != "" {
		m.printf("- pool: %s\n", codeSpan(v.Pool))
	}
	if v.Domain != "" && v.Domain != "none" {
		m.printf("- domain: %s\n", plainProse(v.Domain))
	}
	m.printf("- retry: %s", plainProse(retryHelps(v)))
	if v.Advice != "" {
		m.printf(" — %s", plainProse(v.Advice))
	}
	m.printf("\n")
}

func (m *markdown) exitText() string {
	if m.v.Exit.Code == nil {
		return "no exit record"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", *m.v.Exit.Code, plainProse(m.v.Exit.Reason)))
}

func (m *markdown) writeSection(title string) { m.printf("\n**%s**\n\n", title) }

// proofLines is how many lines the code block has at most. More than that is
// no proof that a person reads in a channel.
const proofLines = 15

// writeProof is the lines that decide, or the last ones about the runner where none does.
func (m *markdown) writeProof() {
	title, lines := "What decides (UTC)", m.rowsWanted(func(r Row) bool { return r.Decisive })
	if len(lines) == 0 {
		title, lines = "The last lines about it (UTC)", m.rowsWanted(func(r Row) bool { return r.Mine })
		lines = lines[max(0, len(lines)-5):]
	}
	if len(lines) == 0 {
		return
	}
	m.writeSection(title)
	left := len(lines) - proofLines
	if left > 0 {
		lines = lines[:proofLines]
	}
	m.codeBlock("", lines)
	if left == 1 {
		m.printf("\n1 more line decides.\n")
	} else if left > 1 {
		m.printf("\n%d more lines decide.\n", left)
	}
}

func (m *markdown) rowsWanted(want func(Row) bool) (out []string) {
	for _, r := range collapse(m.v.Evidence) {
		if !want(r) {
			continue
		}
		at := "-"
		if r.At != nil {
			at = r.At.UTC().Format("15:04:05.000")
		}
		out = append(out, fmt.Sprintf("%-12s  %-10s %s", at, r.Source, cutTo(r.Brief(), 400)))
	}
	return out
}

// codeBlock writes a code block. Its lines are cleaned already.
func (m *markdown) codeBlock(language string, lines []string) {
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
		lines = append(lines, fmt.Sprintf("%-12s  %-10s %s", at, Clean(l.Source), cutTo(Clean(l.Text), 400)),
			fmt.Sprintf("%-12s  %s", "", Clean(strings.TrimPrefix(l.Where+": ", ": ")+l.Because)))
	}
	if len(lines) > 0 {
		m.writeSection("Not understood: no signal knows these lines, and they prove nothing")
		m.codeBlock("", lines)
	}
}

func (m *markdown) differential() {
	v := m.v
	if len(v.RuledOut) > 0 {
		m.writeSection("Ruled out")
		for _, r := range v.RuledOut {
			m.printf("- %s: %s\n", plainProse(string(r.Label)), plainProse(r.Because))
		}
	}
	if len(v.Open) > 0 {
		m.writeSection("Still open")
		for _, o := range v.Open {
			m.printf("- %s: would be decided by %s\n", plainProse(string(o.Label)), plainProse(o.Needs))
		}
	}
	if len(v.Missing) > 0 {
		m.writeSection("Missing")
		for _, x := range v.Missing {
			m.printf("- %s\n", plainProse(x))
		}
	}
}

func (m *markdown) seeMore() {
	if cmds := Commands(m.v); len(cmds) > 0 {
		m.writeSection("See more")
		m.codeBlock("sh", cmds)
	}
}

func (m *markdown) writeFooter() {
	rule := "no rule"
	if m.v.Rule != "" {
		rule = "rule " + codeSpan(m.v.Rule)
	}
	m.printf("\n%s · rulebook %s · revision %d · said by coroner\n", rule, codeSpan(m.v.Rulebook), m.v.Revision)
}
