package rules

import "coroner/rules/casefile"

// isRefuted says whether the runner lived on after all that a suspicion of its death stands
// on: the lines that decide, or where the rule names none those that raise the alarm. What is
// more than suspected never is, for a job can print signs of life; nor is anything where
// something ended.
func (f *finding) isRefuted(b *Rulebook) bool {
	if f.rule.LivesOn || f.rule.Kind != casefile.OfRunner || !b.isDeath(f.rule.Label) || f.Ended || f.Exit.Known ||
		f.confidenceOf() != Suspected {
		return false
	}
	lines := casefile.AlarmLines(f.c)
	if len(f.decisive) > 0 {
		lines = f.evidenceOf(f.decisive)
	}
	for _, fact := range b.Facts {
		if fact.Alive && casefile.LivedAfter(f.c, f.evidenceOf(recordsOf([]*program{fact.value}, f.env)), lines) {
			return true
		}
	}
	return false
}

// evidenceOf is what records are made of.
func (f *finding) evidenceOf(records []map[string]any) (out []*casefile.Evidence) {
	for _, d := range records {
		out = append(out, &f.c.Evidence[d[indexKey].(int)])
	}
	return out
}
