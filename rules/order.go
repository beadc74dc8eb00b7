package rules

import (
	"cmp"
	"slices"
)

// order puts the rules into the order in which they are tried: by precedence, of
// two with the same by name, and one that names a neighbour beside that.
func (b *builder) order() {
	slices.SortStableFunc(b.book.Rules, func(x, y *Rule) int {
		return cmp.Or(cmp.Compare(y.Precedence, x.Precedence), cmp.Compare(x.ID, y.ID))
	})
	for _, s := range b.specs.verdicts {
		b.place(s)
	}
	for _, s := range b.specs.verdicts {
		b.placed(s)
	}
}

// neighbour is the rule that s is to stand beside, and on which side.
func (s ruleSpec) neighbour() (id scalar, before bool) {
	if s.before.value != "" {
		return s.before, true
	}
	return s.after, false
}

// place puts a rule that names a neighbour directly beside it.
func (b *builder) place(s ruleSpec) {
	id, before := s.neighbour()
	if id.value == "" {
		return
	}
	rule, other := b.book.Rule(s.id.value), b.book.Rule(id.value)
	switch {
	case rule == nil:
		return // it did not compile
	case s.precedence != 0 || s.before.value != "" && s.after.value != "":
		b.errs.add(id.pos, "rule %s: give one of precedence, before and after", rule.ID)
		return
	case other == nil || other == rule:
		b.errs.add(id.pos, "unknown rule %q%s", id.value, nearest(id.value, b.ruleIDs(rule)))
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

// placed holds that a rule stands on the side of its neighbour that it asks for:
// another rule's wish can be against it.
func (b *builder) placed(s ruleSpec) {
	id, before := s.neighbour()
	at := slices.IndexFunc(b.book.Rules, func(r *Rule) bool { return r.ID == s.id.value })
	other := slices.IndexFunc(b.book.Rules, func(r *Rule) bool { return r.ID == id.value })
	if id.value != "" && at >= 0 && other >= 0 && (at < other) != before {
		b.errs.add(
			id.pos,
			"rule %s and another one cannot both stand where they ask to: before and after go in a circle",
			s.id.value,
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
