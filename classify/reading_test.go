package classify_test

import (
	"slices"
	"testing"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/manual"
)

// The table of what each label can be by what is read holds for every incident: with the rest
// taken away, no verdict is surer than it says. Nor does it promise too much: nearly every label
// has an incident that is as sure.
func TestReadingsHold(t *testing.T) {
	b := loadBook(t)
	for _, r := range manual.Readings[1:] {
		reached := map[rules.Label]bool{}
		for _, in := range incidents(t) {
			list := slices.DeleteFunc(entries(in), func(e ingest.Entry) bool {
				if e.Mark != nil && e.Mark.Kind == ingest.Covered {
					return !slices.Contains(r.Whole, e.Source)
				}
				return !slices.Contains(r.Lines, e.Source)
			})
			if len(list) == 0 {
				continue
			}
			v := judge(b, list, in)
			most, _, ok := r.Best(b, v.Label)
			if !ok || v.Confidence.Better(most) {
				t.Errorf("%s, %s: %s (%s), the table says %q", r.Title, in.Name, v.Label, v.Confidence, most)
			}
			reached[v.Label] = reached[v.Label] || v.Confidence == most
		}
		var promised []rules.Label
		for _, l := range b.LabelOrder() {
			if _, _, ok := r.Best(b, l); ok && !reached[l] {
				promised = append(promised, l)
			}
		}
		if len(promised) > 6 {
			t.Errorf("%s: no incident is as sure as the table says of %v", r.Title, promised)
		}
	}
}
