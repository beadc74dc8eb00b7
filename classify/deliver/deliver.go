// Package deliver sends verdicts to a receiver, each revision until the receiver has it.
//
// Invariant: a revision leaves the ledger's list only after Send took it, said that it is of
// no interest, or gave it up; what became of it is counted, and why it was given up is stored with
// it. A receiver that asks for a pause
// gets one, and one item that fails holds up no other.
//
// Crash behaviour: what was sent and not yet taken off the list is sent again. Each receiver
// says how it knows that it has had it.
package deliver

import (
	"context"
	"errors"
	"time"

	"coroner/classify/ledger"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"
)

// Send gives one revision to a receiver. The note is stored with it where there is one.
// An error is a Later, a Never, a Retry, ErrSkip, ErrNotYet, or one after which it is tried again.
type Send func(ctx context.Context, d ledger.Delivery) (note string, err error)

// Later is the error of a receiver that wants nothing for some time.
type Later struct{ After time.Duration }

func (l Later) Error() string {
	return "the receiver wants nothing for " + l.After.Round(time.Second).String()
}

// Never is the error of an item that the receiver will never take.
type Never struct{ Err error }

func (n Never) Error() string { return n.Err.Error() }
func (n Never) Unwrap() error { return n.Err }

// ErrSkip says that an item is of no interest to the receiver.
var ErrSkip = errors.New("of no interest")

// ErrNotYet says that it is not known whose an item is. Others may tell of it late, as GitHub's
// webhook does: it is tried again for some minutes, and is of no interest after them.
var ErrNotYet = errors.New("it is not known whose it is")

// ToldLate is for how long after a verdict others may tell whose it is.
const ToldLate = 10 * time.Minute

// Retry is the error of an item that is to be tried again at a time, and holds up nothing.
type Retry struct {
	After time.Duration
	Err   error
}

func (r Retry) Error() string { return r.Err.Error() }
func (r Retry) Unwrap() error { return r.Err }

// Loop sends what one receiver is still to be sent. Its fields are set before Run.
type Loop struct {
	Receiver string
	List     *ledger.Deliveries
	Send     Send
	Age      time.Duration // what was recorded longer ago is given up; 0: a day
	Log      zerolog.Logger
	Now      func() time.Time
	Metrics  *Metrics

	retryAt time.Time // nothing is sent before
	logged  string    // the error that was logged last
}

// Metrics are what is counted of all receivers.
type Metrics struct {
	results *prometheus.CounterVec
	waiting *prometheus.GaugeVec
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	return &Metrics{
		results: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_deliveries_total",
			Help: "Verdicts for receivers other than Loki, by what became of them: sent, skipped (of no " +
				"interest to it), postponed, given-up.",
		}, []string{"receiver", "result"}),
		waiting: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "coroner_deliveries_waiting",
			Help: "Verdicts that a receiver other than Loki is still to be sent.",
		}, []string{"receiver"}),
	}
}

const (
	pause      = time.Second // between two looks
	batch      = 50
	maxBackoff = 5 * time.Minute
	usualAge   = 24 * time.Hour
	lookAgain  = 30 * time.Second
)

// Run sends until ctx is done.
func (l *Loop) Run(ctx context.Context) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	defer l.Metrics.waiting.DeleteLabelValues(l.Receiver)
	for {
		leads, err := l.List.Leads(ctx, l.Now())
		if leads && err == nil {
			err = l.Flush(ctx)
		}
		if err != nil && ctx.Err() == nil {
			l.Log.Error().Err(err).Str("receiver", l.Receiver).Msg("cannot read what is to be sent; retrying")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Flush sends all that is due once.
func (l *Loop) Flush(ctx context.Context) error {
	for {
		items, err := l.List.Due(ctx, l.Now(), batch)
		if err != nil {
			return err
		}
		if n, err := l.List.Waiting(ctx); err == nil {
			l.Metrics.waiting.WithLabelValues(l.Receiver).Set(float64(n))
		}
		for i := range items {
			if ctx.Err() != nil || l.Now().Before(l.retryAt) {
				return nil
			}
			if err := l.sendItem(ctx, items[i]); err != nil {
				return err
			}
		}
		if len(items) < batch {
			return nil
		}
	}
}

func (l *Loop) sendItem(ctx context.Context, item ledger.Delivery) error {
	age := l.Age
	if age == 0 {
		age = usualAge
	}
	note, err := "", error(Never{errors.New("it is too old by now")})
	if l.Now().Sub(item.Recorded) < age {
		note, err = l.Send(ctx, item)
	}
	var later Later
	var never Never
	var retry Retry
	switch {
	case ctx.Err() != nil:
		return nil // it is sent again after the start
	case err == nil:
		l.logged = ""
		return l.done(ctx, item, "sent", note)
	case errors.Is(err, ErrNotYet) && l.Now().Sub(item.Recorded) < ToldLate:
		return l.postpone(ctx, item, lookAgain)
	case errors.Is(err, ErrSkip) || errors.Is(err, ErrNotYet):
		return l.done(ctx, item, "skipped", note)
	case errors.As(err, &never):
		return l.giveUp(ctx, item, never)
	case errors.As(err, &later):
		l.retryAt = l.Now().Add(max(later.After, pause))
		return l.postpone(ctx, item, max(later.After, pause))
	case errors.As(err, &retry):
		return l.postpone(ctx, item, retry.After)
	}
	l.logError(err, "a receiver did not take a verdict; it is sent again")
	return l.postpone(ctx, item, backoff(item.Attempts))
}

// giveUp takes an item off the list, with a note of why, and of what was begun with it.
func (l *Loop) giveUp(ctx context.Context, item ledger.Delivery, why Never) error {
	l.logError(why, "a receiver does not take a verdict; it is given up")
	note := "no: " + why.Error()
	begun, err := l.List.Note(ctx, item.Case, item.Verdict.Revision)
	if err != nil {
		return err
	}
	if begun != "" {
		note += "; " + begun
	}
	return l.done(ctx, item, "given-up", note)
}

// logError logs an error, each once in a row.
func (l *Loop) logError(err error, message string) {
	if text := err.Error(); text != l.logged {
		l.logged = text
		l.Log.Warn().Err(err).Str("receiver", l.Receiver).Msg(message)
	}
}

func (l *Loop) done(ctx context.Context, item ledger.Delivery, result, note string) error {
	l.Metrics.results.WithLabelValues(l.Receiver, result).Inc()
	return l.List.Done(ctx, l.Now(), item, note)
}

func (l *Loop) postpone(ctx context.Context, item ledger.Delivery, after time.Duration) error {
	l.Metrics.results.WithLabelValues(l.Receiver, "postponed").Inc()
	return l.List.Postpone(ctx, l.Now(), item, l.Now().Add(after))
}

// backoff doubles from a second.
func backoff(attempts int) time.Duration { return min(maxBackoff, time.Second<<min(attempts, 10)) }
