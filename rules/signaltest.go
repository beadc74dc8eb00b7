package rules

import (
	"fmt"

	"coroner/ingest"
)

// TestSignals runs the inline tests of the signals and returns what failed.
func (b *Rulebook) TestSignals() (failed []string, ran int) {
	for _, d := range b.Signals {
		for _, t := range d.Tests {
			ran++
			if why := b.testSignal(d, t); why != "" {
				failed = append(failed, fmt.Sprintf("%s: signal %s: %s", t.pos, d.Name, why))
			}
		}
	}
	return failed, ran
}

func (b *Rulebook) testSignal(d *SignalDef, t SignalTest) string {
	e := ingest.Entry{Text: t.Line, Source: t.Source, Fields: t.Fields}
	if t.Fields != nil {
		e.Source, e.Text = ingest.Kube, t.Fields["msg"]
	}
	if e.Source == ingest.Unknown {
		e.Source = d.Sources[0]
	}
	for _, s := range b.Scan(&e) {
		if s.Def == d {
			return t.compare(&s)
		}
	}
	if t.Not {
		return ""
	}
	return "does not match " + fmt.Sprintf("%.120q", t.Line)
}

func (t SignalTest) compare(s *Signal) string {
	if t.Not {
		return "must not match " + fmt.Sprintf("%.120q", t.Line)
	}
	for name, want := range t.Want {
		if got := fmt.Sprint(s.Values[name]); got != want {
			return fmt.Sprintf("captures %s=%q, want %q", name, got, want)
		}
	}
	return ""
}
