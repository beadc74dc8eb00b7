package rules

import "coroner/rules/casefile"

// Verify evaluates every condition of the rulebook on a case, whether or not
// Judge would reach it, and returns the errors that Judge takes for "no". A
// rulebook's tests call it on every case that they have.
func (b *Rulebook) Verify(c *casefile.Case) (bad []error) {
	env := b.caseEnvironment(c, casefile.Examine(c))
	try := func(programs ...*program) {
		for _, p := range programs {
			if _, err := p.tryEvaluate(env); err != nil {
				bad = append(bad, err)
			}
		}
	}
	for _, f := range b.Facts {
		try(f.value)
	}
	for _, r := range b.Rules {
		try(r.when)
		try(r.decisive...)
	}
	for _, l := range b.Labels {
		try(l.possible)
		for _, x := range l.ruledOut {
			try(x.when)
		}
	}
	return bad
}
