package ingest

import "time"

// Seen is what the entry of a record would say of its writer.
type Seen struct {
	Source Source
	Trust  Trust
	At     time.Time
}

// Classify says what Journal would make of a record, and notes nothing. ok is false
// where only Journal can tell. It is true only where Journal would return one
// entry, no mark, and its text would be the message, the message's end, or what
// MaxText leaves of it.
func (f *Feed) Classify(g *RecordHead) (s Seen, ok bool) {
	if g.Rare {
		return s, false
	}
	w := f.writers.of(g, &f.r.names)
	if !w.fixed || !Clean(g.Message) || w.tells(g.Message) {
		return s, false
	}
	if s.At = g.at(); s.At.IsZero() {
		return s, false
	}
	s.Source, s.Trust = w.source, w.trust
	if s.Source == Containerd && namesSource(g.Message) && fromKata(string(g.Message)) {
		s.Source = Kata
	}
	if s.Trust == Attested {
		s.Trust = f.r.taint.hostTrust()
	}
	return s, true
}

// SkipRecord notes a record that Classify saw and whose entry nobody wants: the feed goes
// on as if Journal had read it.
func (f *Feed) SkipRecord(s Seen) {
	f.begin(0)
	r := f.r
	r.seen++
	r.times.saw(s.At)
	r.times.last = s.At
	if s.Source.Host() {
		r.heard(s.Source, s.At)
		r.taint.claimedHost = true
	}
}
