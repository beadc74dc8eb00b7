package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"coroner/rules"
)

// Layout is how a verdict is put on one line.
type Layout struct {
	Node, Runner int // columns of their names at least
	Cluster      int // columns of the cluster's name; 0 = it is not told
	Width        int // where a line ends, in columns; 0 = nowhere
}

// maxName is how many columns the name of a node or a runner gets: longer ones
// push the rest to the right.
const maxName = 48

// List writes one line for each verdict with the columns' names above, each
// column as wide as it has to be. The cluster is told where there are several.
func List(w io.Writer, verdicts []rules.Verdict, width int) error {
	l := Layout{Node: len("NODE"), Runner: len("RUNNER"), Width: width}
	if severalClusters(verdicts) {
		l.Cluster = len("CLUSTER")
	}
	for i := range verdicts {
		p := page{v: &verdicts[i]}
		l.Node = max(l.Node, min(maxName, utf8.RuneCountInString(shortValue(p.v.Node))))
		l.Runner = max(l.Runner, min(maxName, utf8.RuneCountInString(p.runnerNamed())))
		if l.Cluster > 0 {
			l.Cluster = max(l.Cluster, min(maxName, utf8.RuneCountInString(shortValue(p.v.Cluster))))
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, l.Head())
	for i := range verdicts {
		fmt.Fprintln(out, l.Line(&verdicts[i]))
	}
	return out.Flush()
}

// severalClusters says whether verdicts are of more than one.
func severalClusters(verdicts []rules.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v rules.Verdict) bool { return v.Cluster != verdicts[0].Cluster })
}

// Head is the columns' names.
func (l Layout) Head() string {
	return l.columnsOf("VERDICT", "CONFIDENCE", "DIED AT", "CLUSTER", "NODE", "RUNNER", "SUMMARY")
}

// Line is a verdict on one line. A later revision says so.
func (l Layout) Line(v *rules.Verdict) string {
	p := page{v: v}
	summary := Clean(v.Summary)
	if v.Revision > 1 {
		summary = fmt.Sprintf("(revision %d) %s", v.Revision, summary)
	}
	return l.columnsOf(
		string(v.Label),
		string(v.Confidence),
		diedAt(v),
		shortValue(v.Cluster),
		shortValue(v.Node),
		p.runnerNamed(),
		summary,
	)
}

func (l Layout) columnsOf(verdict, confidence, died, cluster, node, runner, summary string) string {
	line := fmt.Sprintf("%-24s %-10s %-20s ", verdict, confidence, died)
	if l.Cluster > 0 {
		line += fmt.Sprintf("%-*s ", l.Cluster, orDash(cluster))
	}
	line += fmt.Sprintf("%-*s %-*s ", l.Node, orDash(node), l.Runner, runner)
	room := l.Width - utf8.RuneCountInString(line)
	switch {
	case l.Width <= 0:
		line += summary
	case room >= leastSummary:
		line += cutTo(summary, room)
	}
	return strings.TrimRight(line, " ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
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

// MarkdownList writes a table with a row for each verdict. The cluster is told
// where there are several.
func MarkdownList(w io.Writer, verdicts []rules.Verdict) error {
	out, several := bufio.NewWriter(w), severalClusters(verdicts)
	row := func(verdict, confidence, died, cluster, node, runner, summary string) {
		cells := []string{verdict, confidence, died, cluster, node, runner, summary}
		if !several {
			cells = slices.Delete(cells, 3, 4)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	row("verdict", "confidence", "died at", "cluster", "node", "runner", "summary")
	fmt.Fprint(out, "|---|---|---|---|---|---|")
	if several {
		fmt.Fprint(out, "---|")
	}
	fmt.Fprintln(out)
	for i := range verdicts {
		v := &verdicts[i]
		m := markdown{v: v}
		row(
			tableCell(string(v.Label)),
			tableCell(string(v.Confidence)),
			diedAt(v),
			noBar(codeSpan(v.Cluster)),
			noBar(codeSpan(v.Node)),
			noBar(m.runnerNamed()),
			tableCell(v.Summary),
		)
	}
	return out.Flush()
}

// noBar keeps text in its cell of a table: a bar ends a cell even in a code span.
func noBar(s string) string { return strings.ReplaceAll(s, "|", "¦") }

// tableCell is prose in a cell of a table.
func tableCell(s string) string { return plainProse(noBar(s)) }
