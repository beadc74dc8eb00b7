package forge

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Options say which forge is asked, and how.
type Options struct {
	Name   string // in errors
	URL    string // of the API, without a slash at the end
	Token  func() (string, error)
	HTTP   *http.Client
	Header map[string]string // of each request
	Prefix string            // of the headers that tell of limits: X-RateLimit-, RateLimit-
	Now    func() time.Time
}

// Later says that a forge must not be asked before some time is over.
type Later struct {
	Forge string
	After time.Duration
}

func (l Later) Error() string {
	return fmt.Sprintf("%s must not be asked for another %s", l.Forge, l.After.Round(time.Second))
}

// limit is what a forge said of its rate limits. They are the token's, and other
// programs may use it too: a tenth is left to them.
type limit struct {
	mu       sync.Mutex // guards what follows
	until    time.Time
	refusals int // in a row, that named no time
}

const (
	reserve    = 10 // one part in this many is left to others
	minBackoff = time.Minute
	maxBackoff = time.Hour
)

// waitTime is how long the forge must not be asked.
func (l *limit) waitTime(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.until.Sub(now))
}

// readLimits reads an answer's headers. A refusal for too many requests is a Later.
func (c *Client) readLimits(res *http.Response) error {
	l, now := &c.limit, c.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	left, total := headerNumber(res, c.Prefix+"Remaining"), headerNumber(res, c.Prefix+"Limit")
	reset := headerNumber(res, c.Prefix+"Reset")
	spent := left >= 0 && reset > 0 && left <= max(0, total)/reserve
	refused := res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode == http.StatusForbidden && (left == 0 || res.Header.Get("Retry-After") != "")
	switch {
	case refused && headerNumber(res, "Retry-After") >= 0:
		l.blockUntil(now, now.Add(time.Duration(headerNumber(res, "Retry-After"))*time.Second))
	case spent:
		l.blockUntil(now, time.Unix(reset, 0).Add(time.Second))
	case refused:
		l.refusals++
		l.blockUntil(now, now.Add(min(maxBackoff, minBackoff<<min(l.refusals-1, 10))))
	default:
		l.refusals = 0
	}
	if refused {
		return Later{c.Name, max(time.Second, l.until.Sub(now))}
	}
	return nil
}

// blockUntil keeps everybody from asking until a time, but for little more than an hour:
// limits are counted by the hour, and a header can say anything.
func (l *limit) blockUntil(now, until time.Time) {
	if latest := now.Add(maxBackoff + minBackoff); until.After(latest) {
		until = latest
	}
	if until.After(l.until) {
		l.until = until
	}
}

// headerNumber is a header's whole number, -1 where it has none.
func headerNumber(res *http.Response, name string) int64 {
	n, err := strconv.ParseInt(res.Header.Get(name), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
