package ingest

import (
	"bytes"
	"encoding/binary"
	"time"
)

// head is what the words before a host's text mean, and where its lines are
// accounted for.
type head struct {
	key        string // what stands between the time and the process id, see headKey
	node, unit string
	source     Source
	trust      Trust

	span  *spanOf // nil until its first line was passed over
	voice *voice
	taint taint // of the document then
}

// Of a head that is remembered, so that identOf takes it with every process id.
const (
	maxDigits = 18
	maxKey    = 200
)

// heads are those of the lines that were read in full.
type heads struct {
	known  map[string]*head
	lately [1 << lateBits]*head // what the look-up in known found
	second int                  // where the second word begins
}

const lateBits = 8

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

// read reads how far in this minute a line was written; rest begins with the
// space behind its time.
func (m *minute) read(b []byte) (past time.Duration, rest []byte, ok bool) {
	i := len(m.text)
	if i == 0 || len(b) < i+3 || string(b[:i]) != m.text || !digit(b[i]) || !digit(b[i+1]) {
		return 0, nil, false
	}
	past = time.Duration(b[i]-'0')*10*time.Second + time.Duration(b[i+1]-'0')*time.Second
	i += 2
	if past >= time.Minute { // a leap second
		return 0, nil, false
	}
	if b[i] == '.' {
		if i+1 == len(b) || !digit(b[i+1]) {
			return 0, nil, false
		}
		from, n := i+1, 0
		for i++; i < len(b) && digit(b[i]); i++ {
			n = 10*n + int(b[i]-'0')
		}
		if i-from >= len(fractions) { // finer than peelSyslog takes
			return 0, nil, false
		}
		past += time.Duration(n) * fractions[i-from]
	}
	end := i + len(m.zone)
	if end > len(b) || string(b[i:end]) != m.zone {
		return 0, nil, false
	}
	return past, b[end-1:], true
}

// fractions are what the last of so many digits behind a point counts.
var fractions = [...]time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond,
	100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond}

// of is the head of ` host ident[pid]: text`, nil if it is not known, and the text.
func (n *heads) of(s []byte) (*head, []byte) {
	slot := n.slot(s)
	if h := *slot; h != nil {
		if text, ok := h.begins(s); ok {
			return h, text
		}
	}
	key, text, ok := headKey(s)
	if !ok {
		return nil, nil
	}
	h := n.known[string(key)]
	*slot = h
	return h, text
}

// slot is where a head that was seen lately is looked for: by the first letters of
// the second word, where the host's name is as long as the last one was.
func (n *heads) slot(s []byte) **head {
	if n.second+4 > len(s) {
		return &n.lately[0]
	}
	return &n.lately[binary.LittleEndian.Uint32(s[n.second:])*0x9E3779B1>>(32-lateBits)]
}

// begins says whether s has this head, as headKey would, and what follows it.
func (h *head) begins(s []byte) (text []byte, ok bool) {
	i := len(h.key)
	if len(s) < i || string(s[:i]) != h.key {
		return nil, false
	}
	if s[i-1] == '[' {
		from := i
		if i = digits(s, i); i == from || i > from+maxDigits || i+2 > len(s) || s[i] != ']' || s[i+1] != ':' {
			return nil, false
		}
		i += 2
	}
	if i >= len(s) || s[i] != ' ' {
		return nil, false
	}
	return s[i+1:], true
}

// learn takes the head from a line that was read in full.
func (n *heads) learn(key string, d *draft) {
	if n.known == nil || len(n.known) > maxHeads {
		*n = heads{known: map[string]*head{}}
	}
	if h := n.known[key]; h == nil || h.node != d.Node || h.unit != d.Unit || h.source != d.Source || h.trust != d.Trust {
		n.known[key] = &head{key: key, node: d.Node, unit: d.Unit, source: d.Source, trust: d.Trust}
		n.lately = [1 << lateBits]*head{}
	}
	n.second = wordEnd([]byte(key), 1) + 1
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
	return s[:i+1], s[end+1:], s[i] == '[' && i < end-3 && i+3+maxDigits >= end && i < maxKey
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
