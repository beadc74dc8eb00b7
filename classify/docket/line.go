package docket

import (
	"slices"
	"sync"

	"coroner/ingest"
)

// parcel is what one Receive was given.
type parcel struct {
	entries []ingest.Entry
	done    bool // it was filed, or failed with err; guarded by Docket.filing
	err     error
}

// line is where parcels wait while others are filed. Whose turn it is takes
// those along that wait: to sync the file costs as much for many as for one.
type line struct {
	mu      sync.Mutex
	waiting []*parcel
}

// maxTogether is how many entries are filed in one write, unless one parcel alone
// has more: a verdict that is to be recorded waits for that long.
const maxTogether = 2000

func (l *line) join(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p)
}

// leave takes p out of the line, and others as far as they fit.
func (l *line) leave(p *parcel) []*parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, n := []*parcel{p}, len(p.entries)
	l.waiting = slices.DeleteFunc(l.waiting, func(q *parcel) bool {
		if q == p {
			return true
		}
		if n+len(q.entries) > maxTogether {
			return false
		}
		out, n = append(out, q), n+len(q.entries)
		return true
	})
	return out
}
