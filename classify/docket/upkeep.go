package docket

import (
	"context"
	"errors"
	"time"

	"coroner/classify/ledger"
)

// upkeep bounds what is kept: by age, by size, and by the number of open cases.
// What it removes is counted.
type upkeep struct {
	*store
	judge *judge
}

// runOnce does all of it once.
func (u *upkeep) runOnce(ctx context.Context) error {
	now := u.now()
	if leads, err := u.ledger.Lead.Of(ctx, "upkeep", now); err != nil || !leads {
		return err
	}
	keep := u.options.Keep
	verdicts := now.Add(-keep.Verdicts)
	err := errors.Join(u.sweepOld(ctx, verdicts, now.Add(-keep.Evidence)), u.thinOld(ctx, now.Add(-keep.Completed)))
	if err != nil {
		return err
	}
	for used, err := u.ledger.Used(ctx); err != nil || used > keep.Bytes; used, err = u.ledger.Used(ctx) {
		oldest, err2 := u.ledger.OldestEvidence(ctx)
		if err != nil || err2 != nil || oldest.IsZero() {
			break // nothing but verdicts is left, which have their own age
		}
		age := now.Sub(oldest)
		u.log.Warn().Int64("bytes", used).Dur("age", age).Msg("evidence store full: dropping the oldest 10 %")
		if err := u.sweepOld(ctx, verdicts, now.Add(-age*9/10)); err != nil {
			return err
		}
		if age < u.options.Deadline {
			break
		}
	}
	return u.boundCases(ctx)
}

// sweepOld takes out what is too old, some at a time: who files must not wait long.
func (u *upkeep) sweepOld(ctx context.Context, verdicts, evidence time.Time) error {
	return u.untilDone(ctx, func(tx *ledger.Tx) (ledger.Swept, error) { return tx.Sweep(verdicts, evidence) })
}

// thinOld takes the evidence out of the verdicts of runners that ended well, some at a time.
func (u *upkeep) thinOld(ctx context.Context, before time.Time) error {
	return u.untilDone(ctx, func(tx *ledger.Tx) (ledger.Swept, error) { return tx.Thin(before) })
}

// untilDone sweeps, a write each time, until nothing is left.
func (u *upkeep) untilDone(ctx context.Context, sweep func(*ledger.Tx) (ledger.Swept, error)) error {
	for {
		swept, err := u.sweepSome(ctx, sweep)
		if err != nil || !swept.More {
			return err
		}
	}
}

func (u *upkeep) sweepSome(
	ctx context.Context, sweep func(*ledger.Tx) (ledger.Swept, error),
) (swept ledger.Swept, err error) {
	err = u.writeAt(ctx, u.now(), func(tx *ledger.Tx) (err error) {
		swept, err = sweep(tx)
		return err
	})
	if err == nil {
		u.metrics.countSwept(swept)
	}
	if swept.Evidence > 0 {
		u.judge.scans.Purge() // where all is gone, ids begin anew
	}
	return swept, err
}

// boundCases judges the oldest open cases as they are once there are too many.
func (u *upkeep) boundCases(ctx context.Context) error {
	counts, err := u.ledger.CountCases(ctx)
	over := counts[ledger.StateOpen] - u.options.MaxOpen
	if err != nil || over <= 0 {
		return err
	}
	oldest, err := u.ledger.Cases(ctx, ledger.StateOpen, over)
	for i := range oldest {
		err = errors.Join(err, u.judge.forceCase(ctx, oldest[i].ID))
	}
	return err
}
