package rules

import (
	"cmp"
	"math"
	"slices"

	"coroner/rules/yamlfile"
)

// orderRules puts the rules into the order in which they are tried: as the families list
// them, or by a precedence of their own, of two with the same by name, and one that names
// a neighbour beside that.
func (b *builder) orderRules() {
	b.numberFamilies()
	slices.SortStableFunc(b.book.Rules, func(x, y *Rule) int {
		return cmp.Or(cmp.Compare(y.Precedence, x.Precedence), cmp.Compare(x.ID, y.ID))
	})
	for _, s := range b.specs.verdicts {
		b.placeRule(s)
	}
	ids := b.book.ruleIDs(nil)
	for _, s := range b.specs.verdicts { // another rule's wish can be against it
		id, before := s.place.neighbour()
		at, other := slices.Index(ids, s.id.Value), slices.Index(ids, id.Value)
		if at >= 0 && other >= 0 && (at < other) != before {
			b.errs.Add(id.Pos, "rule %s and another one cannot both stand where they ask to: "+
				"before and after go in a circle", s.id.Value)
		}
	}
}

// numberFamilies gives the rules of each family their numbers, counted down from the
// family's. A rule that says itself where it stands, as one may that is laid over a
// built-in one, keeps to that.
func (b *builder) numberFamilies() {
	specs, listed := map[string]ruleSpec{}, map[string]bool{}
	for _, s := range b.specs.verdicts {
		specs[s.id.Value] = s
	}
	last := math.MaxInt
	for _, family := range b.specs.order {
		if family.at >= last {
			b.errs.Add(family.name.Pos, "family %q begins at %d, but the rules before it count down to %d",
				family.name.Value, family.at, last)
		}
		for i, id := range family.rules {
			last = family.at - i
			s, known := specs[id.Value]
			if !known || listed[id.Value] {
				b.errs.Add(id.Pos, "the order names rule %q, which is not there or was named before%s", id.Value,
					yamlfile.Nearest(id.Value, b.book.ruleIDs(nil)))
			}
			listed[id.Value] = true
			if rule := b.book.Rule(id.Value); rule != nil && !s.place.given() {
				rule.Precedence = last
			}
		}
	}
}

// given says whether a rule says where it stands.
func (p placeSpec) given() bool {
	return p.precedence != 0 || p.before.Value != "" || p.after.Value != ""
}

// neighbour is the rule that another is to stand beside, and on which side.
func (p placeSpec) neighbour() (id yamlfile.Text, before bool) {
	if p.before.Value != "" {
		return p.before, true
	}
	return p.after, false
}

// placeRule puts a rule that names a neighbour directly beside it.
func (b *builder) placeRule(s ruleSpec) {
	id, before := s.place.neighbour()
	rule, other := b.book.Rule(s.id.Value), b.book.Rule(id.Value)
	switch {
	case id.Value == "" || rule == nil: // it names none, or did not compile
		return
	case s.place.precedence != 0 || s.place.before.Value != "" && s.place.after.Value != "":
		b.errs.Add(id.Pos, "rule %s: give one of precedence, before and after", rule.ID)
		return
	case other == nil || other == rule:
		b.errs.Add(id.Pos, "unknown rule %q%s", id.Value, yamlfile.Nearest(id.Value, b.book.ruleIDs(rule)))
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

func (b *Rulebook) ruleIDs(but *Rule) (out []string) {
	for _, r := range b.Rules {
		if r != but {
			out = append(out, r.ID)
		}
	}
	return out
}
