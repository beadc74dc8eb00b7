package docket

import (
	"context"
	"slices"
	"sync"
	"time"

	"coroner/ingest"
)

// pushRequest is a portion of what one Receive was given.
type pushRequest struct {
	from    Origin
	entries []examined
	weight  int
	done    bool // it was filed, or failed with err; guarded by store.writing
	err     error
	filed   chan struct{} // closed when done
}

// Most pushes to a database that many nodes share say only how far a node was read. Each
// write costs it more than what such a push says, so those of one server that come within
// waitFor are one write, or part of the next that somebody else makes. Not more than mostWait
// wait: each keeps one of the places in which the server takes pushes.
const (
	waitFor  = 100 * time.Millisecond
	mostWait = 12
)

// waitForOthers waits until the request was filed with others, or is to be filed now.
func (p *pushRequest) waitForOthers(ctx context.Context) {
	now := time.Now()
	ends := time.NewTimer(now.Truncate(waitFor).Add(waitFor).Sub(now))
	defer ends.Stop()
	select {
	case <-p.filed:
	case <-ends.C:
	case <-ctx.Done():
	}
}

// queue is where requests wait while others are filed. Whoever files next takes the
// waiting ones along: syncing the file costs as much for many as for one.
type queue struct {
	mu      sync.Mutex
	waiting []*pushRequest
}

// An entry weighs one, and one more for each weightBytes of its text. One write files
// maxTogether at most, for verdicts and other requests wait for it. A request is a
// share of that, small enough that all that wait now would fit.
const (
	weightBytes = 1 << 10
	maxTogether = 2000
	minShare    = 64
	maxShare    = 512
)

// nextShare is what the next request may weigh.
func (q *queue) nextShare() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return max(minShare, min(maxShare, maxTogether/(len(q.waiting)+1)))
}

// portionSize is how many of the entries weigh so much; one at least.
func portionSize(entries []ingest.Entry, most int) int {
	sum := 0
	for i := range entries {
		if sum += weightOf(entries[i : i+1]); sum > most && i > 0 {
			return i
		}
	}
	return len(entries)
}

func weightOf(entries []ingest.Entry) (sum int) {
	for i := range entries {
		sum += 1 + len(entries[i].Text)/weightBytes
	}
	return sum
}

// addPush puts a request into the queue. few is whether few others wait there.
func (q *queue) addPush(p *pushRequest) (few bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, p)
	return len(q.waiting) <= mostWait
}

// takeFitting removes p from the queue, and with it others as far as they fit.
func (q *queue) takeFitting(p *pushRequest) []*pushRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	out, sum := []*pushRequest{p}, p.weight
	q.waiting = slices.DeleteFunc(q.waiting, func(other *pushRequest) bool {
		if other == p {
			return true
		}
		if sum+other.weight > maxTogether {
			return false
		}
		out, sum = append(out, other), sum+other.weight
		return true
	})
	return out
}
