package podlog

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"coroner/ingest"
)

// env is what the parts of a Reader share.
type env struct {
	c        Config
	every    intervals
	filter   filter
	problems problems
	opened   atomic.Int64 // log files that are open
	now      time.Time    // when the current poll began
	talking  int          // tails that kept last lines at the end of the previous poll
	stopping bool         // the last read: nothing new is waited for
}

// intervals are how often a Reader does what. Tests shorten them.
type intervals struct {
	poll       time.Duration // between two polls; waking a sleeping processor costs more than what it then reads
	round      time.Duration // between two rounds, less part of a poll
	fullRescan time.Duration // between two listings of the whole tree while all directories are watched
	batch      time.Duration // longest time without a batch, less a poll
	heartbeat  time.Duration // longest time without a Covered of a live tail
	linger     time.Duration // how long a rotated file may still be written to
}

// What is kept of all tails together has a bound. Each has an equal share of it, but
// at least the smallest that is of use.
const (
	allBytes     = 16 << 20
	minLastLines = 4 << 10
	minPartial   = 20 << 10 // a line of a container runtime
)

// byteShare is how many bytes one tail may keep: most where few tails keep something.
func (e *env) byteShare(most, least int) int {
	return max(least, min(most, allBytes/max(1, e.talking)))
}

// hasElapsed reports whether d has passed since t. It is also true after the clock was
// set back.
func hasElapsed(t, now time.Time, d time.Duration) bool {
	p := now.Sub(t)
	return p >= d || p < 0
}

// filter asks Config.Want, one call at a time.
type filter struct {
	mu   sync.Mutex
	want func(namespace, pod, container string) bool
}

func (f *filter) wantsContainer(id ingest.Entry) bool {
	if f.want == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.want(id.Namespace, id.Pod, id.Container)
}

// acceptsPath reports whether logs in the directory path are to be followed.
func (f *filter) acceptsPath(path string) bool {
	id, err := identify(path)
	return err == nil && f.wantsContainer(id)
}

// problems counts what could not be read, and logs each path once.
type problems struct {
	log        zerolog.Logger
	logged     map[string]bool // paths, while they exist
	unreadable atomic.Int64
	recent     bool // something could not be read since the last full rescan
	crowded    bool // logged that there are too many logs
}

// addUnread takes note of a path that could not be opened or read.
func (p *problems) addUnread(path string, err error) {
	p.unreadable.Add(1)
	p.recent = true
	p.warnOnce(path, err, "log cannot be read")
}

// warnOnce logs once about a path, for as long as it exists.
func (p *problems) warnOnce(path string, err error, msg string) {
	if p.logged[path] {
		return
	}
	p.logged[path] = true
	p.log.Warn().Err(err).Str("path", path).Msg(msg)
}

// tooMany logs once that a log is not followed.
func (p *problems) tooMany(path string, err error) {
	if !p.crowded {
		p.crowded = true
		p.log.Warn().Err(err).Str("stream", path).Msg("container is not followed")
	}
}

// forgetGone forgets paths that do not exist any more.
func (p *problems) forgetGone() {
	maps.DeleteFunc(p.logged, func(path string, _ bool) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	})
}
