package main

import (
	"fmt"

	"coroner/classify/lookup"
	"coroner/cmd/choice"
	"coroner/cmd/listforms"
)

// chooseRunners is the runners that are shown: all that were found, or the one that a
// person at a terminal chooses. Nobody is asked where a program reads the answer.
func (p *program) chooseRunners(form listforms.Form, found lookup.Answer) ([]lookup.Runner, error) {
	runners := choice.LatestFirst(found.Runners)
	person := p.tty(p.in) && p.tty(p.err)
	if !form.ForPeople() {
		person = person && p.tty(p.out)
	}
	if len(runners) > 1 && !person {
		fmt.Fprintf(p.err, "coroner: %d runners fit; all are shown, the latest first\n", len(runners))
	}
	if len(runners) < 2 || !person {
		return runners, nil
	}
	return choice.Ask(p.in, p.err, runners)
}
