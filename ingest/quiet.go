package ingest

import (
	"bytes"
	"time"
)

// Most lines of a node's log say nothing that anybody asked for. Where the
// document's Next knows no text in a line, and the line begins like one that
// was read in full before, it is passed over: it counts for coverage and for
// the clock, and gives no entry. A line that the next one may go on is passed
// over only when that one is seen to be no part of it.
type quiet struct {
	heads  heads
	minute minute

	head *head // of the line that waits for the next one; nil: none does
	at   time.Time
	line []byte // all of it
	n    int    // its number
}

// skips says whether b was dealt with as a line that gives no entry.
func (r *reader) skips(b []byte) bool {
	if r.doc.Next == nil {
		return false
	}
	q := &r.quiet
	past, h, text := q.shape(b)
	if h == nil {
		r.reread()
		return false
	}
	r.settle()
	if !r.calm() || !q.boring(h, text) || !r.in.uninteresting(b, r.doc.Next) {
		return false
	}
	r.wait(b, h, past)
	return true
}

// shape is the time in the minute, the head and the text of a line that begins
// like one that was read before; nil where it does not.
func (q *quiet) shape(b []byte) (time.Duration, *head, []byte) {
	past, rest, ok := q.minute.read(b)
	if !ok {
		return 0, nil, nil
	}
	h, text := q.heads.of(rest)
	return past, h, text
}

// wait passes over the line b, or lets it wait for the next one if that can go
// on with it.
func (r *reader) wait(b []byte, h *head, past time.Duration) {
	q := &r.quiet
	at := q.minute.from.Add(past)
	if len(b) < shortWrap || len(b) > longWrap {
		r.pass(h, at)
		return
	}
	q.head, q.at, q.line, q.n = h, at, append(q.line[:0], b...), r.in.n
}

// known is what peel would make of a line that begins like one that was read
// before, where reading it would do no more with it than yield it.
func (r *reader) known(d *draft, s string) (text string, ok bool) {
	q := &r.quiet
	past, h, rest := q.shape(bytesOf(s))
	if h == nil || !r.calm() || !q.boring(h, rest) {
		return "", false
	}
	d.At, d.Clock, d.wraps = q.minute.from.Add(past), q.minute.clock, hosted
	if q.minute.dated {
		r.times.saw(d.At)
	}
	d.Node, d.Unit, d.Source, d.Trust = h.node, h.unit, h.source, h.trust
	return s[len(s)-len(rest):], true
}

// settle passes over the line that waited.
func (r *reader) settle() {
	if h := r.quiet.head; h != nil {
		r.quiet.head = nil
		r.pass(h, r.quiet.at)
	}
}

// pass accounts for a line as if it had been read.
func (r *reader) pass(h *head, at time.Time) {
	r.seen++
	r.letGo()
	if r.quiet.minute.dated {
		r.times.saw(at)
	}
	if h.span == nil || h.taint != r.taint || h.span.boot != r.boot {
		r.open(h, at)
		return
	}
	r.times.last = at
	h.voice.last = at
	h.span.from, h.span.to = span(h.span.from, h.span.to, at)
}

// open accounts for a line in full and notes where the next of its head count.
func (r *reader) open(h *head, at time.Time) {
	d := draft{Entry: Entry{At: at, Clock: r.quiet.minute.clock, Boot: r.boot, Node: h.node, Unit: h.unit, Source: h.source, Trust: h.trust}, wraps: hosted}
	r.trustHost(&d)
	r.account(&d)
	h.span, h.voice, h.taint = r.cover.spans[spanKey{h.node, r.boot}], r.spoke[h.source], r.taint
	if h.voice == nil {
		h.voice = &voice{} // of somebody whom nobody asks about
	}
}

// reread reads the line that waited in full.
func (r *reader) reread() {
	q := &r.quiet
	if q.head == nil {
		return
	}
	line, n, cut := q.line, r.n, r.in.cut
	q.head = nil
	r.n, r.in.cut = q.n, 0
	_ = r.line(line) // no export record begins so
	r.n, r.in.cut = n, cut
}

// calm says whether the reader is in a state in which it would do no more with
// a boring line than yield it. Passing over one does not change that.
func (r *reader) calm() bool {
	return r.seen > 3 && !r.verbose && r.pretty == nil && !r.grafana.on && !r.closed() && r.quiet.minute.betray == r.times.betrayed
}

// boring says whether a line of the head says no more than that it was written.
func (q *quiet) boring(h *head, text []byte) bool {
	if len(text) < 2 {
		return false
	}
	switch c := text[0]; {
	case c <= ' ': // klog goes on
		return false
	case c == '[':
		return h.source == Kernel && kernelSeconds(text)
	case digit(c):
		return len(text) < 21 || text[19] != 'Z' // a runner's own prefix
	case c == 't' || c == '{':
		if q.minute.clock != WallClock { // it tells a better time
			return false
		}
	}
	switch h.source {
	case Systemd:
		return !bytes.HasPrefix(text, []byte("Suppressed ")) && !bytes.HasPrefix(text, []byte("Missed "))
	case Containerd:
		return !namesSource(text) // the kata shim
	}
	return true
}

// kernelSeconds says whether text starts with `[  123.456789]`.
func kernelSeconds(text []byte) bool {
	i := 1
	for i < len(text) && text[i] == ' ' {
		i++
	}
	point := digits(text, i)
	if point == i || point > i+9 || point == len(text) || text[point] != '.' {
		return false
	}
	end := digits(text, point+1)
	return end > point+3 && end <= point+10 && end < 24 && end < len(text) && text[end] == ']'
}

// digits is where the digits at i end.
func digits(s []byte, i int) int {
	for i < len(s) && digit(s[i]) {
		i++
	}
	return i
}

// learn remembers how a line that was read in full begins: s is all of it, st
// its time, as resolved in d, and rest what follows the time.
func (r *reader) learn(d *draft, st stamp, s, rest string) {
	if d.wraps != 0 || d.size != len(s) || d.Clock == NoClock || !d.Source.Host() && d.Source != Unknown {
		return
	}
	if st.month == 0 || st.year == 0 && r.times.ref.IsZero() { // the day or the year may change
		return
	}
	key, _, ok := headKey([]byte(rest))
	if !ok {
		return
	}
	q := &r.quiet
	if q.minute.dated != (st.year != 0) {
		q.heads = heads{} // the two forms of time ask for different proofs of what follows
	}
	q.heads.learn(string(key), d)
	q.minute.learn(d, st, s)
	q.minute.betray = r.times.betrayed
}
