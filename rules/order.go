package rules

import (
	"cmp"
	"slices"

	"coroner/rules/yamlfile"
)

// orderRules puts the rules into the order in which they are tried: by precedence, of
// two with the same by name, and one that names a neighbour beside that.
func (b *builder) orderRules() {
	slices.SortStableFunc(b.book.Rules, func(x, y *Rule) int {
		return cmp.Or(cmp.Compare(y.Precedence, x.Precedence), cmp.Compare(x.ID, y.ID))
	})
	for _, s := range b.specs.verdicts {
		b.placeRule(s)
	}
	for _, s := range b.specs.verdicts {
		b.checkPlace(s)
	}
}

// neighbour is the rule that s is to stand beside, and on which side.
func (s ruleSpec) neighbour() (id yamlfile.Text, before bool) {
	if s.before.Value != "" {
		return s.before, true
	}
	return s.after, false
}

// placeRule puts a rule that names a neighbour directly beside it.
func (b *builder) placeRule(s ruleSpec) {
	id, before := s.neighbour()
	if id.Value == "" {
		return
	}
	rule, other := b.book.Rule(s.id.Value), b.book.Rule(id.Value)
	switch {
	case rule == nil:
		return // it did not compile
	case s.precedence != 0 || s.before.Value != "" && s.after.Value != "":
		b.errs.Add(id.Pos, "rule %s: give one of precedence, before and after", rule.ID)
		return
	case other == nil || other == rule:
		b.errs.Add(id.Pos, "unknown rule %q%s", id.Value, yamlfile.Nearest(id.Value, b.ruleIDs(rule)))
		return
	}
	all := slices.DeleteFunc(b.book.Rules, func(r *Rule) bool { return r == rule })
	at := slices.Index(all, other)
	if !before {
		at++
	}
	rule.Precedence = other.Precedence
	b.book.Rules = slices.Insert(all, at, rule)
}

// checkPlace holds that a rule stands on the side of its neighbour that it asks for:
// another rule's wish can be against it.
func (b *builder) checkPlace(s ruleSpec) {
	id, before := s.neighbour()
	at := slices.IndexFunc(b.book.Rules, func(r *Rule) bool { return r.ID == s.id.Value })
	other := slices.IndexFunc(b.book.Rules, func(r *Rule) bool { return r.ID == id.Value })
	if id.Value != "" && at >= 0 && other >= 0 && (at < other) != before {
		b.errs.Add(
			id.Pos,
			"rule %s and another one cannot both stand where they ask to: before and after go in a circle",
			s.id.Value,
		)
	}
}

func (b *builder) ruleIDs(but *Rule) (out []string) {
	for _, r := range b.book.Rules {
		if r != but {
			out = append(out, r.ID)
		}
	}
	return out
}
