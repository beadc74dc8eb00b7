package docket

import (
	"context"
	"errors"
	"time"

	"coroner/classify/ledger"
)

// Upkeep bounds what is kept: by age, by size, and by the number of open
// cases. What goes is counted.
func (d *Docket) Upkeep(ctx context.Context) error {
	now := d.now()
	verdicts, evidence := now.Add(-d.options.KeepVerdicts), now.Add(-d.options.KeepEvidence)
	if err := d.sweep(ctx, verdicts, evidence); err != nil {
		return err
	}
	for used, err := d.ledger.Used(ctx); err != nil || used > d.options.MaxBytes; used, err = d.ledger.Used(ctx) {
		oldest, err2 := d.ledger.OldestEvidence(ctx)
		if err != nil || err2 != nil || oldest.IsZero() {
			break // nothing but verdicts is left, which have their own age
		}
		age := now.Sub(oldest)
		d.log.Warn().Int64("bytes", used).Dur("age", age).Msg("the ledger is over its size; the oldest tenth of the evidence goes")
		if err := d.sweep(ctx, verdicts, now.Add(-age*9/10)); err != nil {
			return err
		}
		if age < d.options.Deadline {
			break
		}
	}
	return d.bound(ctx)
}

// sweep takes out what is too old, some at a time: who files must not wait long.
func (d *Docket) sweep(ctx context.Context, verdicts, evidence time.Time) error {
	for {
		swept, err := d.sweepSome(ctx, verdicts, evidence)
		if err != nil || !swept.More {
			return err
		}
	}
}

func (d *Docket) sweepSome(ctx context.Context, verdicts, evidence time.Time) (swept ledger.Swept, err error) {
	d.filing.Lock()
	defer d.filing.Unlock()
	err = d.ledger.Write(ctx, d.now(), func(tx *ledger.Tx) (err error) {
		swept, err = tx.Sweep(verdicts, evidence)
		return err
	})
	if err == nil {
		d.metrics.swept(swept)
	}
	if swept.Evidence > 0 {
		d.scans.Purge() // where all is gone, ids begin anew
	}
	return swept, err
}

// bound judges the oldest open cases as they are once there are too many.
func (d *Docket) bound(ctx context.Context) error {
	counts, err := d.ledger.CountCases(ctx)
	over := counts[ledger.StateOpen] - d.options.MaxOpen
	if err != nil || over <= 0 {
		return err
	}
	oldest, err := d.ledger.Cases(ctx, ledger.StateOpen, over)
	for i := range oldest {
		err = errors.Join(err, d.force(ctx, oldest[i].ID))
	}
	return err
}

// force judges an open case now and closes it.
func (d *Docket) force(ctx context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok, err := d.ledger.Case(ctx, id)
	if err != nil || !ok || c.State != ledger.StateOpen {
		return err
	}
	lives, err := d.lives(ctx, d.ledger.Questions, &c)
	if err != nil {
		return err
	}
	d.metrics.forced.Inc()
	o := outcome{Case: c}
	for _, v := range lives {
		o.add(death{id: ledger.LifeID(c.ID, v.Attempt), verdict: v})
	}
	return d.settle(ctx, []outcome{o})
}
