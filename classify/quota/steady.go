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

// Line is one that speaks of pools or jobs.
type Line struct {
	Says    string   // what it says, "" where each such line counts
	Of      []string // whose it is
	Trouble []string // of whom it can tell trouble
	At      time.Time
}

// IsRepeat says whether the same was said within the last minute, and of nobody whose line it is
// trouble was told since: what says that it is over can be said once.
// What it remembers of a line that is none goes to noted.
func (p Steady) IsRepeat(l Line, noted *[]Said) bool {
	if l.At.IsZero() {
		return false
	}
	if l.Says != "" {
		last, ok := p.said.Get(l.Says)
		if ok && l.At.Sub(last).Abs() < sayAgain && !slices.ContainsFunc(l.Of, func(name string) bool {
			at, ok := p.said.Get(troubleOf + name)
			return ok && at.After(last)
		}) {
			return true
		}
		p.note(l.Says, l.At, noted)
	}
	for _, name := range l.Trouble {
		p.note(troubleOf+name, l.At, noted)
	}
	return false
}

// troubleOf stands before the name of whom trouble is told, which no text that is said begins with.
const troubleOf = "\x00"

func (p Steady) note(says string, at time.Time, noted *[]Said) {
	last, ok := p.said.Get(says)
	*noted = append(*noted, Said{says, last, ok})
	p.said.Add(says, at)
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
