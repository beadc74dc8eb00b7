package kubewatch

import (
	"context"
	"time"

	"coroner/ingest"

	"github.com/rs/zerolog"
)

// outbox hands entries on in the order in which they came. While the receiver
// fails it is full and the watches wait.
type outbox struct {
	receive func(context.Context, []ingest.Entry) error
	log     zerolog.Logger
	waiting chan []ingest.Entry // owned by run, never closed
	done    chan struct{}       // closed by run: nobody takes any more
}

// The bounds of what waits and of one delivery.
const (
	maxWaiting = 64
	maxBatch   = 500
)

func newOutbox(receive func(context.Context, []ingest.Entry) error, log zerolog.Logger) *outbox {
	return &outbox{
		receive: receive,
		log:     log,
		waiting: make(chan []ingest.Entry, maxWaiting),
		done:    make(chan struct{}),
	}
}

// putEntries hands entries over. It waits while there is no room.
func (o *outbox) putEntries(entries []ingest.Entry) {
	for len(entries) > 0 {
		n := min(len(entries), maxBatch)
		select {
		case o.waiting <- entries[:n:n]:
		case <-o.done:
			return
		}
		entries = entries[n:]
	}
}

// runUntil delivers until ctx is done, then once more what is there.
func (o *outbox) runUntil(ctx context.Context) error {
	defer close(o.done)
	for {
		select {
		case batch := <-o.waiting:
			if !o.deliverBatch(ctx, o.moreWaiting(batch)) {
				return nil
			}
		case <-ctx.Done():
			o.drainOnce(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// moreWaiting adds what else waits, up to a delivery's size.
func (o *outbox) moreWaiting(batch []ingest.Entry) []ingest.Entry {
	for len(batch) < maxBatch {
		select {
		case next := <-o.waiting:
			batch = append(batch, next...)
		default:
			return batch
		}
	}
	return batch
}

// deliverBatch tries until it is taken; false means that ctx ended first.
func (o *outbox) deliverBatch(ctx context.Context, batch []ingest.Entry) bool {
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := o.receive(context.WithoutCancel(ctx), batch)
		if err == nil {
			return true
		}
		o.log.Error().Err(err).Int("entries", len(batch)).Dur("again_in", wait).
			Msg("cannot store what the API server reported; retrying")
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// drainOnce delivers what still waits, once.
func (o *outbox) drainOnce(ctx context.Context) {
	for {
		select {
		case batch := <-o.waiting:
			if err := o.receive(ctx, batch); err != nil {
				o.log.Error().Err(err).Msg("cannot store what the API server reported last")
				return
			}
		default:
			return
		}
	}
}
