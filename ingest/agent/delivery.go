package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/ingest/spool"

	"github.com/rs/zerolog"
)

// delivery sends what is in the spool, in order.
type delivery struct {
	spool    *spool.Spool
	sender   *push.Sender
	rulebook *rulebook
	lost     *lostRange
	gaps     func(timeRange) []ingest.Entry // that say what was lost
	log      zerolog.Logger
	metrics  *metrics
	away     atomic.Bool // the server did not take the last push
}

// sendLoop sends until ctx is done.
func (d *delivery) sendLoop(ctx context.Context) {
	wait := time.Duration(0)
	for {
		var some bool
		if some, wait = d.sendNext(ctx, wait); !some {
			select {
			case <-ctx.Done():
				return
			case <-d.spool.More():
				continue
			}
		}
		if wait > 0 && !pauseFor(ctx, wait) || ctx.Err() != nil {
			return
		}
	}
}

// sendNext sends the oldest item and says how long to wait before the next one, where
// the last wait was waited. some is false where there was nothing to send.
func (d *delivery) sendNext(ctx context.Context, waited time.Duration) (some bool, wait time.Duration) {
	item, body, err := d.spool.Next()
	if lost := d.lost.currentRange(); !lost.To.IsZero() {
		return true, d.sendLost(ctx, lost, waited)
	}
	if errors.Is(err, spool.ErrEmpty) {
		return false, waited
	}
	if err != nil {
		d.metrics.spoolErrors.Inc()
		d.log.Error().
			Err(err).
			Msg("the spool cannot be read; sending waits until it can, or until that file is removed")
		return true, 2 * time.Second
	}
	return true, d.answered(item, d.sender.PostToAny(ctx, body), waited)
}

// sendLost tells of what the spool lost, before anything that came after it is sent: how far the
// node was read must not be believed sooner.
func (d *delivery) sendLost(ctx context.Context, lost timeRange, waited time.Duration) time.Duration {
	body, err := push.Encode(d.gaps(lost))
	if err == nil {
		err = d.sender.PostToAny(ctx, body)
	}
	var refused push.Refused
	if err == nil || errors.As(err, &refused) {
		d.lost.forgetTold(lost)
	}
	return d.answered(spool.Item{}, err, waited)
}

// answered handles the answer to a push and says how long to wait before the next.
func (d *delivery) answered(item spool.Item, err error, waited time.Duration) time.Duration {
	var refused push.Refused
	var later push.Later
	switch {
	case err == nil:
		d.metrics.pushes.WithLabelValues("sent").Inc()
		d.away.Store(false)
		d.rulebook.noteFiledBy(d.sender.FiledBy())
		d.spool.Done(item)
		return 0
	case errors.As(err, &refused):
		d.metrics.pushes.WithLabelValues("refused").Inc()
		d.metrics.dropped.WithLabelValues("spool", "refused").Add(float64(item.Entries))
		d.log.Error().Err(err).Int("entries", item.Entries).Msg("the server refused a push; it is dropped")
		d.spool.Done(item)
		return 0
	}
	d.metrics.pushes.WithLabelValues("postponed").Inc()
	d.away.Store(true)
	d.keepOnDisk()
	wait := min(30*time.Second, max(500*time.Millisecond, 2*waited))
	if errors.As(err, &later) && later.After > wait {
		wait = later.After
	}
	d.log.Warn().Err(err).Dur("again_in", wait).Msg("the server did not take a push; it is sent again")
	return wait
}

// keepOnDisk writes what the server did not take. Where that fails, so will the next
// flush, and wait until it can be done.
func (d *delivery) keepOnDisk() {
	if err := d.spool.Keep(); err != nil {
		d.metrics.spoolErrors.Inc()
		d.log.Error().Err(err).Msg("the spool cannot be written")
	}
}

// pauseFor waits; false means that ctx ended first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
