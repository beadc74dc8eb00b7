package document

import (
	"time"

	"coroner/ingest"
	"coroner/ingest/journald"
	"coroner/ingest/logtext"
)

// Output is which of a container's two outputs a line of its log is from.
type Output int

// The outputs.
const (
	Stdout Output = iota
	Stderr
)

// Reads says whether a line with its runtime's header will be read as one of the
// container's log, whatever lines came before it.
func (f *Feed) Reads() bool { return f.r.containers.main != nil && f.r.records.pretty == nil }

// Alone says whether such a line, if it is whole, will be one entry by itself.
func (f *Feed) Alone(out Output) bool {
	return f.Reads() && len(f.r.containers.main.parts[out].text) == 0
}

// Passes says whether such a line, with this text, can be left out: it is of what
// the stream is already, and no other line would be read differently without it.
// That is not sure of a line that is not Clean.
func (f *Feed) Passes(text []byte) bool {
	s := f.r.containers.main
	return s.source == ingest.Runner || !s.listens && !logtext.MayBeRunner(text)
}

// Skip takes note of a line that was left out.
func (f *Feed) Skip(at time.Time) {
	f.r.account.clock.Last = at
	f.r.account.clock.Saw(at)
}

// Seen is what the entry of a record would say of its writer.
type Seen struct {
	Source ingest.Source
	Trust  ingest.Trust
	At     time.Time
}

// Classify says what Journal would make of a record, and notes nothing. ok is false
// where only Journal can tell. It is true only where Journal would return one
// entry, no mark, and its text would be the message, the message's end, or what
// MaxText leaves of it.
func (f *Feed) Classify(g *journald.RecordHead) (s Seen, ok bool) {
	if g.Rare {
		return s, false
	}
	w := f.writers.Of(g, &f.r.records.names)
	if !w.Fixed || !logtext.Clean(g.Message) || w.ReadsMessage(g.Message) {
		return s, false
	}
	if s.At = g.At(); s.At.IsZero() {
		return s, false
	}
	s.Source, s.Trust = w.Source, w.Trust
	if s.Source == ingest.Containerd && logtext.HasSource(g.Message) && logtext.FromKata(string(g.Message)) {
		s.Source = ingest.Kata
	}
	if s.Trust == ingest.Attested {
		s.Trust = f.r.account.provenance.hostTrust()
	}
	return s, true
}

// SkipRecord notes a record that Classify saw and whose entry nobody wants: the feed goes
// on as if Journal had read it.
func (f *Feed) SkipRecord(s Seen) {
	f.beginFeed(0)
	r := f.r
	r.account.lines++
	r.account.clock.Saw(s.At)
	r.account.clock.Last = s.At
	if s.Source.Host() {
		r.account.noteSource(s.Source, s.At)
		r.account.provenance.addMore(claimsHost)
	}
}
