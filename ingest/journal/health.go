//go:build linux && cgo && !nojournal

package journal

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// health is whether records of the running boot can be read. libsystemd passes over files
// of a newer format, and over those that may not be read, without a word.
type health struct {
	log        zerolog.Logger
	unreadable *atomic.Bool // Reader.Unreadable

	started   time.Time // wall clock at the start
	running   string    // id of the running boot, "" if unknown
	proven    bool      // a record of it was read or seen
	doubtedAt time.Time // since when there are files but no proof

	unreadableSince time.Time // up to where the gap of an unreadable journal was given
}

// noteRecord takes note of a record that was read. A container may be told another boot id than
// the host; a record that came after the start is as good.
func (h *health) noteRecord(p position, dir string) {
	if h.running == "" || !h.proven && !p.storedAt().Before(h.started) {
		h.running = p.boot
	}
	if p.boot == h.running {
		h.markReadable(dir)
	}
}

// markReadable takes note of a record of the running boot.
func (h *health) markReadable(dir string) {
	h.proven = true
	if h.unreadable.CompareAndSwap(true, false) {
		h.log.Info().Str("dir", dir).Msg("the journal is readable again")
	}
}

// doubtful reports whether a proof was looked for in vain for so long.
func (h *health) doubtful(after time.Duration) bool {
	if h.doubtedAt.IsZero() {
		h.doubtedAt = time.Now()
	}
	return time.Since(h.doubtedAt) >= after
}

const whyUnreadable = "not one record of the running boot can be read from the journal's files"

// reportUnreadable logs once that the journal cannot be read, and returns from where the
// next gap is to be given. due is false while the one before is recent.
func (h *health) reportUnreadable(dir string, first, now time.Time) (from time.Time, due bool) {
	if h.unreadable.CompareAndSwap(false, true) {
		h.log.Error().Str("dir", dir).Str("boot", h.running).Msg(whyUnreadable +
			": libsystemd here may be older than the host's journald and not know its file format " +
			"(use an image with a newer one), the files may be closed to this user (" + needsAccess + "), " +
			"or journald stores its records elsewhere")
	}
	from = h.unreadableSince
	if from.IsZero() {
		from = first
	} else if now.Sub(from) < repeatGap {
		return from, false
	}
	h.unreadableSince = now
	return from, true
}
