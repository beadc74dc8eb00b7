package document

import (
	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// Most lines of a node's log say nothing that anybody asked for. Where the
// document's Next knows no text in a line, and the line begins like one that was
// read in full before, it is skipped: it counts for coverage and for the
// clock, and gives no entry. A line that the next one may go on is skipped
// only when that one is seen to be no part of it.

// waitingLine is an uninteresting line that the next one may go on.
type waitingLine struct {
	prefilter.KnownLine
	line []byte // all of it
	n    int    // its number; 0: none waits
}

// skipper skips the uninteresting lines of a document.
type skipper struct {
	r       *reader
	heads   prefilter.Heads // of the lines of the host that were read in full
	waiting waitingLine
}

// trySkip says whether b was dealt with as a line that gives no entry.
func (p *skipper) trySkip(b []byte) bool {
	if p.r.doc.Next == nil {
		return false
	}
	l, ok := p.heads.Match(b)
	if !ok {
		p.readWaiting()
		return false
	}
	p.skipWaiting()
	if !p.canSkip() || !l.OnlyText() || !p.r.in.Uninteresting(b, p.r.doc.Next) {
		return false
	}
	if len(b) < shortWrap || len(b) > longWrap {
		p.skipLine(&l)
	} else {
		p.waiting = waitingLine{l, append(p.waiting.line[:0], b...), p.r.in.Number}
	}
	return true
}

// knownText is what peel would make of a line that begins like one that was read
// before, where reading it would do no more with it than yield it.
func (p *skipper) knownText(d *draft, s string) (text string, ok bool) {
	l, ok := p.heads.Match(logtext.BytesOf(s))
	if !ok || !p.canSkip() || !l.OnlyText() {
		return "", false
	}
	d.At, d.Clock, d.wraps = l.At, l.Clock, hosted
	if l.Dated {
		p.r.account.clock.Saw(d.At)
	}
	d.Node, d.Unit, d.Source, d.Trust = l.Node, l.Unit, l.Source, l.Trust
	return s[len(s)-len(l.Text):], true
}

// skipWaiting skips the line that waited.
func (p *skipper) skipWaiting() {
	if p.waiting.n > 0 {
		p.waiting.n = 0
		p.skipLine(&p.waiting.KnownLine)
	}
}

// skipLine accounts for a line as if it had been read.
func (p *skipper) skipLine(l *prefilter.KnownLine) {
	p.r.flushPending()
	p.r.account.countSkipped(l, p.r.hosts.boot)
}

// readWaiting reads the line that waited in full.
func (p *skipper) readWaiting() {
	w := &p.waiting
	if w.n == 0 {
		return
	}
	n, cut := p.r.n, p.r.in.Cut
	p.r.n, p.r.in.Cut, w.n = w.n, 0, 0
	_ = p.r.readLine(w.line) // no export record begins so
	p.r.n, p.r.in.Cut = n, cut
}

// canSkip says whether the reader is in a state in which it would do no more with
// a line than yield it, if its head tells all of it. Skipping one does not change
// that.
func (p *skipper) canSkip() bool {
	return p.r.account.lines > 3 && !p.r.records.verbose && p.r.records.pretty == nil && !p.r.loki.csv.on &&
		!p.r.isClosed() && p.heads.Zone() == p.r.account.clock.InferredZone
}

// learnHead remembers how a line that was read in full begins: s is all of it, st
// its time, as resolved in d, and rest what follows the time.
func (p *skipper) learnHead(d *draft, st logtext.Stamp, s, rest string) {
	if d.wraps != 0 || d.size != len(s) || d.Clock == ingest.NoClock || !d.Source.Host() && d.Source != ingest.Unknown {
		return
	}
	if st.Month == 0 || st.Year == 0 && p.r.account.clock.Ref.IsZero() { // the day or the year may change
		return
	}
	w := prefilter.Writer{Node: d.Node, Unit: d.Unit, Source: d.Source, Trust: d.Trust}
	p.heads.Learn(w, d.At, d.Clock, st, s, rest, p.r.account.clock.InferredZone)
}
