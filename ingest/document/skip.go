package document

import (
	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// Most lines of a node's log say nothing that anybody asked for. Where the
// document's Next knows no text in a line, and the line begins like one that was
// read in full before, it is passed over: it counts for coverage and for the
// clock, and gives no entry. A line that the next one may go on is passed over
// only when that one is seen to be no part of it.

// waitingLine is an uninteresting line that the next one may go on.
type waitingLine struct {
	prefilter.KnownLine
	line []byte // all of it
	n    int    // its number; 0: none waits
}

// skips says whether b was dealt with as a line that gives no entry.
func (r *reader) skips(b []byte) bool {
	if r.doc.Next == nil {
		return false
	}
	l, ok := r.heads.Match(b)
	if !ok {
		r.reread()
		return false
	}
	r.settle()
	if !r.canSkip() || !l.OnlyText() || !r.in.Uninteresting(b, r.doc.Next) {
		return false
	}
	if len(b) < shortWrap || len(b) > longWrap {
		r.pass(&l)
	} else {
		r.waiting = waitingLine{l, append(r.waiting.line[:0], b...), r.in.Number}
	}
	return true
}

// known is what peel would make of a line that begins like one that was read
// before, where reading it would do no more with it than yield it.
func (r *reader) known(d *draft, s string) (text string, ok bool) {
	l, ok := r.heads.Match(logtext.BytesOf(s))
	if !ok || !r.canSkip() || !l.OnlyText() {
		return "", false
	}
	d.At, d.Clock, d.wraps = l.At, l.Clock, hosted
	if l.Dated {
		r.account.clock.Saw(d.At)
	}
	d.Node, d.Unit, d.Source, d.Trust = l.Node, l.Unit, l.Source, l.Trust
	return s[len(s)-len(l.Text):], true
}

// settle passes over the line that waited.
func (r *reader) settle() {
	if r.waiting.n > 0 {
		r.waiting.n = 0
		r.pass(&r.waiting.KnownLine)
	}
}

// pass accounts for a line as if it had been read.
func (r *reader) pass(l *prefilter.KnownLine) {
	r.letGo()
	r.account.skipped(l, r.boot)
}

// reread reads the line that waited in full.
func (r *reader) reread() {
	w := &r.waiting
	if w.n == 0 {
		return
	}
	n, cut := r.n, r.in.Cut
	r.n, r.in.Cut, w.n = w.n, 0, 0
	_ = r.line(w.line) // no export record begins so
	r.n, r.in.Cut = n, cut
}

// canSkip says whether the reader is in a state in which it would do no more with
// a line than yield it, if its head tells all of it. Skipping one does not change
// that.
func (r *reader) canSkip() bool {
	return r.account.lines > 3 && !r.verbose && r.pretty == nil && !r.grafana.on && !r.closed() && r.heads.Zone() == r.account.clock.InferredZone
}

// learn remembers how a line that was read in full begins: s is all of it, st
// its time, as resolved in d, and rest what follows the time.
func (r *reader) learn(d *draft, st logtext.Stamp, s, rest string) {
	if d.wraps != 0 || d.size != len(s) || d.Clock == ingest.NoClock || !d.Source.Host() && d.Source != ingest.Unknown {
		return
	}
	if st.Month == 0 || st.Year == 0 && r.account.clock.Ref.IsZero() { // the day or the year may change
		return
	}
	w := prefilter.Writer{Node: d.Node, Unit: d.Unit, Source: d.Source, Trust: d.Trust}
	r.heads.Learn(w, d.At, d.Clock, st, s, rest, r.account.clock.InferredZone)
}
