package agent

import (
	"time"

	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
)

// allowance limits what the agent does for each container. What a container prints
// that looks like signals is matched and sent up to a burst, and then up to so many bytes
// a second: a job can print some hundred MB a second. A container that has used up its
// allowance does not delay the others. Its last lines are sent in any case.
type allowance struct {
	of  *lru.Cache[string, balance]
	now func() time.Time
}

// balance is what is left, and when that was so.
type balance struct {
	left float64
	at   time.Time
}

// In bytes. Runners print some hundred recognised lines of some hundred bytes in
// their life.
const (
	burst     = 1 << 20
	perSecond = 16 << 10
	perLine   = 64 // what a line costs beside its text
	matchCost = 4  // a line that is only matched costs such a part of one that is sent
	streams   = 8192
)

func newAllowance(now func() time.Time) *allowance {
	of, _ := lru.New[string, balance](streams) // an error only for a size below 1
	return &allowance{of, now}
}

func streamOf(e *ingest.Entry) string { return e.PodUID + "/" + e.Pod + "/" + e.Container }

// hasSome reports whether a container has something left.
func (a *allowance) hasSome(e *ingest.Entry) bool {
	return a.balanceOf(streamOf(e)).left > 0
}

// balanceOf is what a container has now.
func (a *allowance) balanceOf(stream string) balance {
	now := a.now()
	b, known := a.of.Get(stream)
	if !known {
		return balance{burst, now}
	}
	b.left = min(burst, b.left+perSecond*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	return b
}

// chargeLine takes away what a line costs.
func (a *allowance) chargeLine(e *ingest.Entry, sent bool) {
	cost := float64(perLine + len(e.Text))
	if !sent {
		cost /= matchCost
	}
	stream := streamOf(e)
	b := a.balanceOf(stream)
	b.left -= cost
	a.of.Add(stream, b)
}
