package agent

import (
	"context"
	"errors"
	"time"

	"coroner/ingest/journal"
	"coroner/ingest/podlog"
)

// errCaughtUp ends a re-scan that met the lines that were read with the new
// rulebook anyway.
var errCaughtUp = errors.New("caught up")

// rescanLoop reads the look-back again, beside the live readers, whenever the
// rulebook changed. What was sent before the server keeps once.
func (a *Agent) rescanLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.rulebook.changed:
		}
		start := time.Now()
		err := a.newJournal("", time.Time{}).Run(ctx, func(b journal.Batch) error {
			return a.takeAgain(b.Reached, start, func() { a.scanEntries("rescan", b.Entries, b.Lines, b.Passed) })
		})
		if errors.Is(err, errCaughtUp) {
			err = a.newPods(nil).Run(ctx, func(b podlog.Batch) error {
				return a.takeAgain(b.Reached, start, func() { a.scanEntries("rescan", b.Entries, b.Lines, b.Passed) })
			})
		}
		if !errors.Is(err, errCaughtUp) && ctx.Err() == nil {
			a.log.Error().Err(err).Msg("the look-back could not be read again")
		}
	}
}

func (a *Agent) takeAgain(reached, start time.Time, take func()) error {
	a.mu.Lock()
	take()
	a.mu.Unlock()
	if !reached.Before(start) {
		return errCaughtUp
	}
	return nil
}
