package rules

import (
	"fmt"
	"slices"

	"coroner/rules/inline"
	"coroner/rules/signal"
)

// CheckConfirmed says what is missing of rules that claim to be confirmed: a decisive
// line that names the pod, and a test or an incident that the rule must lose. A rule can
// say why it needs neither, in confirmed_because. losers are the rules that some incident
// must not fall for.
func (b *Rulebook) CheckConfirmed(losers map[string]bool) (missing []string) {
	s := b.withoutThePod()
	for _, r := range b.Rules {
		if r.Confidence != Confirmed || r.Because != "" {
			continue
		}
		for _, p := range r.decisive {
			if s.programValue(p) != (noRecord{}) {
				missing = append(missing, fmt.Sprintf("%s: rule %s claims confirmed, but a line that does not name "+
					"the pod can decide it: %q. Ask for .mine, claim probable, or say in confirmed_because: "+
					"why such a line ties the cause to this pod", r.pos, r.ID, p.asWritten()))
			}
		}
		if !losers[r.ID] && !slices.ContainsFunc(r.Tests, r.losesIn) {
			missing = append(missing, fmt.Sprintf("%s: rule %s claims confirmed, but nothing shows that it can lose. "+
				"Add a test with one of its lines and the verdict of another label, or say in confirmed_because: "+
				"why there can be none", r.pos, r.ID))
		}
	}
	return missing
}

// losesIn says whether a test wants another label than the rule's.
func (r *Rule) losesIn(t inline.RuleTest) bool { return t.Verdict != "" && Label(t.Verdict) != r.Label }

// withoutThePod is a sketch of all cases of which no line names the pod.
func (b *Rulebook) withoutThePod() *sketch {
	s := &sketch{book: b, members: map[string]string{}, beside: map[string]bool{}, facts: map[string]any{}, any: true}
	for _, d := range b.Signals {
		s.members[d.Family+"."+memberName(d.Name)] = d.Name
		s.beside[d.Name] = d.Reach.Has(signal.ReachNode)
	}
	for _, f := range b.Facts {
		s.facts[f.Name] = s.programValue(f.value)
	}
	return s
}
