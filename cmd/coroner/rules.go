package main

import (
	"fmt"
	"slices"
	"strings"

	"coroner/classify"
	"coroner/rules"
	"coroner/rules/redact"
	"coroner/rules/signal"
)

type rulesCmd struct {
	Check     rulesCheckCmd     `cmd:"" help:"Compile the rulebook and run its inline tests."`
	List      rulesListCmd      `cmd:"" help:"List labels, and verdict rules in the order in which they are tried."`
	Describe  rulesDescribeCmd  `cmd:"" help:"Say what a label, rule or signal means and what decides it."`
	Explain   rulesExplainCmd   `cmd:"" help:"Say which of two rules wins where both fit, and what tells them apart."`
	New       rulesNewCmd       `cmd:"" help:"Draft a signal from a line that the rulebook does not know."`
	Test      rulesTestCmd      `cmd:"" help:"Run the rulebook's inline tests."`
	Catalogue rulesCatalogueCmd `cmd:"" help:"Print the share of lists of message templates that the rulebook knows."`
	Docs      rulesDocsCmd      `cmd:"" help:"Write a page of documentation for every label."`
}

type rulesFlag struct {
	Rules string `help:"${input_rules}" placeholder:"DIR"`
}

type rulesCheckCmd struct{ rulesFlag }

// Run compiles the rulebook.
func (c *rulesCheckCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "rulebook %s: %d signals, %d facts, %d verdict rules, %d labels, %d kinds of secrets\n",
		book.Hash, len(book.Signals), len(book.Facts), len(book.Rules), len(book.Labels), len(book.Secrets))
	return runTests(p, book)
}

type rulesTestCmd struct{ rulesFlag }

// Run runs the inline tests.
func (c *rulesTestCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	return runTests(p, book)
}

func runTests(p *program, book *rules.Rulebook) error {
	failed, ran := classify.TestBook(book)
	for _, f := range failed {
		fmt.Fprintln(p.out, f)
	}
	fmt.Fprintf(p.out, "%d tests, %d failed\n", ran, len(failed))
	if len(failed) > 0 {
		return exitError{exitUsage, fmt.Errorf("%d tests of the rulebook failed", len(failed))}
	}
	return nil
}

type rulesListCmd struct {
	rulesFlag
	Signals bool `help:"List the signals and the kinds of secrets too."`
}

// Run lists what the rulebook knows, in the order in which rules are tried.
func (c *rulesListCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%-24s %-9s %s\n", "LABEL", "DOMAIN", "MEANING")
	for _, l := range rules.Labels {
		if d := book.Labels[l]; d != nil {
			fmt.Fprintf(p.out, "%-24s %-9s %s\n", l, d.Domain, d.Doc)
		}
	}
	fmt.Fprintf(p.out, "\n%-4s %-24s %-10s %s\n", "PREC", "VERDICT", "AT MOST", "RULE")
	for _, r := range book.Rules {
		fmt.Fprintf(p.out, "%4d %-24s %-10s %s\n", r.Precedence, r.Label, r.Confidence, r.ID)
	}
	if c.Signals {
		fmt.Fprintf(p.out, "\n%-32s %-28s %s\n", "SIGNAL", "SOURCES", "MEANING")
		for _, s := range book.Signals {
			fmt.Fprintf(p.out, "%-32s %-28s %s\n", s.Name, sourcesText(s), s.Doc)
		}
		fmt.Fprintf(p.out, "\n%-32s %s\n", "SECRET", "WHAT IS TAKEN OUT")
		for _, s := range book.Secrets {
			fmt.Fprintf(p.out, "%-32s %s\n", s.Name, s.Doc)
		}
	}
	return nil
}

func sourcesText(s *signal.Def) string {
	var out []string
	for _, x := range s.Sources {
		out = append(out, string(x))
	}
	return strings.Join(out, ",")
}

type rulesDescribeCmd struct {
	rulesFlag
	Name string `arg:"" help:"A label, a rule id, a signal or a kind of secret."`
}

// Run describes one thing.
func (c *rulesDescribeCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	if d := book.Labels[rules.Label(c.Name)]; d != nil {
		p.describeLabel(book, d)
		return nil
	}
	if r := book.Rule(c.Name); r != nil {
		p.describeRule(r)
		return nil
	}
	if s := book.Signal(c.Name); s != nil {
		fmt.Fprintf(p.out, "%s\n  %s\n  printed by  %s\n  may come from  %s\n",
			s.Name, s.Doc, s.Printed, sourcesText(s))
		return nil
	}
	for _, s := range book.Secrets {
		if s.Name == c.Name {
			fmt.Fprintf(p.out, "%s\n  %s\n  shown as  %s\n", s.Name, s.Doc, redact.Mark(s.Name))
			return nil
		}
	}
	return usage("no label, rule or signal is called %q; coroner rules list --signals names them all", c.Name)
}

func (p *program) describeLabel(book *rules.Rulebook, d *rules.LabelDef) {
	fmt.Fprintf(p.out, "%s\n  %s\n\n", d.Label, d.Doc)
	fmt.Fprintf(p.out, "  domain  %s\n  retry   %s\n", d.Domain, d.Retry)
	if d.Advice != "" {
		fmt.Fprintf(p.out, "  advice  %s\n", d.Advice)
	}
	for _, c := range d.Confused {
		fmt.Fprintf(p.out, "\n  or is it %s?\n    %s\n", c.Label, c.Apart)
	}
	fmt.Fprintf(p.out, "\nrules, in the order in which they are tried\n")
	for _, r := range book.Rules {
		if r.Label == d.Label {
			p.describeRule(r)
		}
	}
}

func (p *program) describeRule(r *rules.Rule) {
	fmt.Fprintf(p.out, "\n  %s  (at most %s, precedence %d)\n    %s\n", r.ID, r.Confidence, r.Precedence, r.Doc)
	if len(r.Signals) > 0 {
		fmt.Fprintf(p.out, "    looks at  %s\n", strings.Join(slices.Clone(r.Signals), ", "))
	}
	for _, n := range r.Needs {
		fmt.Fprintf(p.out, "    needs     %s read over the death\n", n)
	}
}
