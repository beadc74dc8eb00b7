package agent

import (
	"context"
	"errors"
	"time"

	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/rules/signal"
)

// errCaughtUp ends a re-scan that met the lines that were read with the new
// rulebook anyway.
var errCaughtUp = errors.New("caught up")

// rescanLoop reads the look-back again, beside the live readers, whenever the
// rulebook changed. What was sent before the server keeps once. A crash, or an end, before all
// was read has it read again after the next start.
func (a *Agent) rescanLoop(ctx context.Context) error {
	for {
		var b *signal.Book
		select {
		case <-ctx.Done():
			return nil
		case b = <-a.rulebook.changed:
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
		if errors.Is(err, errCaughtUp) {
			err = a.readAgain(b)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Error().Err(err).Msg("the look-back could not be read again")
		}
	}
}

// readAgain spools what the look-back gave, and notes by which rulebook it was read.
func (a *Agent) readAgain(with *signal.Book) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.queue.putAll(a.delivery.away.Load()); err != nil {
		return err
	}
	return a.rulebook.noteReadAgain(with)
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
