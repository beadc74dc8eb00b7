package quota

import (
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Steady remembers what was said last of each pool: listeners say the same all day.
// It is only a bound, so it may forget.
type Steady struct{ said *lru.Cache[string, time.Time] }

// sayAgain is how often what a pool's lines say the same of is filed.
const sayAgain = time.Minute

// NewSteady returns a memory of nothing.
func NewSteady() Steady {
	said, _ := lru.New[string, time.Time](10_000) // an error only for a size below 1
	return Steady{said}
}

// IsRepeat says whether the same was said within the last minute; "" never was.
// What it remembers of what is none goes to noted.
func (p Steady) IsRepeat(says string, at time.Time, noted *[]Said) bool {
	if says == "" {
		return false
	}
	last, ok := p.said.Get(says)
	if ok && at.Sub(last).Abs() < sayAgain {
		return true
	}
	*noted = append(*noted, Said{says, last, ok})
	p.said.Add(says, at)
	return false
}

// Said is what was remembered of a text before it was said again.
type Said struct {
	says  string
	last  time.Time
	known bool
}

// Forget takes back what was noted of what was not filed after all.
func (p Steady) Forget(noted []Said) {
	for _, n := range slices.Backward(noted) {
		if p.said.Remove(n.says); n.known {
			p.said.Add(n.says, n.last)
		}
	}
}
