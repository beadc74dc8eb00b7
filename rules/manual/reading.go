package manual

import (
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/rules"
)

// ReadingName is the name of the file that says what each label takes.
const ReadingName = "reading.md"

// Reading is what is read of a cluster: whose lines come, and whose logs are known to have come
// whole, so that their silence tells.
type Reading struct {
	Title string
	Lines []ingest.Source
	Whole []ingest.Source
}

var (
	inPods = []ingest.Source{ingest.Runner, ingest.Job, ingest.Controller, ingest.Listener}
	onNode = []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd}
)

// Readings are the ways to run coroner, from all that it can read to the least. Of pods' logs a
// Loki has what was read of them; nobody vouches for a journal that it has.
var Readings = []Reading{
	{"agents, and the API", ingest.Sources, ingest.Sources},
	{"no agents, pods' logs and journals in Loki", slices.Concat(inPods, onNode), inPods},
	{"no agents, only pods' logs in Loki", inPods, inPods},
}

// weaker is a confidence one step below.
var weaker = map[rules.Confidence]rules.Confidence{
	rules.Confirmed: rules.Probable, rules.Probable: rules.Suspected, rules.Suspected: rules.Suspected,
}

// Best is the most that a label can be with what is read, by the rules for it and the sources of
// their deciding lines, and the rules that reach it. It says false where none can.
func (r Reading) Best(book *rules.Rulebook, label rules.Label) (best rules.Confidence, by []string, ok bool) {
	for _, rule := range book.Rules {
		c, fits := r.most(book, rule)
		switch {
		case rule.Label != label || !fits || ok && best.Better(c):
			continue
		case !ok || c.Better(best):
			by = nil
		}
		best, by, ok = c, append(by, rule.ID), true
	}
	return best, by, ok
}

// most is the most that a rule can claim; false where none of its deciding lines is read. Only a
// line that no job can write confirms, and a log that the rule needs whole costs a step.
func (r Reading) most(book *rules.Rulebook, rule *rules.Rule) (c rules.Confidence, ok bool) {
	c = rule.Confidence
	read, proven := len(rule.Deciding) == 0, false
	for _, name := range rule.Deciding {
		for _, s := range book.Signal(name).Sources {
			if slices.Contains(r.Lines, s) {
				read, proven = true, proven || !s.Forgeable()
			}
		}
	}
	if c == rules.Confirmed && !proven {
		c = rules.Probable
	}
	if slices.ContainsFunc(rule.Needs, func(s ingest.Source) bool { return !slices.Contains(r.Whole, s) }) {
		c = weaker[c]
	}
	return c, read
}

// readingPage is the table of what each label can be at most, by what is read.
func readingPage(book *rules.Rulebook) string {
	d := &document{}
	d.writeLine("# What is lost without the agent")
	d.writeLine("The most that a verdict of each label can be, by what is read. It follows from what its rules " +
		"claim and from the sources of the lines that decide them. A rule that needs a log whole claims one step " +
		"less where nobody vouches for that. Where nothing is left, a death of this kind is `unknown`, or gets the " +
		"label of what it looks like. The last column has the rules that still reach that with pods' logs alone.")
	head, line := "| label |", "|---|"
	for _, r := range Readings {
		head, line = head+" "+r.Title+" |", line+"---|"
	}
	d.writeTable(head+" with those, by |", line+"---|")
	for _, label := range book.LabelOrder() {
		row, was := "| "+linkTo(label)+" |", rules.Confidence("")
		var by []string
		for i, r := range Readings {
			c, rest, ok := r.Best(book, label)
			cell := string(c)
			if !ok {
				cell = "unknown"
			}
			if i > 0 && c != was {
				cell = "**" + cell + "**"
			}
			row, was, by = row+" "+cell+" |", c, rest
		}
		d.writeTable(row + " " + ruleNames(by) + " |")
	}
	return d.String()
}

// ruleNames are names in a table.
func ruleNames(names []string) string {
	for i, n := range names {
		names[i] = "`" + n + "`"
	}
	return strings.Join(names, " ")
}
