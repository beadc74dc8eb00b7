package manual

import (
	"fmt"
	"strings"

	"coroner/rules"
)

// Name is the name of a label's file in a folder of pages.
func Name(l rules.Label) string { return string(l) + ".md" }

// IndexName is the name of the file that lists the pages.
const IndexName = "labels.md"

// Markdown is the page as a document that stands beside those of the other
// labels. Incidents is the address of the folder of incidents, or "" where
// there is none to link to.
func (p Page) Markdown(incidents string) string {
	d := &document{incidents: incidents}
	d.writeLine("# %s", p.Label)
	d.writeLine("%s", plainMarkdown(p.Meaning))
	d.writeLine("**Whose business** (`%s`): %s", p.Domain, plainMarkdown(p.Business))
	d.writeLine("**Run it again?** (`%s`) %s", p.Retry, plainMarkdown(p.Again))
	if p.Advice != "" {
		d.writeLine("**What to do:** %s", plainMarkdown(p.Advice))
	}
	if len(p.ByLine) > 0 {
		d.writeLine("Depending on what the line says, or on who caused it, a verdict advises one of these instead:")
		d.WriteByte('\n')
		for _, advice := range p.ByLine {
			d.writeTable("- " + plainMarkdown(advice))
		}
	}
	d.confused(p.Confused)
	d.writeDecided(p)
	d.excluded(p)
	d.writeQueries(p)
	return d.String()
}

// Index is the list of all pages.
func Index(pages []Page) string {
	d := &document{}
	d.writeLine("# Verdicts")
	d.writeLine("One page per label: what it means, what decides it, what it is confused with and what to do.")
	d.writeLine(
		"%s",
		plainMarkdown(
			"In what a verdict says, ‹name› stands for a value and […] for words that are there only where they apply.",
		),
	)
	d.writeLine("What each of them takes, and what is lost without the agent: [%s](%s).", "what is read", ReadingName)
	d.writeTable("| label | meaning |", "|---|---|")
	for _, p := range pages {
		d.writeTable(fmt.Sprintf("| %s | %s |", linkTo(p.Label), tableCell(p.Meaning)))
	}
	return d.String()
}

// document collects blocks with an empty line between them.
type document struct {
	strings.Builder
	incidents string
	inTable   bool
}

func (d *document) writeLine(format string, args ...any) {
	if d.Len() > 0 {
		d.WriteByte('\n')
	}
	d.inTable = false
	fmt.Fprintf(d, format+"\n", args...)
}

// writeTable adds rows to the table or list that is being written, or begins one.
func (d *document) writeTable(rows ...string) {
	if !d.inTable {
		d.WriteByte('\n')
	}
	d.inTable = true
	d.WriteString(strings.Join(rows, "\n") + "\n")
}

func (d *document) confused(list []Confusion) {
	if len(list) == 0 {
		return
	}
	d.writeLine("## Or is it …")
	for _, c := range list {
		d.writeLine("**%s?** %s", linkTo(c.Label), plainMarkdown(c.Meaning))
		d.writeLine("%s", plainMarkdown(c.Apart))
	}
}

func (d *document) writeDecided(p Page) {
	d.writeLine("## What decides it")
	d.writeLine(
		"The rules in the order in which they are tried, among those of all labels. The first that fits is the " +
			"verdict.",
	)
	for _, r := range p.Rules {
		d.writeRule(r)
	}
}

func (d *document) writeRule(r Rule) {
	d.writeLine("### %s", r.ID)
	d.writeLine("%s", plainMarkdown(r.Doc))
	d.writeLine("Precedence %d, at most **%s**.%s", r.Precedence, r.AtMost, r.conditions())
	d.writeLine("> %s", plainMarkdown(r.Says))
	if r.Advice != "" {
		d.writeLine("What to do: %s", plainMarkdown(r.Advice))
	}
	d.writeSignals(r.Signals)
	d.writeProof(r)
}

// writeProof lists what proves that the rule does what it says.
func (d *document) writeProof(r Rule) {
	if len(r.Incidents)+len(r.Tests) > 0 {
		d.writeLine("Shown by")
	}
	for _, in := range r.Incidents {
		d.writeTable(d.incident(in))
	}
	for _, name := range r.Tests {
		d.writeTable("- its own test: " + plainMarkdown(name))
	}
}

// conditions is what else is to know of a rule, a sentence each.
func (r Rule) conditions() string {
	var sb strings.Builder
	if len(r.Needs) > 0 {
		fmt.Fprintf(&sb, " One step less if %s was not read over the death.", anyOfThem(r.Needs))
	}
	if r.Retry != "" {
		fmt.Fprintf(&sb, " %s", again[r.Retry])
	}
	if r.Domain != "" {
		fmt.Fprintf(&sb, " Domain %s.", r.Domain)
	}
	return sb.String()
}

func (d *document) writeSignals(list []Signal) {
	if len(list) == 0 {
		d.writeLine("No line decides it alone; all that was read does, taken together.")
		return
	}
	d.writeLine("Lines that can decide:")
	d.writeTable("| signal | it says | from | printed by |", "|---|---|---|---|")
	for _, s := range list {
		d.writeTable(
			fmt.Sprintf("| `%s` | %s | %s | %s |", s.Name, tableCell(s.Doc), strings.Join(s.Sources, ", "),
				tableCell(s.Printed)),
		)
	}
}

func (d *document) incident(in Incident) string {
	if d.incidents == "" {
		return fmt.Sprintf("- `%s`: %s", in.Name, plainMarkdown(in.Story))
	}
	return fmt.Sprintf("- [%s](%s/%s.txtar): %s", in.Name, d.incidents, in.Name, plainMarkdown(in.Story))
}

func (d *document) excluded(p Page) {
	if len(p.RuledOut) > 0 {
		d.writeLine("## What rules it out")
		for _, r := range p.RuledOut {
			d.writeTable("- " + plainMarkdown(r))
		}
	}
	if p.Needs != "" {
		d.writeLine("## What would decide it")
		d.writeLine("While it is open, this would: %s.", plainMarkdown(p.Needs))
	}
}

func (d *document) writeQueries(p Page) {
	d.writeLine("## Find them")
	for _, q := range p.Queries {
		d.writeLine("%s:", q.In)
		d.writeLine("    %s", q.Text)
	}
	d.writeLine("The rules and signals in the rulebook in force:")
	d.writeLine("    %s", p.Describe)
}

func linkTo(l rules.Label) string { return fmt.Sprintf("[%s](%s)", l, Name(l)) }

// plainMarkdown is plain text as Markdown: on one line, and nothing in it is markup.
func plainMarkdown(s string) string { return escaper.Replace(strings.Join(strings.Fields(s), " ")) }

// tableCell is text for a table.
func tableCell(s string) string { return strings.ReplaceAll(plainMarkdown(s), "|", `\|`) }

var escaper = strings.NewReplacer("<", "&lt;", "*", `\*`, "`", "\\`", "[", `\[`)

func anyOfThem(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// Files is a folder of pages: the index and one file for each label.
func Files(pages []Page, incidents string) map[string]string {
	files := map[string]string{IndexName: Index(pages)}
	for _, p := range pages {
		files[Name(p.Label)] = p.Markdown(incidents)
	}
	return files
}

// The files of the lists that go with the pages.
const (
	FactsName   = "facts.md"
	SignalsName = "signals.md"
)

// Lists are the words that a rule can be written in, each fact and each signal of
// the rulebook with one line on what it means, and what each label takes, by file name.
func Lists(book *rules.Rulebook) map[string]string {
	return map[string]string{
		FactsName: factsPage(book), SignalsName: signalsPage(book), ReadingName: readingPage(book),
	}
}

func factsPage(book *rules.Rulebook) string {
	d := &document{}
	d.writeLine("# Facts")
	d.writeLine(
		"A fact is a condition with a name. Rules and other facts use it like a word; " +
			"`rules/book/*.yaml` has what stands behind it, and `*_test.yaml` beside it documents in which it holds, " +
			"or nearly does.",
	)
	d.writeTable("| fact | what it says |", "|---|---|")
	for _, f := range book.Facts {
		d.writeTable(fmt.Sprintf("| `%s` | %s |", f.Name, tableCell(f.Doc)))
	}
	return d.String()
}

func signalsPage(book *rules.Rulebook) string {
	d := &document{}
	d.writeLine("# Signals")
	d.writeLine(
		"A signal is a line that a program is known to print. Which sources may prove it stands in the second " +
			"column: from any other it is a claim.",
	)
	d.writeTable("| signal | sources | what the line says | printed by |", "|---|---|---|---|")
	for _, s := range book.Signals {
		d.writeTable(
			fmt.Sprintf(
				"| `%s` | %s | %s | %s |",
				s.Name,
				strings.Join(sourceWords(s.Sources), " "),
				tableCell(s.Doc),
				tableCell(s.Printed),
			),
		)
	}
	return d.String()
}
