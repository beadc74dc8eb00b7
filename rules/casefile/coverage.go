package casefile

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"coroner/ingest"
)

// AllCoverage is everything that was read for the case.
func (c *Case) AllCoverage() iter.Seq[Coverage] {
	return func(yield func(Coverage) bool) {
		for _, list := range [][]Coverage{c.Coverage, c.Around} {
			for _, k := range list {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// Join makes one span of those of a source that overlap: it says the same in
// fewer words. The order of what it gives depends on nothing but what it says.
func Join(all []Coverage) []Coverage {
	spans := map[ingest.Source][]Coverage{}
	out := slices.DeleteFunc(all, func(k Coverage) bool {
		whole := k.Why == "" && k.Partly == "" && !k.From.IsZero() && !k.To.IsZero()
		if whole {
			spans[k.Source] = append(spans[k.Source], k)
		}
		return whole
	})
	for _, source := range slices.Sorted(maps.Keys(spans)) {
		out = append(out, joinSpans(spans[source])...)
	}
	return out
}

// lookBack is how long before a death its cause is looked for: absence proves
// something only if that time was read.
const lookBack = 30 * time.Second

const maxGrace = 24 * 3600 // seconds; what a pod asks for is bounded

// lookBackIn is that of a source. What a pod was asked to stop for may have been told a whole
// grace period before its end.
func lookBackIn(c *Case, source ingest.Source) time.Duration {
	switch source {
	case ingest.Kubelet, ingest.Containerd, ingest.Kube:
		return max(lookBack, c.workedOutLife().grace)
	}
	return lookBack
}

// Covers says whether source was read without a gap over the death.
func (c *Case) Covers(source ingest.Source, died time.Time) bool {
	if source == ingest.Kubelet && !kubeletTells(c) {
		return false
	}
	read, spans := false, []Coverage{}
	for k := range c.AllCoverage() {
		switch {
		case k.Source != source || k.Partly != "":
		case k.Why != "":
			if nearDeath(c, k, died) {
				return false
			}
		case k.From.IsZero() && k.To.IsZero():
			read = true
		default:
			spans = append(spans, k)
		}
	}
	return read || !died.IsZero() && slices.ContainsFunc(joinSpans(spans), func(k Coverage) bool {
		return !k.To.Before(died.Add(-time.Second)) &&
			(!k.From.After(died.Add(-lookBackIn(c, source))) || !k.From.After(c.podStart()))
	})
}

// downFor is for how long before its new boot, or before it is missed, a node can have been down: then nobody wrote.
const downFor = 10 * time.Minute

// endTellers tell of a container's end who told of its start.
var endTellers = []ingest.Source{ingest.Kubelet, ingest.Containerd, ingest.Kube}

// RanUntil says whether a pod ran until its node ended, of which was told then: one who would have told of its end
// told of its start and was read without a gap from there on, and nobody told of an end.
func RanUntil(c *Case, told time.Time) bool {
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Def.Exit || e.Def.Ends && (e.Mine || c.endsWithNode(e)) {
			return false
		}
	}
	return slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		return e.Mine && e.Proven && e.Def.Starts && !e.At.IsZero() &&
			slices.Contains(endTellers, e.Source) && readBetween(c, e.Source, e.At, told.Add(-downFor))
	})
}

// readBetween says whether a source was read from one time to another without a gap.
func readBetween(c *Case, source ingest.Source, from, to time.Time) bool {
	var spans []Coverage
	for k := range c.AllCoverage() {
		switch {
		case k.Source != source || k.Partly != "" || k.Why == "" && k.undated():
		case k.Why == "":
			spans = append(spans, k)
		case k.undated() || !k.From.After(to) && !k.To.Before(from):
			return false
		}
	}
	return slices.ContainsFunc(joinSpans(spans), func(k Coverage) bool {
		return !k.From.After(from) && !k.To.Before(to)
	})
}

// kubeletTells says whether the kubelet tells in its log what it does with the pod. One at
// verbosity 0, as kubeadm and k3s start it, tells of no start, stop or end at all.
func kubeletTells(c *Case) bool {
	return slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		return e.Source == ingest.Kubelet && e.Mine && e.Proven && (e.Def.Starts || e.Def.Ends || e.Def.Exit)
	})
}

// joinSpans makes one span of those that overlap: a reader that was stopped and
// went on where it was has read without a gap.
func joinSpans(spans []Coverage) []Coverage {
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

// nearDeath says whether a gap touches the time around the death.
func nearDeath(c *Case, gap Coverage, died time.Time) bool {
	return died.IsZero() ||
		!gap.From.After(died.Add(lookBack)) && !gap.To.Before(died.Add(-lookBackIn(c, gap.Source)))
}

// ToldLater is how long after a death a source may still tell of its cause: a
// cause does not follow its effect, but a controller hears of both late.
func ToldLater(s ingest.Source) time.Duration {
	if s == ingest.Controller || s == ingest.Listener {
		return 2 * time.Minute
	}
	return 15 * time.Second
}

// AroundDeath says whether a line is of the minute before the death, or just after it.
func AroundDeath(e *Evidence, died time.Time) bool {
	if e.At.IsZero() || died.IsZero() {
		return true
	}
	lag := died.Sub(e.At)
	return lag < time.Minute && lag > -10*time.Second
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
	maxSpans = 20               // of a source: a journal can be full of holes
)

// Spans says what was read around a death of everything that can speak of it,
// source by source. A source of which no time is known has none.
func (c *Case) Spans(died time.Time) []Span {
	out := []Span{}
	if died.IsZero() {
		return out
	}
	from, to := died.Add(-before), died.Add(after)
	for _, source := range ingest.Sources {
		read, lost := c.spansOf(source, from, to)
		read = read[max(0, len(read)-maxSpans):] // what is not told counts as not read
		out = append(append(out, read...), keepNearest(lost)...)
	}
	slices.SortStableFunc(out, func(a, b Span) int {
		return cmp.Or(
			slices.Index(ingest.Sources, ingest.Source(a.Source))-slices.Index(ingest.Sources, ingest.Source(b.Source)),
			a.From.Compare(b.From),
		)
	})
	return out
}

// keepNearest keeps the holes nearest to the death, and makes one of those before.
func keepNearest(holes []Span) []Span {
	n := len(holes) - maxSpans
	if n <= 0 {
		return holes
	}
	rest := Span{
		Source: holes[0].Source,
		From:   holes[0].From,
		To:     holes[n].To,
		Lost:   fmt.Sprintf("%d holes in this time", n+1),
	}
	return append([]Span{rest}, holes[n+1:]...)
}

// spansOf gives what was read of a source between two times, joined, and what
// was lost, hole by hole.
func (c *Case) spansOf(source ingest.Source, from, to time.Time) (read, lost []Span) {
	var all, holes []Coverage
	for k := range c.AllCoverage() {
		switch {
		case k.Source != source || k.Partly != "" || k.From.IsZero() || k.To.IsZero() ||
			k.From.After(to) || k.To.Before(from):
		case k.Why != "":
			holes = append(holes, k)
		default:
			all = append(all, k)
		}
	}
	slices.SortFunc(holes, func(a, b Coverage) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Why, b.Why))
	})
	span := func(k Coverage) Span {
		return Span{string(source), ingest.LaterOf(k.From, from), ingest.EarlierOf(k.To, to), k.Why}
	}
	for _, k := range joinSpans(all) {
		read = append(read, span(k))
	}
	for _, k := range slices.Compact(holes) {
		lost = append(lost, span(k))
	}
	return read, lost
}
