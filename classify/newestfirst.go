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
	if s.Line > 0 && r.falling[s.Doc] && !s.At.IsZero() {
		s.Line = -s.Line
	}
}

// newestFirst are the documents in which no line is later than the one above it, and one is
// earlier; more than one in a pod's output, below the end of which somebody may have put what
// was written before.
func newestFirst(signals []*signal.Signal) map[string]bool {
	type ends struct{ first, last *signal.Signal }
	docs := map[string]ends{}
	for _, s := range signals {
		if s.Line <= 0 || s.At.IsZero() {
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
	lines := map[string][]*signal.Signal{}
	for doc, d := range docs {
		if d.first.At.After(d.last.At) {
			lines[doc] = nil
		}
	}
	for _, s := range signals {
		if _, may := lines[s.Doc]; may && s.Line > 0 && !s.At.IsZero() {
			lines[s.Doc] = append(lines[s.Doc], s)
		}
	}
	falling := map[string]bool{}
	for doc, list := range lines {
		slices.SortFunc(list, func(a, b *signal.Signal) int { return cmp.Compare(a.Line, b.Line) })
		falls := 0
		for i := 1; i < len(list) && falls >= 0; i++ {
			switch list[i].At.Compare(list[i-1].At) {
			case -1:
				falls++
			case 1:
				falls = -1
			}
		}
		falling[doc] = falls > 1 || falls == 1 && list[0].Source.Host()
	}
	return falling
}
