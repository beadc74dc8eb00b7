package docket

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pace is how long agents wait between two pushes that only say how far they read: the more
// there are, the longer, so that their marks stay a small part of the work.
type pace struct {
	*store
	mu      sync.Mutex
	counted time.Time // when the agents were
	value   atomic.Int64
}

const (
	idlePushes = 200 // of all agents in a second
	countEvery = 10 * time.Second
)

// renew counts the agents that are heard, now and then.
func (p *pace) renew(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.counted) < countEvery {
		return nil
	}
	nodes, err := p.ledger.Nodes(ctx)
	if err != nil {
		return err
	}
	heard := 0
	for i := range nodes {
		if now.Sub(nodes[i].Heard) < p.options.Silent {
			heard++
		}
	}
	p.counted = now
	p.value.Store(int64(paceOf(heard, p.options.Silent)))
	return nil
}

// paceOf is the pace of so many agents. Where one mark is lost the next one comes after two
// paces, and a tenth of what counts as silence is left for its way.
func paceOf(agents int, silent time.Duration) time.Duration {
	return min(time.Duration(agents)*time.Second/idlePushes, silent*9/20)
}
