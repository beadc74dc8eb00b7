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
	verdicts, evidence := now.Add(-u.options.KeepVerdicts), now.Add(-u.options.KeepEvidence)
	if err := u.sweepOld(ctx, verdicts, evidence); err != nil {
		return err
	}
	for used, err := u.ledger.Used(ctx); err != nil || used > u.options.MaxBytes; used, err = u.ledger.Used(ctx) {
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
	for {
		swept, err := u.sweepSome(ctx, verdicts, evidence)
		if err != nil || !swept.More {
			return err
		}
	}
}

func (u *upkeep) sweepSome(ctx context.Context, verdicts, evidence time.Time) (swept ledger.Swept, err error) {
	err = u.writeAt(ctx, u.now(), func(tx *ledger.Tx) (err error) {
		swept, err = tx.Sweep(verdicts, evidence)
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
