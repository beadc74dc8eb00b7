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

// sweepOld takes out what is too old: evidence by the day where the ledger has it so, all else some
// at a time. Who files must not wait long.
func (u *upkeep) sweepOld(ctx context.Context, verdicts, evidence time.Time) error {
	if err := u.keepDays(ctx, evidence); err != nil {
		return err
	}
	return u.untilDone(ctx, func(tx *ledger.Tx) (ledger.Swept, error) { return tx.Sweep(verdicts, evidence) })
}

// keepDays makes the tables of the days to come and drops those that are over.
func (u *upkeep) keepDays(ctx context.Context, evidence time.Time) error {
	kept, err := u.ledger.Days.Keep(ctx, u.now(), evidence)
	for _, table := range kept.Late {
		u.log.Warn().Str("table", table).
			Msg("some of that day came before its table was made: the day is swept some rows at a time")
	}
	for _, table := range kept.Held {
		u.log.Info().Str("table", table).Msg("a table of the ledger is in use: it is made or dropped a minute later")
	}
	u.swept(ledger.Swept{Evidence: kept.Evidence})
	return err
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
		u.swept(swept)
	}
	return swept, err
}

// swept counts what is gone.
func (u *upkeep) swept(what ledger.Swept) {
	u.metrics.countSwept(what)
	if what.Evidence > 0 {
		u.judge.scans.Purge() // where all is gone, ids begin anew
	}
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
