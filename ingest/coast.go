package ingest

import (
	"bytes"
	"time"
)

// lull is a run of dull lines of one minute. Times in it count from the
// minute's begin.
type lull struct {
	line  []byte // the last one, which waits for the next
	head  *head  // of it; nil: there was none yet
	past  time.Duration
	lines int

	span            *spanOf // of those that were counted last
	counted         int     // of its lines, how many are not yet accounted for
	low, high, last time.Duration
}

// coast passes over those of the lines behind a dull one that are known to be
// dull as well. It does with each what skips does, in the state that skips found
// and that no such line changes; but it accounts for them together.
func (r *reader) coast() {
	l, rest := lull{}, r.in.known()
	size := len(rest)
	for end := bytes.IndexByte(rest, '\n'); end >= 0; end = bytes.IndexByte(rest, '\n') {
		past, h, text := r.quiet.shape(rest[:end])
		if h == nil || !r.quiet.boring(h, text) {
			break
		}
		r.follow(&l)
		l.line, l.head, l.past, rest = rest[:end], h, past, rest[end+1:]
		l.lines++
	}
	if l.lines > 0 {
		r.end(&l)
		r.in.pass(size-len(rest), l.lines)
		r.wait(l.line, l.head, l.past)
	}
}

// follow counts the line that waited, now that the next one is seen to be no
// part of it.
func (r *reader) follow(l *lull) {
	h := l.head
	if h == nil {
		r.settle()
		return
	}
	if h.span == nil || h.span != l.span || h.taint != r.taint {
		r.end(l)
		r.pass(h, r.quiet.minute.from.Add(l.past))
		l.span, l.low, l.high = h.span, l.past, l.past
		return
	}
	l.counted++
	l.low, l.high, l.last = min(l.low, l.past), max(l.high, l.past), l.past
	h.voice.past, h.voice.rose = l.past, true
}

// end accounts for the lines that were counted, as pass would for each.
func (r *reader) end(l *lull) {
	if l.counted == 0 {
		return
	}
	r.seen += l.counted
	l.counted = 0
	from := r.quiet.minute.from
	for _, v := range r.spoke {
		if v.rose {
			v.last, v.rose = from.Add(v.past), false
		}
	}
	low, high := from.Add(l.low), from.Add(l.high)
	if r.quiet.minute.dated {
		r.times.saw(high)
	}
	r.times.last = from.Add(l.last)
	l.span.from, _ = span(l.span.from, l.span.to, low)
	_, l.span.to = span(l.span.from, l.span.to, high)
}
