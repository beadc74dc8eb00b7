package classify

import (
	"cmp"
	"slices"

	"coroner/rules/signal"
)

// A log can be read newest first: journalctl -r prints one, and log stores export them. What
// stands below was written earlier there, which its times do not tell of two lines of one
// second. So the numbers of such a document's lines count downwards, from -1.

// orderLines finds those documents, and numbers their lines.
func (r *Record) orderLines() {
	if r.live {
		return // a stream has no lines
	}
	r.falling = newestFirst(r.Signals)
	for _, s := range r.Signals {
		r.orderLine(s)
	}
}

// orderLine numbers a line by the time in which it was written.
func (r *Record) orderLine(s *signal.Signal) {
	if isPlaced(s) && r.falling[s.Doc] {
		s.Line = -s.Line
	}
}

// newestFirst are the documents in which no line is later than the one above it, and one is
// earlier; more than one in a pod's output, below the end of which somebody may have put what
// was written before.
func newestFirst(signals []*signal.Signal) map[string]bool {
	lines := map[string][]*signal.Signal{}
	for doc, d := range endsOfDocs(signals) {
		if d.first.At.After(d.last.At) {
			lines[doc] = nil
		}
	}
	for _, s := range signals {
		if _, may := lines[s.Doc]; may && isPlaced(s) {
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
		if !isPlaced(s) {
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

// isPlaced says whether a signal's line has a number and a time.
func isPlaced(s *signal.Signal) bool { return s.Line > 0 && !s.At.IsZero() }
