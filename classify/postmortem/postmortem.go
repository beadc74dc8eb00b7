// Package postmortem writes a verdict as the page that a responder wants to
// read: cause, confidence, when, where and who in the first line, then the
// deciding lines with a few around them, what was ruled out and by which fact,
// and what is missing. The whole page has every line, what is still open, and
// how to see more.
//
// Invariant: everything that came from a log is data. Control characters and
// text direction marks are shown as escapes and lines are cut, so that no log
// line can move the cursor, hide text or look like a heading.
//
// Crash behaviour: the package only writes; a write error ends it.
package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"coroner/rules"
	"coroner/rules/casefile"
)

// Style says how to write.
type Style struct {
	Color bool // ANSI colours
	Width int  // columns of the terminal; 0 = no terminal, lines are cut only where they are huge
	All   bool // the whole page: every line, what is still open, commands that show more
}

// Write writes the post-mortem of v; of an end that harmed nobody just its
// first lines, unless Style.All asks for everything.
func Write(w io.Writer, v *rules.Verdict, s Style) error {
	if s.Width <= 0 {
		s.Width = hugeLine
	}
	p := &page{w: bufio.NewWriter(w), s: s, v: v}
	p.headline()
	if !v.Wrong() && !s.All {
		p.unknownLines() // there are none where something shows that nobody was harmed
		return p.w.Flush()
	}
	p.writeFacts()
	p.timeline()
	p.unknownLines()
	p.ruledOut()
	if !s.All {
		p.writeMissing()
		p.writeFooter(" · " + p.rest())
		return p.w.Flush()
	}
	p.stillOpen()
	p.writeMissing()
	p.seeMore()
	p.writeFooter("")
	return p.w.Flush()
}

// clock is how a time of death is written.
const clock = "2006-01-02 15:04:05Z"

// hugeLine is where a line is cut that goes to a file or a pipe.
const hugeLine = 1000

type page struct {
	w *bufio.Writer
	s Style
	v *rules.Verdict
}

// ANSI styles.
const (
	bold, dim, red, green, yellow, cyan = "1", "2", "1;31", "32", "33", "36"
)

func (p *page) painted(code, text string) string {
	if !p.s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// headline is cause, confidence, whose, when, where and who started it.
func (p *page) headline() {
	v, parts := p.v, []string{}
	color := red
	if !v.Wrong() {
		color = green
	} else if v.Confidence != rules.Confirmed {
		color = yellow
	}
	cause := p.painted(color, string(v.Label))
	if v.Resource != "" {
		cause += " of " + shortValue(v.Resource)
	}
	parts = append(parts, fmt.Sprintf("%s (%s)", cause, v.Confidence), p.runnerNamed())
	if v.DiedAt != nil {
		parts = append(parts, v.DiedAt.UTC().Format(clock))
	}
	parts = append(parts, lastingText(v)...)
	if v.Node != "" {
		parts = append(parts, "node "+shortValue(v.Node))
	}
	if v.Cluster != "" {
		parts = append(parts, "cluster "+shortValue(v.Cluster))
	}
	if v.Initiator != "" && v.Initiator != "none" && v.Initiator != "unknown" {
		parts = append(parts, "by "+shortValue(v.Initiator))
	}
	p.printf("%s\n  %s\n", strings.Join(parts, " · "), p.painted(bold, shortValue(v.Summary)))
}

func (p *page) runnerNamed() string {
	v := p.v
	switch {
	case v.Runner != "" && v.Namespace != "":
		return shortValue(v.Namespace + "/" + v.Runner)
	case v.Runner != "":
		return shortValue(v.Runner)
	case v.PodUID != "":
		return "pod UID " + shortValue(v.PodUID)
	case v.Kind == casefile.OfJob && v.Job.ID != "":
		return "job " + shortValue(v.Job.ID)
	case v.Kind == casefile.OfJob:
		return "a job without a name"
	case v.Kind == casefile.OfPool && v.Pool != "":
		return "pool " + shortValue(v.Pool)
	case v.Kind == casefile.OfPool:
		return "a pool without a name"
	}
	return "no runner named"
}

// lastingText says since when something is wrong, and until when it was.
func lastingText(v *rules.Verdict) (parts []string) {
	if v.Since != nil {
		parts = append(parts, "since "+v.Since.UTC().Format(clock))
	}
	if v.Until != nil {
		parts = append(parts, "over at "+v.Until.UTC().Format(clock))
	}
	return parts
}

func (p *page) writeFacts() {
	v := p.v
	if v.Exit.Code != nil {
		p.writeFact("exit", strings.TrimSpace(fmt.Sprintf("%d %s", *v.Exit.Code, shortValue(v.Exit.Reason))))
	} else if v.Death() {
		p.writeFact("exit", "no exit record")
	}
	if job := jobText(v.Job, shortValue); job != "" {
		p.writeFact("job", job)
	}
	if v.Pool != "" && v.Kind != casefile.OfPool {
		p.writeFact("pool", shortValue(v.Pool))
	}
	if r := v.RunnerVerdict; r != nil {
		p.writeFact("runner", runnerVerdictText(r, shortValue)+" — coroner lookup "+shortValue(r.Address()))
	}
	if v.Wrong() {
		if v.Domain != "" && v.Domain != "none" {
			p.writeFact("domain", v.Domain)
		}
		p.writeFact("retry", retryHelps(v)+adviceFor(v))
	}
}

// runnerVerdictText is a job's runner and the verdict on it; show makes a part harmless.
func runnerVerdictText(r *rules.RunnerVerdict, show func(string) string) string {
	return fmt.Sprintf("%s: %s (%s)", show(strings.TrimPrefix(r.Namespace+"/"+r.Runner, "/")), show(string(r.Label)),
		show(string(r.Confidence)))
}

// retryHelps says whether running the job again helps.
func retryHelps(v *rules.Verdict) string {
	if v.Retry == "" || v.Retry == "unknown" {
		return "may or may not help"
	}
	return v.Retry
}

func adviceFor(v *rules.Verdict) string {
	if v.Advice == "" {
		return ""
	}
	return " — " + shortValue(v.Advice)
}

// FullName is a runner's name for a page.
func FullName(namespace, name string) string {
	return Clean(strings.TrimPrefix(namespace+"/"+name, "/"))
}

// jobText is what the runner was doing; show makes a part harmless.
func jobText(j rules.Job, show func(string) string) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+show(value))
		}
	}
	add("", j.Name)
	add("step ", j.Step)
	add("", j.Repository)
	add("run ", j.RunID)
	if len(parts) == 0 {
		add("job ", j.ID)
	}
	return strings.Join(parts, " · ")
}

func (p *page) writeFact(name, text string) {
	p.printf("  %s %s\n", p.painted(dim, fmt.Sprintf("%-7s", name)), text)
}

func (p *page) writeSection(title string) { p.printf("\n  %s\n", p.painted(bold, title)) }

func (p *page) ruledOut() {
	if len(p.v.RuledOut) > 0 {
		p.writeSection("ruled out")
		for _, r := range p.v.RuledOut {
			p.printf("    %-24s %s\n", r.Label, shortValue(r.Because))
		}
	}
}

func (p *page) stillOpen() {
	if len(p.v.Open) > 0 {
		p.writeSection("still open")
		for _, o := range p.v.Open {
			p.printf("    %-24s would be decided by %s\n", o.Label, shortValue(o.Needs))
		}
	}
}

// rest says what --all adds to the page.
func (p *page) rest() string {
	parts := []string{"every line"}
	if n := len(p.v.Open); n > 0 {
		parts = append(parts, countText(n, "cause")+" still open")
	}
	if len(Commands(p.v)) > 0 {
		parts = append(parts, "commands that show more")
	}
	if n := len(parts) - 1; n > 0 {
		return "--all shows " + strings.Join(parts[:n], ", ") + " and " + parts[n]
	}
	return "--all shows " + parts[0]
}

// unknownLines are those that no signal knows, for a person to judge.
func (p *page) unknownLines() {
	if len(p.v.NotUnderstood) == 0 {
		return
	}
	p.writeSection("not understood (no signal knows these lines; they prove nothing)")
	for _, l := range p.v.NotUnderstood {
		at := strings.Repeat(" ", 12)
		if l.At != nil {
			at = l.At.UTC().Format("15:04:05.000")
		}
		p.printf(
			"      %s  %s %s\n",
			p.painted(dim, at),
			p.painted(cyan, fmt.Sprintf("%-10s", shortValue(l.Source))),
			cutTo(Clean(l.Text), p.s.Width-32),
		)
		p.printf("      %-12s  %s\n", "", p.painted(dim, shortValue(strings.TrimPrefix(l.Where+": ", ": ")+l.Because)))
	}
}

func (p *page) writeMissing() {
	if len(p.v.Missing) == 0 {
		return
	}
	p.writeSection("missing")
	for _, m := range p.v.Missing {
		p.printf("    %s\n", shortValue(m))
	}
}

func (p *page) writeFooter(more string) {
	rule := p.v.Rule
	if rule == "" {
		rule = "no rule"
	}
	p.printf(
		"\n  %s\n",
		p.painted(dim, fmt.Sprintf("rule %s · rulebook %s · revision %d%s", rule, p.v.Rulebook, p.v.Revision, more)),
	)
}

// seeMore gives commands to copy.
func (p *page) seeMore() {
	cmds := Commands(p.v)
	if len(cmds) == 0 {
		return
	}
	p.writeSection("see more (label names of your Loki may differ)")
	for _, c := range cmds {
		p.printf("    %s\n", c)
	}
}
