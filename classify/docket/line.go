package docket

import (
	"slices"
	"sync"

	"coroner/ingest"
)

// parcel is a portion of what one Receive was given.
type parcel struct {
	from   Origin
	looked []looked
	weight int
	done   bool // it was filed, or failed with err; guarded by Docket.filing
	err    error
}

// line is where parcels wait while others are filed. Whose turn it is takes
// those along that wait: to sync the file costs as much for many as for one.
type line struct {
	mu      sync.Mutex
	waiting []*parcel
}

// What an entry weighs is one, and one more for each weightBytes of its text.
// maxTogether is what is filed in one write: a verdict that is to be recorded waits
// for that long, and so does who has the next turn. A parcel is a share of it, in
// which all that wait now would fit, within bounds.
const (
	weightBytes = 1 << 10
	maxTogether = 2000
	leastShare  = 64
	largest     = 512
)

// share is what the next parcel may weigh.
func (l *line) share() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(leastShare, min(largest, maxTogether/(len(l.waiting)+1)))
}

// portion is how many of the entries weigh so much; one at least.
func portion(entries []ingest.Entry, most int) int {
	sum := 0
	for i := range entries {
		if sum += weigh(entries[i : i+1]); sum > most && i > 0 {
			return i
		}
	}
	return len(entries)
}

func weigh(entries []ingest.Entry) (sum int) {
	for i := range entries {
		sum += 1 + len(entries[i].Text)/weightBytes
	}
	return sum
}

func (l *line) join(p *parcel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p)
}

// leave takes p out of the line, and others as far as they fit.
func (l *line) leave(p *parcel) []*parcel {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, sum := []*parcel{p}, p.weight
	l.waiting = slices.DeleteFunc(l.waiting, func(q *parcel) bool {
		if q == p {
			return true
		}
		if sum+q.weight > maxTogether {
			return false
		}
		out, sum = append(out, q), sum+q.weight
		return true
	})
	return out
}
