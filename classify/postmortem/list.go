package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"coroner/rules"
)

// Layout is how a verdict is put on one line.
type Layout struct {
	Node, Runner int // columns of their names at least
	Width        int // where a line ends, in columns; 0 = nowhere
}

// maxName is how many columns the name of a node or a runner gets: longer ones
// push the rest to the right.
const maxName = 48

// List writes one line for each verdict with the columns' names above, each
// column as wide as it has to be.
func List(w io.Writer, verdicts []rules.Verdict, width int) error {
	l := Layout{Node: len("NODE"), Runner: len("RUNNER"), Width: width}
	for i := range verdicts {
		p := page{v: &verdicts[i]}
		l.Node = max(l.Node, min(maxName, utf8.RuneCountInString(short(p.v.Node))))
		l.Runner = max(l.Runner, min(maxName, utf8.RuneCountInString(p.whose())))
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, l.Head())
	for i := range verdicts {
		fmt.Fprintln(out, l.Line(&verdicts[i]))
	}
	return out.Flush()
}

// Head is the columns' names.
func (l Layout) Head() string {
	return l.columns("VERDICT", "CONFIDENCE", "DIED AT", "NODE", "RUNNER", "SUMMARY")
}

// Line is a verdict on one line. A later revision says so.
func (l Layout) Line(v *rules.Verdict) string {
	p := page{v: v}
	summary := Clean(v.Summary)
	if v.Revision > 1 {
		summary = fmt.Sprintf("(revision %d) %s", v.Revision, summary)
	}
	return l.columns(string(v.Label), string(v.Confidence), diedAt(v), short(v.Node), p.whose(), summary)
}

func (l Layout) columns(verdict, confidence, died, node, runner, summary string) string {
	if node == "" {
		node = "-"
	}
	line := fmt.Sprintf("%-24s %-10s %-20s %-*s %-*s ", verdict, confidence, died, l.Node, node, l.Runner, runner)
	room := l.Width - utf8.RuneCountInString(line)
	switch {
	case l.Width <= 0:
		line += summary
	case room >= leastSummary:
		line += cut(summary, room)
	}
	return strings.TrimRight(line, " ")
}

// leastSummary is how many columns a summary is worth having in. With fewer it
// is left out; names are never cut, for people copy them.
const leastSummary = 20

func diedAt(v *rules.Verdict) string {
	if v.DiedAt == nil {
		return "-"
	}
	return v.DiedAt.UTC().Format(clock)
}

// MarkdownList writes a table with a row for each verdict.
func MarkdownList(w io.Writer, verdicts []rules.Verdict) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "| verdict | confidence | died at | node | runner | summary |\n|---|---|---|---|---|---|\n")
	for i := range verdicts {
		v := &verdicts[i]
		m := markdown{v: v}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", cell(string(v.Label)), cell(string(v.Confidence)), diedAt(v), noBar(code(v.Node)), noBar(m.whose()), cell(v.Summary))
	}
	return out.Flush()
}

// noBar keeps text in its cell of a table: a bar ends a cell even in a code span.
func noBar(s string) string { return strings.ReplaceAll(s, "|", "¦") }

// cell is prose in a cell of a table.
func cell(s string) string { return prose(noBar(s)) }
