package signal

import (
	"cmp"
	"fmt"
	"strings"

	"coroner/ingest"
	"coroner/ingest/document"
)

// TestSignals runs the inline tests of the secrets and the signals, and returns
// what failed.
func (b *Book) TestSignals() (failed []string, ran int) {
	failed, ran = b.testSecrets()
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

// testSignal reads the line as a document of its own, as a user would paste it.
func (b *Book) testSignal(d *Def, t Test) string {
	var found *Signal
	t.eachEntry(d.Sources[0], func(e *ingest.Entry) {
		for _, s := range b.Scan(e) {
			if s.Def == d && found == nil {
				found = &s
			}
		}
	})
	switch {
	case found != nil:
		return t.compareWith(found)
	case t.Not:
		return ""
	}
	return "does not match " + fmt.Sprintf("%.120q", t.Line)
}

func (t Test) eachEntry(assumed ingest.Source, f func(*ingest.Entry)) {
	if t.Fields != nil {
		f(&ingest.Entry{Source: cmp.Or(t.Source, assumed), Text: t.Fields["msg"], Fields: t.Fields})
		return
	}
	doc := document.Document{Name: "line"}
	_ = doc.Read(strings.NewReader(t.Line), func(e ingest.Entry) bool { // a string does not fail to be read
		if e.Source == ingest.Unknown || t.Source != "" {
			e.Source = cmp.Or(t.Source, assumed)
		}
		if e.Mark == nil {
			f(&e)
		}
		return true
	})
}

func (t Test) compareWith(s *Signal) string {
	if t.Not {
		return "must not match " + fmt.Sprintf("%.120q", t.Line)
	}
	for name, want := range t.Want {
		if got := fmt.Sprint(s.Value(name)); got != want {
			return fmt.Sprintf("captures %s=%q, want %q", name, got, want)
		}
	}
	return ""
}
