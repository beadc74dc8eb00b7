package demo

import (
	"sync/atomic"
	"time"
)

// Clock is a minute behind until the incidents are told. So when they are, the time has
// passed for which a server lets a pool, or a runner that hangs, be.
type Clock struct {
	now  func() time.Time
	told atomic.Bool
}

// NewClock returns a clock that is behind the one that now reads.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Now is its time.
func (c *Clock) Now() time.Time {
	if !c.told.Load() {
		return c.now().Add(-time.Minute)
	}
	return c.now()
}

// CatchUp ends that it is behind.
func (c *Clock) CatchUp() { c.told.Store(true) }
