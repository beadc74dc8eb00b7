package sequence

import (
	"cmp"
	"slices"

	"coroner/rules/signal"
)

// NewestFirst are the documents in which no line is later than the one above it, and one is
// earlier; more than one in a pod's output, below the end of which somebody may have put what
// was written before.
func NewestFirst(signals []*signal.Signal) map[string]bool {
	lines := map[string][]*signal.Signal{}
	for doc, d := range endsOfDocs(signals) {
		if d.first.At.After(d.last.At) {
			lines[doc] = nil
		}
	}
	for _, s := range signals {
		if _, may := lines[s.Doc]; may && IsPlaced(s) {
			lines[s.Doc] = append(lines[s.Doc], s)
		}
	}
	falling := map[string]bool{}
	for doc, list := range lines {
		slices.SortFunc(list, func(a, b *signal.Signal) int { return cmp.Compare(a.Line, b.Line) })
		if !slices.IsSortedFunc(list, func(a, b *signal.Signal) int { return b.At.Compare(a.At) }) {
			continue
		}
		times := slices.CompactFunc(list, func(a, b *signal.Signal) bool { return a.At.Equal(b.At) })
		falling[doc] = len(times) > 2 || len(times) == 2 && list[0].Source.Host()
	}
	return falling
}

// docEnds are the first and the last line of a document that have a time.
type docEnds struct{ first, last *signal.Signal }

func endsOfDocs(signals []*signal.Signal) map[string]docEnds {
	docs := map[string]docEnds{}
	for _, s := range signals {
		if !IsPlaced(s) {
			continue
		}
		d := docs[s.Doc]
		if d.first == nil || s.Line < d.first.Line {
			d.first = s
		}
		if d.last == nil || s.Line > d.last.Line {
			d.last = s
		}
		docs[s.Doc] = d
	}
	return docs
}

// IsPlaced says whether a signal's line has a number and a time.
func IsPlaced(s *signal.Signal) bool { return s.Line > 0 && !s.At.IsZero() }
