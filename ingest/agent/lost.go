package agent

import (
	"slices"
	"sync"
	"time"

	"coroner/ingest"
	"coroner/ingest/push"
)

// timeRange is a span of time; without To it is none.
type timeRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`

	Tellers []teller `json:"tellers,omitzero"` // whose words on others are of it: one of each source
}

// teller is a pod that speaks of the runners of others: a controller's, or a listener's.
type teller struct {
	Source    ingest.Source `json:"source"`
	Namespace string        `json:"namespace"`
	Pod       string        `json:"pod"`
}

// tellersOf are those whose words a push holds, one of each source. Of one that nobody can read
// any more they are not known.
func tellersOf(body []byte) (out []teller) {
	entries, _ := push.Decode(body)
	for i := range entries {
		e := &entries[i]
		if e.Source.TellsOfOthers() && e.Namespace != "" && e.Pod != "" { // else no server takes its word
			out = addTellers(out, teller{e.Source, e.Namespace, e.Pod})
		}
	}
	return out
}

// addTellers adds those of whose source there is none.
func addTellers(to []teller, more ...teller) []teller {
	for _, t := range more {
		if !slices.ContainsFunc(to, func(had teller) bool { return had.Source == t.Source }) {
			to = append(to, t)
		}
	}
	return to
}

// lostRange is the time of the evidence that the spool lost and that the server was not
// told of. It is stored before anything that came after it: what is lost must not look like
// silence after a crash or a stop.
type lostRange struct {
	mu sync.Mutex
	timeRange
}

// extendBy adds l.
func (r *lostRange) extendBy(l timeRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.To.IsZero() {
		return
	}
	if r.To.IsZero() || l.From.Before(r.From) {
		r.From = l.From
	}
	if l.To.After(r.To) {
		r.To = l.To
	}
	r.Tellers = addTellers(slices.Clip(r.Tellers), l.Tellers...)
}

// currentRange is the range as it is.
func (r *lostRange) currentRange() timeRange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.timeRange
}

// forgetTold forgets what the server was told of, unless more was lost meanwhile: then all of it
// is told again.
func (r *lostRange) forgetTold(told timeRange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.From.Equal(told.From) && r.To.Equal(told.To) && slices.Equal(r.Tellers, told.Tellers) {
		r.timeRange = timeRange{}
	}
}

// rangeOf is the time of which nothing is known if the entries are lost: from the first
// to the last of them, with every gap among them.
func rangeOf(entries []ingest.Entry) (l timeRange) {
	for i := range entries {
		from, to := entries[i].At, entries[i].At
		if m := entries[i].Mark; m != nil && m.Kind == ingest.Gap && !m.From.IsZero() {
			from = m.From
		}
		if to.IsZero() {
			continue
		}
		if l.To.IsZero() || from.Before(l.From) {
			l.From = from
		}
		if to.After(l.To) {
			l.To = to
		}
	}
	return l
}
