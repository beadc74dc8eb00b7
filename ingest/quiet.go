package ingest

import (
	"bytes"
	"encoding/binary"
	"time"
)

// Most lines of a node's log say nothing that anybody asked for. Where the
// document's Next knows no text in a line, and the line begins like one that
// was read in full before, it is passed over: it counts for coverage and for
// the clock, and gives no entry. A line that the next one may go on is passed
// over only when that one is seen to be no part of it.
type quiet struct {
	heads  map[string]*head // by what stands between the time and the process id
	minute minute

	line []byte // what waits for the next line; empty: nothing does
	n    int    // its number
	head *head
	at   time.Time
}

// head is what the words before a host's text mean, and where its lines are
// accounted for.
type head struct {
	node, unit string
	source     Source
	trust      Trust

	span  *spanOf // nil until its first line was passed over
	spoke *time.Time
	taint taint // of the document then
}

// minute is the one that the lines are in, as they spell it.
type minute struct {
	text   string // up to its colon
	zone   string // what stands behind the second
	from   time.Time
	clock  Clock
	dated  bool           // the text has its year
	betray *time.Location // what the zone told
}

// maxHeads bounds how many heads are remembered.
const maxHeads = 4096

// skips says whether b was dealt with as a line that gives no entry.
func (r *reader) skips(b []byte) bool {
	if r.doc.Next == nil {
		return false
	}
	q := &r.quiet
	at, h, text := q.shape(b)
	if h == nil {
		r.reread()
		return false
	}
	r.settle()
	if !r.boring(h, text) || !r.in.dull(b, r.doc.Next) {
		return false
	}
	if len(b) < shortWrap || len(b) > longWrap {
		r.pass(h, at)
	} else {
		q.line, q.n, q.head, q.at = append(q.line[:0], b...), r.n, h, at
	}
	return true
}

// shape is the time, the head and the text of a line that begins like one that
// was read before; nil where it does not.
func (q *quiet) shape(b []byte) (time.Time, *head, []byte) {
	at, rest, ok := q.minute.read(b)
	if !ok {
		return at, nil, nil
	}
	key, text, ok := headKey(rest)
	if !ok {
		return at, nil, nil
	}
	return at, q.heads[string(key)], text
}

// settle passes over the line that waited.
func (r *reader) settle() {
	if q := &r.quiet; len(q.line) > 0 {
		q.line = q.line[:0]
		r.pass(q.head, q.at)
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
	if h.spoke != nil {
		*h.spoke = at
	}
	h.span.from, h.span.to = span(h.span.from, h.span.to, at)
}

// open accounts for a line in full and notes where the next of its head count.
func (r *reader) open(h *head, at time.Time) {
	d := draft{Entry: Entry{At: at, Clock: r.quiet.minute.clock, Boot: r.boot, Node: h.node, Unit: h.unit, Source: h.source, Trust: h.trust}, wraps: hosted}
	r.trustHost(&d)
	r.account(&d)
	h.span, h.spoke, h.taint = r.cover.spans[spanKey{h.node, r.boot}], r.spoke[h.source], r.taint
}

// reread reads the line that waited in full.
func (r *reader) reread() {
	q := &r.quiet
	if len(q.line) == 0 {
		return
	}
	line, n, cut := q.line, r.n, r.in.cut
	q.line = q.line[:0]
	r.n, r.in.cut = q.n, 0
	_ = r.line(line) // no export record begins so
	r.n, r.in.cut = n, cut
}

// boring says whether the reader, in the state that it is in, would do no more
// with such a line than yield it.
func (r *reader) boring(h *head, text []byte) bool {
	m := &r.quiet.minute
	if r.seen <= 3 || r.verbose || r.pretty != nil || r.grafana.on || r.closed() || m.betray != r.times.betrayed || len(text) < 2 {
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
		if m.clock != WallClock { // it tells a better time
			return false
		}
	}
	switch h.source {
	case Systemd:
		return !bytes.HasPrefix(text, []byte("Suppressed ")) && !bytes.HasPrefix(text, []byte("Missed "))
	case Containerd:
		return !bytes.Contains(text, []byte(" source=")) // the kata shim
	}
	return true
}

// kernelSeconds says whether text starts with `[  123.456789]`.
func kernelSeconds(text []byte) bool {
	end := bytes.IndexByte(text[:min(len(text), 24)], ']')
	if end < 6 {
		return false
	}
	_, ok := seconds(string(bytes.TrimLeft(text[1:end], " ")))
	return ok
}

// learn remembers how a line that was read in full begins: s is all of it, st
// its time, as resolved in d, and rest what follows the time.
func (r *reader) learn(d *draft, st stamp, s, rest string) {
	if r.doc.Next == nil || d.wraps != 0 || d.size != len(s) || d.Clock == NoClock || !d.Source.host() && d.Source != Unknown {
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
	if q.heads == nil || len(q.heads) > maxHeads {
		q.heads = map[string]*head{}
	}
	if q.minute.dated != (st.year != 0) {
		clear(q.heads) // the two forms of time ask for different proofs of what follows
	}
	if h := q.heads[string(key)]; h == nil || h.node != d.Node || h.unit != d.Unit || h.source != d.Source || h.trust != d.Trust {
		q.heads[string(key)] = &head{node: d.Node, unit: d.Unit, source: d.Source, trust: d.Trust}
	}
	q.minute.learn(d, st, s)
	q.minute.betray = r.times.betrayed
}

// learn takes the minute from a line whose time is known. The text before the
// seconds has a fixed length in both forms that are read quickly.
func (m *minute) learn(d *draft, st stamp, s string) {
	*m = minute{}
	at := isoMinute
	if st.year == 0 {
		at = syslogMinute
	}
	if len(s) < at+2 || s[at-1] != ':' || number(s, at, 2) != st.sec {
		return
	}
	end := at + 2
	if end < len(s) && s[end] == ',' { // dmesg's fraction
		return
	}
	if end < len(s) && s[end] == '.' {
		for end++; end < len(s) && digit(s[end]); end++ {
		}
	}
	if end > st.size {
		return
	}
	past := time.Duration(st.sec)*time.Second + time.Duration(st.nano)
	*m = minute{text: s[:at], zone: s[end : st.size+1], from: d.At.Add(-past), clock: d.Clock, dated: st.year != 0}
}

// `2026-05-04T10:00:` and `May 04 10:00:`
const (
	isoMinute    = 17
	syslogMinute = 13
)

// read reads the time of a line of this minute; rest begins with the space
// behind it.
func (m *minute) read(b []byte) (at time.Time, rest []byte, ok bool) {
	i := len(m.text)
	if i == 0 || len(b) < i+3 || string(b[:i]) != m.text || !digit(b[i]) || !digit(b[i+1]) {
		return at, nil, false
	}
	past := time.Duration(b[i]-'0')*10*time.Second + time.Duration(b[i+1]-'0')*time.Second
	i += 2
	if past >= time.Minute { // a leap second
		return at, nil, false
	}
	if b[i] == '.' {
		if !digit(b[i+1]) {
			return at, nil, false
		}
		scale := 100 * time.Millisecond
		for i++; i < len(b) && digit(b[i]); i++ {
			past += time.Duration(b[i]-'0') * scale
			scale /= 10
		}
		if scale < 100 { // finer than peelSyslog takes
			return at, nil, false
		}
	}
	end := i + len(m.zone)
	if end > len(b) || string(b[i:end]) != m.zone {
		return at, nil, false
	}
	return m.from.Add(past), b[end-1:], true
}

// headKey returns of ` host ident[pid]: text` what does not change with the
// process id, and the text. A first word that ends in a colon and has no process
// id can be either, so it says nothing.
func headKey(s []byte) (key, text []byte, ok bool) {
	end := wordEnd(s, 1)
	if end < 3 || s[end-1] == ':' && s[end-2] != ']' {
		return nil, nil, false
	}
	if s[end-1] != ':' {
		end = wordEnd(s, end+1)
	}
	if end < 3 || end >= len(s) || s[end-1] != ':' {
		return nil, nil, false
	}
	i := end - 1
	if s[i-1] != ']' {
		return s[:end], s[end+1:], true
	}
	for i -= 2; i > 0 && digit(s[i]); i-- {
	}
	return s[:i+1], s[end+1:], s[i] == '[' && i < end-3
}

// wordEnd is where the word at i ends: a space, or the end of s.
func wordEnd(s []byte, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if n := bytes.IndexByte(s[i:], ' '); n >= 0 {
		return i + n
	}
	return len(s)
}

// dull says whether nobody asks for the line b and cleaning would not change
// it. b was the last that was returned; what is read already of the lines after
// it is looked at with it, once.
func (l *lines) dull(b []byte, next func([]byte, int) int) bool {
	if l.cut > 0 {
		return false
	}
	if l.ahead >= 0 {
		return true
	}
	if !plain(b) || next(b, 0) >= 0 {
		return false
	}
	more, _ := l.r.Peek(l.r.Buffered()) // no error: it is there
	more = more[:oddAt(more)]
	if l.ahead = next(more, 0); l.ahead < 0 {
		l.ahead = len(more)
	}
	return true
}

// plain says whether every byte of b is a printable ASCII character that takes
// part in no escape, so that cleaning b would change nothing.
func plain(b []byte) bool {
	i := 0
	for ; i+16 <= len(b); i += 16 {
		if odd(binary.LittleEndian.Uint64(b[i:]))|odd(binary.LittleEndian.Uint64(b[i+8:])) != 0 {
			return false
		}
	}
	return oddAt(b[i:]) == len(b)-i && bytes.IndexByte(b[i:], '\n') < 0
}

// odd is not 0 if one of the eight bytes of w is not such a character.
func odd(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	low := ^(w&^tops + (0x80-' ')*ones) // below a space
	return (low | w | (w + ones) | ((w ^ '#'*ones) - ones)) & tops
}

// oddAt is where in b the first eight bytes stand of which one is neither a
// newline nor such a character; the length of b if there are none.
func oddAt(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		newline := ^((w^'\n'*ones)&^tops + (0x7f * ones)) // its top bit, where the byte is a newline or has its own top bit
		low := ^(w&^tops + (0x80-' ')*ones)               // below a space
		if (low&^newline|w|(w+ones)|((w^'#'*ones)-ones))&tops != 0 {
			return i
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' && c != '\n' || c >= 0x7f || c == '#' {
			return i
		}
	}
	return i
}
