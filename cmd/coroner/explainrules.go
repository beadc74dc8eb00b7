package main

import (
	"fmt"
	"slices"
	"strings"

	"coroner/rules"
)

type rulesExplainCmd struct {
	rulesFlag
	First  string `arg:"" name:"rule" help:"A verdict rule."`
	Second string `arg:"" name:"other" help:"Another one."`
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
	place := func(r *rules.Rule) int { return slices.Index(book.Rules, r) + 1 }
	if place(both[0]) > place(both[1]) {
		both[0], both[1] = both[1], both[0]
	}
	winner, loser := both[0], both[1]
	fmt.Fprintf(p.out, "Where both fit, %s wins: it is tried before %s (places %d and %d of %d; %s).\n",
		winner.ID, loser.ID, place(winner), place(loser), len(book.Rules), orderOf(winner, loser))
	if winner.Label == loser.Label {
		fmt.Fprintf(
			p.out,
			"Both say %s, so the label is the same; evidence, summary and confidence are those of the first.\n",
			winner.Label,
		)
	}
	for _, r := range both {
		p.conditions(r)
	}
	p.shared(winner, loser)
	p.apart(book, winner.Label, loser.Label)
	return nil
}

// orderOf says what their order comes from.
func orderOf(winner, loser *rules.Rule) string {
	if winner.Precedence == loser.Precedence {
		return fmt.Sprintf("both have precedence %d, so their names decide", winner.Precedence)
	}
	return fmt.Sprintf("precedence %d and %d", winner.Precedence, loser.Precedence)
}

// conditions are what a rule needs to fit.
func (p *program) conditions(r *rules.Rule) {
	fmt.Fprintf(p.out, "\n%s  (%s, at most %s)\n  %s\n", r.ID, r.Label, r.Confidence, r.Doc)
	if when := r.When(); when != "" {
		fmt.Fprintf(p.out, "  fits where    %s\n", when)
	}
	for _, d := range r.Decisive() {
		fmt.Fprintf(p.out, "  decided by    %s\n", d)
	}
	for _, n := range r.Needs {
		fmt.Fprintf(p.out, "  needs         %s read over the death, else it is less sure\n", n)
	}
}

// shared are the signals that both rules look at.
func (p *program) shared(a, b *rules.Rule) {
	var both []string
	for _, s := range a.Signals {
		if slices.Contains(b.Signals, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		fmt.Fprintln(p.out, "\nThey look at no signal in common: both fit only where a death has the lines of both.")
		return
	}
	fmt.Fprintf(p.out, "\nBoth look at %s.\n", strings.Join(both, ", "))
}

// apart is how the labels' pages tell two labels from each other.
func (p *program) apart(book *rules.Rulebook, a, b rules.Label) {
	if d := book.Labels[a]; d != nil {
		for _, c := range d.Confused {
			if c.Label == b {
				fmt.Fprintf(p.out, "\n%s or %s? %s\n", a, b, c.Apart)
			}
		}
	}
}
