package rules

import (
	"cmp"
	"slices"
	"time"

	"coroner/ingest"
)

// lookBack is how long before a death its cause is looked for: absence proves
// something only if that time was read.
const lookBack = 30 * time.Second

// covers says whether source was read without a gap over the death.
func (c *Case) covers(source ingest.Source, died time.Time) bool {
	read, spans := false, []Coverage{}
	for _, k := range c.Coverage {
		switch {
		case k.Source != source:
		case k.Why != "":
			if overlaps(k, died) {
				return false
			}
		case k.From.IsZero() && k.To.IsZero():
			read = true
		default:
			spans = append(spans, k)
		}
	}
	return read || !died.IsZero() && slices.ContainsFunc(joined(spans), func(k Coverage) bool {
		return !k.To.Before(died.Add(-time.Second)) && (!k.From.After(died.Add(-lookBack)) || !k.From.After(c.started()))
	})
}

// joined makes one span of those that overlap: a reader that was stopped and
// went on where it was has read without a gap.
func joined(spans []Coverage) []Coverage {
	slices.SortFunc(spans, func(a, b Coverage) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	var out []Coverage
	for _, k := range spans {
		if n := len(out) - 1; n >= 0 && !k.From.After(out[n].To) {
			if k.To.After(out[n].To) {
				out[n].To = k.To
			}
			continue
		}
		out = append(out, k)
	}
	return out
}

// overlaps says whether a gap touches the time around the death.
func overlaps(gap Coverage, died time.Time) bool {
	return died.IsZero() || (!gap.From.After(died.Add(lookBack)) && !gap.To.Before(died.Add(-lookBack)))
}

// Span is a stretch of time over which a source was read or, with Lost set,
// part of it was not.
type Span struct {
	Source string    `json:"source"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Lost   string    `json:"lost,omitempty"` // what lost the records, in words
}

const (
	before   = 10 * time.Minute // how long before a death spans are told
	after    = 10 * time.Second // and how long after it
	maxSpans = 100              // a journal can be full of holes
)

// spans says what was read around a death of everything that can speak of it,
// source by source. A source of which no time is known has none.
func (c *Case) spans(died time.Time) []Span {
	out := []Span{}
	if died.IsZero() {
		return out
	}
	from, to := died.Add(-before), died.Add(after)
	for _, source := range ingest.Sources {
		for _, k := range c.spansOf(source) {
			k.From, k.To = later(k.From, from), earlier(k.To, to)
			if !k.From.After(k.To) && len(out) < maxSpans {
				out = append(out, Span{string(source), k.From, k.To, k.Why})
			}
		}
	}
	return out
}

// spansOf joins what was read of a source; what was lost stands for itself.
func (c *Case) spansOf(source ingest.Source) []Coverage {
	var read, lost []Coverage
	for _, k := range c.Coverage {
		switch {
		case k.Source != source || k.From.IsZero() || k.To.IsZero():
		case k.Why != "":
			lost = append(lost, k)
		default:
			read = append(read, k)
		}
	}
	all := append(joined(read), lost...)
	slices.SortFunc(all, func(a, b Coverage) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Why, b.Why))
	})
	return slices.Compact(all)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
