package ingest

import "time"

// Output is which of a container's two outputs a line of its log is from.
type Output int

// The outputs.
const (
	Stdout Output = iota
	Stderr
)

// Reads says whether a line with its runtime's header will be read as one of the
// container's log, whatever lines came before it.
func (f *Feed) Reads() bool { return f.r.main != nil && f.r.pretty == nil }

// Alone says whether such a line, if it is whole, will be one entry by itself.
func (f *Feed) Alone(out Output) bool { return f.Reads() && len(f.r.main.parts[out].text) == 0 }

// Passes says whether such a line, with this text, can be left out: it is of what
// the stream is already, and no other line would be read differently without it.
// That is not sure of a line that is not Clean.
func (f *Feed) Passes(text []byte) bool {
	s := f.r.main
	return s.source == Runner || !s.listens && !turns(text)
}

// Skip takes note of a line that was left out.
func (f *Feed) Skip(at time.Time) {
	f.r.times.last = at
	f.r.times.saw(at)
}
