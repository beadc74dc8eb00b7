package casefile

import (
	"cmp"
	"slices"

	"coroner/ingest"
)

// maxHoles is how many holes in what was read of a node its cases look through, and some more
// for each source: what a case costs must not grow with what is lost beside it.
const maxHoles = 256

// FewHoles makes few holes of many: those of a source that overlap are one, and where that
// is not enough so are neighbours, with the time between them. What it gives up was read;
// it never says that something was read that was not.
func FewHoles(all []Coverage) []Coverage {
	holes := slices.DeleteFunc(slices.Clone(all), func(k Coverage) bool { return k.Why == "" })
	if len(holes) <= maxHoles {
		return all
	}
	slices.SortFunc(holes, func(a, b Coverage) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), boolFirst(a.undated(), b.undated()), a.From.Compare(b.From),
			a.To.Compare(b.To), cmp.Compare(a.Why, b.Why))
	})
	holes = joinNeighbours(holes, func(a, b Coverage) bool {
		return a.undated() && b.undated() || !a.undated() && !b.From.After(a.To)
	})
	pairs, most := 0, (len(holes)+maxHoles-1)/maxHoles
	holes = joinNeighbours(holes, func(a, _ Coverage) bool {
		pairs++
		return pairs%most != 0 && !a.undated()
	})
	return append(slices.DeleteFunc(slices.Clone(all), func(k Coverage) bool { return k.Why != "" }), holes...)
}

// undated says whether it is not known when a hole began, or when it ended: it is near no
// death whose time is known.
func (k Coverage) undated() bool { return k.From.IsZero() || k.To.IsZero() }

// joinNeighbours makes one hole of each that goes with the one before it, of the same source.
func joinNeighbours(holes []Coverage, together func(a, b Coverage) bool) (out []Coverage) {
	for _, k := range holes {
		last := len(out) - 1
		if last < 0 || out[last].Source != k.Source || !together(out[last], k) {
			out = append(out, k)
			continue
		}
		out[last].To = ingest.LaterOf(out[last].To, k.To)
		if out[last].Why != k.Why {
			out[last].Why = "several holes in this time"
		}
	}
	return out
}

func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
