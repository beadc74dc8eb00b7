package main

import (
	"coroner/rules"
	"coroner/rules/describe"
)

type rulesExplainCmd struct {
	rulesFlag
	First  string `arg:"" name:"rule" help:"A verdict rule." complete:"rules"`
	Second string `arg:"" name:"other" help:"Another one." complete:"rules"`
}

// Help is shown by coroner rules explain --help.
func (rulesExplainCmd) Help() string {
	return `Example:
  coroner rules explain cgroup-OOM-kernel-kill runner-crash-signal   # which wins where both fit, and why`
}

// Run says which of two rules wins where both fit, and what tells them apart.
func (c *rulesExplainCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	var both [2]*rules.Rule
	for i, id := range []string{c.First, c.Second} {
		if both[i] = book.Rule(id); both[i] == nil {
			return usage("no rule is called %q; coroner rules list names them all", id)
		}
	}
	if both[0] == both[1] {
		return usage("%s twice; name two rules", c.First)
	}
	return describe.Two(p.out, book, both[0], both[1])
}
