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
	d.line("# %s", p.Label)
	d.line("%s", text(p.Meaning))
	d.line("**Whose business** (`%s`): %s", p.Domain, text(p.Business))
	d.line("**Run it again?** (`%s`) %s", p.Retry, text(p.Again))
	if p.Advice != "" {
		d.line("**What to do:** %s", text(p.Advice))
	}
	d.confused(p.Confused)
	d.decided(p)
	d.excluded(p)
	d.find(p)
	return d.String()
}

// Index is the list of all pages.
func Index(pages []Page) string {
	d := &document{}
	d.line("# Verdicts")
	d.line("One page per label: what it means, what decides it, what it is confused with and what to do.")
	d.line(
		"%s",
		text(
			"In what a verdict says, ‹name› stands for a value and […] for words that are there only where they apply.",
		),
	)
	d.table("| label | meaning |", "|---|---|")
	for _, p := range pages {
		d.table(fmt.Sprintf("| %s | %s |", link(p.Label), cell(p.Meaning)))
	}
	return d.String()
}

// document collects blocks with an empty line between them.
type document struct {
	strings.Builder
	incidents string
	inTable   bool
}

func (d *document) line(format string, args ...any) {
	if d.Len() > 0 {
		d.WriteByte('\n')
	}
	d.inTable = false
	fmt.Fprintf(d, format+"\n", args...)
}

// table adds rows to the table or list that is being written, or begins one.
func (d *document) table(rows ...string) {
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
	d.line("## Or is it …")
	for _, c := range list {
		d.line("**%s?** %s", link(c.Label), text(c.Meaning))
		d.line("%s", text(c.Apart))
	}
}

func (d *document) decided(p Page) {
	d.line("## What decides it")
	d.line(
		"The rules in the order in which they are tried, among those of all labels. The first that fits is the verdict.",
	)
	for _, r := range p.Rules {
		d.rule(r)
	}
}

func (d *document) rule(r Rule) {
	d.line("### %s", r.ID)
	d.line("%s", text(r.Doc))
	d.line("Precedence %d, at most **%s**.%s", r.Precedence, r.AtMost, r.conditions())
	d.line("> %s", text(r.Says))
	if r.Advice != "" {
		d.line("What to do: %s", text(r.Advice))
	}
	d.signals(r.Signals)
	d.shown(r)
}

// shown lists what proves that the rule does what it says.
func (d *document) shown(r Rule) {
	if len(r.Incidents)+len(r.Tests) > 0 {
		d.line("Shown by")
	}
	for _, in := range r.Incidents {
		d.table(d.incident(in))
	}
	for _, name := range r.Tests {
		d.table("- its own test: " + text(name))
	}
}

// conditions is what else is to know of a rule, a sentence each.
func (r Rule) conditions() string {
	var sb strings.Builder
	if len(r.Needs) > 0 {
		fmt.Fprintf(&sb, " One step less if %s was not read over the death.", either(r.Needs))
	}
	if r.Retry != "" {
		fmt.Fprintf(&sb, " %s", again[r.Retry])
	}
	if r.Domain != "" {
		fmt.Fprintf(&sb, " Domain %s.", r.Domain)
	}
	return sb.String()
}

func (d *document) signals(list []Signal) {
	if len(list) == 0 {
		d.line("No line decides it alone; all that was read does, taken together.")
		return
	}
	d.line("Lines that can decide:")
	d.table("| signal | it says | from | printed by |", "|---|---|---|---|")
	for _, s := range list {
		d.table(
			fmt.Sprintf("| `%s` | %s | %s | %s |", s.Name, cell(s.Doc), strings.Join(s.Sources, ", "), cell(s.Printed)),
		)
	}
}

func (d *document) incident(in Incident) string {
	if d.incidents == "" {
		return fmt.Sprintf("- `%s`: %s", in.Name, text(in.Story))
	}
	return fmt.Sprintf("- [%s](%s/%s.txtar): %s", in.Name, d.incidents, in.Name, text(in.Story))
}

func (d *document) excluded(p Page) {
	if len(p.RuledOut) > 0 {
		d.line("## What rules it out")
		for _, r := range p.RuledOut {
			d.table("- " + text(r))
		}
	}
	if p.Needs != "" {
		d.line("## What would decide it")
		d.line("While it is open, this would: %s.", text(p.Needs))
	}
}

func (d *document) find(p Page) {
	d.line("## Find them")
	for _, q := range p.Queries {
		d.line("%s:", q.In)
		d.line("    %s", q.Text)
	}
	d.line("The rules and signals in the rulebook in force:")
	d.line("    %s", p.Describe)
}

func link(l rules.Label) string { return fmt.Sprintf("[%s](%s)", l, Name(l)) }

// text is plain text as Markdown: on one line, and nothing in it is markup.
func text(s string) string { return escaper.Replace(strings.Join(strings.Fields(s), " ")) }

// cell is text for a table.
func cell(s string) string { return strings.ReplaceAll(text(s), "|", `\|`) }

var escaper = strings.NewReplacer("<", "&lt;", "*", `\*`, "`", "\\`", "[", `\[`)

func either(list []string) string {
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

// Lists are the words that a rule can be written in: each fact and each signal of
// the rulebook with one line on what it means, by file name.
func Lists(book *rules.Rulebook) map[string]string {
	return map[string]string{FactsName: facts(book), SignalsName: signals(book)}
}

func facts(book *rules.Rulebook) string {
	d := &document{}
	d.line("# Facts")
	d.line(
		"A fact is a condition with a name. Rules and other facts use it like a word; `rules/book/*.yaml` has what stands behind it.",
	)
	d.table("| fact | what it says |", "|---|---|")
	for _, f := range book.Facts {
		d.table(fmt.Sprintf("| `%s` | %s |", f.Name, cell(f.Doc)))
	}
	return d.String()
}

func signals(book *rules.Rulebook) string {
	d := &document{}
	d.line("# Signals")
	d.line(
		"A signal is a line that a program is known to print. Which sources may prove it stands in the second column: from any other it is a claim.",
	)
	d.table("| signal | sources | what the line says | printed by |", "|---|---|---|---|")
	for _, s := range book.Signals {
		d.table(
			fmt.Sprintf(
				"| `%s` | %s | %s | %s |",
				s.Name,
				strings.Join(words(s.Sources), " "),
				cell(s.Doc),
				cell(s.Printed),
			),
		)
	}
	return d.String()
}
