package agent

import (
	"sync"
	"time"

	"coroner/ingest"
)

// timeRange is a span of time; without To it is none.
type timeRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// lostRange is the time of the evidence that the spool lost and that the server was not
// told of. It is stored with the positions: what is lost must not look like silence after
// a crash or a stop.
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
	if r.From.Equal(told.From) && r.To.Equal(told.To) {
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
