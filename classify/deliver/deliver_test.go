package deliver

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Each item is sent until it is taken, skipped or given up; a pause holds for all, a failure
// only for its own item.
func TestLoop(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	answers, sent := map[string]error{}, []string(nil)
	metrics := prometheus.NewRegistry()
	loop := &Loop{Receiver: "test", List: l.Deliveries("test"), Log: zerolog.Nop(), Metrics: NewMetrics(metrics),
		Now: func() time.Time { return now },
		Send: func(_ context.Context, d ledger.Delivery) (string, error) {
			sent = append(sent, d.Case)
			if d.Case == "d" { // something is begun that has no end yet
				return "", errors.Join(answers[d.Case], l.Deliveries("test").Begin(t.Context(), now, d, "asked"))
			}
			return "", answers[d.Case]
		}}
	flush := func(after time.Duration, want ...string) {
		t.Helper()
		now, sent = now.Add(after), nil
		if err := loop.Flush(t.Context()); err != nil || !slices.Equal(sent, want) {
			t.Errorf("%q were sent, want %q, %v", sent, want, err)
		}
	}
	flush(0)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		v := rules.Verdict{Runner: id, Revision: 1}
		err := l.Write(t.Context(), now, func(tx *ledger.Tx) error { return tx.AddVerdict(id, &v, now, false) })
		if err != nil {
			t.Fatal(err)
		}
	}
	answers["a"], answers["b"], answers["c"] = errors.New("away"), ErrSkip, Never{errors.New("no")}
	answers["d"] = Retry{time.Hour, errors.New("not yet")}
	flush(time.Second, "a", "b", "c", "d", "e")
	flush(0)
	flush(time.Second, "a")
	flush(time.Second)
	answers["a"] = Later{time.Minute}
	flush(time.Second, "a")
	answers["a"] = nil
	flush(58 * time.Second)
	flush(2*time.Second, "a")
	flush(time.Minute)
	flush(48 * time.Hour) // d is too old by then
	if n, err := loop.List.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
	for id, want := range map[string]string{"a": "", "b": "", "c": "no: no", "d": "no: it is too old by now; asked"} {
		if note, err := loop.List.Note(t.Context(), id, 1); note != want || err != nil {
			t.Errorf("noted of %s: %q %v, want %q", id, note, err, want)
		}
	}
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) == 2 {
				got[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	for result, n := range map[string]float64{"sent": 2, "skipped": 1, "given-up": 2, "postponed": 4} {
		if got[result] != n {
			t.Errorf("%s: %v, want %v", result, got[result], n)
		}
	}
}

// What was sent when the program was killed is sent again, and nothing else is.
func TestKilledBeforeTheRecord(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	var sent []string
	ctx, kill := context.WithCancel(t.Context())
	loop := func(send Send) *Loop {
		return &Loop{Receiver: "test", List: l.Deliveries("test"), Log: zerolog.Nop(),
			Metrics: NewMetrics(prometheus.NewRegistry()), Now: func() time.Time { return now }, Send: send}
	}
	first := loop(func(_ context.Context, d ledger.Delivery) (string, error) {
		sent = append(sent, d.Case)
		if d.Case == "b" {
			kill()
		}
		return "", nil
	})
	if err := first.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		v := rules.Verdict{Runner: id, Revision: 1}
		err := l.Write(t.Context(), now, func(tx *ledger.Tx) error { return tx.AddVerdict(id, &v, now, false) })
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Flush(ctx)
	second := loop(func(_ context.Context, d ledger.Delivery) (string, error) {
		sent = append(sent, d.Case)
		return "", nil
	})
	if err := second.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "b", "c"}; !slices.Equal(sent, want) {
		t.Errorf("%q, want %q", sent, want)
	}
}

// Of whom a verdict is may be told some minutes late: it is looked for again, and after that the
// verdict is of no interest.
func TestNotKnownYet(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now, sent := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), map[string]int{}
	told := map[string]bool{}
	loop := &Loop{Receiver: "test", List: l.Deliveries("test"), Log: zerolog.Nop(),
		Metrics: NewMetrics(prometheus.NewRegistry()), Now: func() time.Time { return now },
		Send: func(_ context.Context, d ledger.Delivery) (string, error) {
			if sent[d.Case]++; !told[d.Case] {
				return "", ErrNotYet
			}
			return "", nil
		}}
	pass := func(after time.Duration) {
		for end := now.Add(after); now.Before(end); now = now.Add(15 * time.Second) {
			if err := loop.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	pass(time.Second)
	for _, id := range []string{"late", "never"} {
		v := rules.Verdict{Runner: id, Revision: 1}
		err := l.Write(t.Context(), now, func(tx *ledger.Tx) error { return tx.AddVerdict(id, &v, now, false) })
		if err != nil {
			t.Fatal(err)
		}
	}
	pass(3 * time.Minute)
	told["late"] = true
	tries := sent["late"]
	pass(time.Minute)
	if tries < 4 || sent["late"] != tries+1 {
		t.Errorf("sent %d times before it was told, %d in all", tries, sent["late"])
	}
	pass(20 * time.Minute)
	if n, err := loop.List.Waiting(t.Context()); n != 0 || err != nil || sent["never"] > 25 {
		t.Errorf("%d wait, %v; tried %d times", n, err, sent["never"])
	}
}
