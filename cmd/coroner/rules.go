package main

import (
	"fmt"
	"io/fs"
	"os"

	"coroner/classify/booktest"
	"coroner/fixtures"
	"coroner/rules"
	builtin "coroner/rules/book"
	"coroner/rules/describe"
)

type rulesCmd struct {
	Check     rulesCheckCmd     `cmd:"" help:"${rules_check}"`
	List      rulesListCmd      `cmd:"" help:"List labels, and verdict rules in the order in which they are tried."`
	Describe  rulesDescribeCmd  `cmd:"" help:"Say what a label, rule or signal means and what decides it."`
	Explain   rulesExplainCmd   `cmd:"" help:"Say which of two rules wins where both fit, and what tells them apart."`
	New       rulesNewCmd       `cmd:"" help:"Draft a signal from a line that the rulebook does not know."`
	Test      rulesTestCmd      `cmd:"" help:"Run the rulebook's tests."`
	Catalogue rulesCatalogueCmd `cmd:"" help:"Print how much of a list of message templates the rulebook knows."`
	Docs      rulesDocsCmd      `cmd:"" help:"Write a page of documentation for every label."`
}

type rulesFlag struct {
	Rules string `help:"${input_rules}" placeholder:"DIR"`
}

type rulesCheckCmd struct{ rulesFlag }

// Run compiles the rulebook, and refuses rules that claim more than they can show.
func (c *rulesCheckCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	if _, err := loadPlumbing(c.Rules); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "rulebook %s: %d signals, %d facts, %d verdict rules, %d labels, %d kinds of secrets\n",
		book.Hash, len(book.Signals), len(book.Facts), len(book.Rules), len(book.Labels), len(book.Secrets))
	losers, err := fixtures.NearMisses()
	if err != nil {
		return err
	}
	missing := book.CheckConfirmed(losers)
	for _, m := range missing {
		fmt.Fprintln(p.out, m)
	}
	if err := c.runTests(p, book); err != nil || len(missing) == 0 {
		return err
	}
	return exitError{exitUsage, fmt.Errorf("%d times a rule claims confirmed without what that takes", len(missing))}
}

type rulesTestCmd struct{ rulesFlag }

// Run runs the tests.
func (c *rulesTestCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	return c.runTests(p, book)
}

func (f rulesFlag) runTests(p *program, book *rules.Rulebook) error {
	tests := fs.FS(builtin.Tests)
	if f.Rules != "" {
		tests = os.DirFS(f.Rules)
	}
	failed, ran, err := booktest.Run(book, tests)
	if err != nil {
		return badBook(err)
	}
	for _, text := range failed {
		fmt.Fprintln(p.out, text)
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
	return describe.List(p.out, book, c.Signals)
}

type rulesDescribeCmd struct {
	rulesFlag
	Name string `arg:"" help:"A label, a rule id, a signal or a kind of secret." complete:"entries"`
}

// Run describes one thing.
func (c *rulesDescribeCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	if described, err := describe.Name(p.out, book, c.Name); described {
		return err
	}
	return usage("no label, rule or signal is called %q; coroner rules list --signals names them all", c.Name)
}
