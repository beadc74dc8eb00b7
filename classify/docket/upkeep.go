package docket

import (
	"context"
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

func (d *Docket) sweep(ctx context.Context, verdicts, evidence time.Time) error {
	d.filing.Lock()
	defer d.filing.Unlock()
	var swept ledger.Swept
	err := d.ledger.Write(ctx, d.now(), func(tx *ledger.Tx) (err error) {
		swept, err = tx.Sweep(verdicts, evidence)
		return err
	})
	if err == nil {
		d.metrics.swept(swept)
	}
	return err
}

// bound judges the oldest open cases as they are once there are too many.
func (d *Docket) bound(ctx context.Context) error {
	open, err := d.ledger.Cases(ctx, ledger.StateOpen, 0)
	if err != nil || len(open) <= d.options.MaxOpen {
		return err
	}
	for _, c := range open[:len(open)-d.options.MaxOpen] {
		if err := d.force(ctx, c); err != nil {
			return err
		}
		d.metrics.forced.Inc()
	}
	return nil
}

// force judges an open case now and closes it.
func (d *Docket) force(ctx context.Context, c ledger.Case) error {
	v, err := d.opinion(ctx, &c)
	if err != nil {
		return err
	}
	return d.record(ctx, c, v)
}
