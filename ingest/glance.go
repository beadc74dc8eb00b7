package ingest

import (
	"bytes"
	"slices"
	"time"
)

// Glance is what can be seen of a journald record without reading it: who wrote
// it, when, and its message. It is for whoever reads millions of records of
// which nearly none is wanted: Journal takes several times as long for one. Its
// zero value is ready; Begin makes it serve the next record.
type Glance struct {
	Message []byte // as it stands, in the caller's memory

	real, mono       int64
	srcReal, srcMono int64
	who              []byte // the fields of whoFields that it has: which, size, value
	rare             bool   // only Journal can tell who wrote it
}

// JournalFields are the fields of those that journald adds itself, with _ in
// front, that Journal and Glance read. Others need not be given to them.
var JournalFields = [...]string{"_BOOT_ID", "_TRANSPORT", "_HOSTNAME", "_SYSTEMD_UNIT", "_COMM", "_UID", "_PID",
	"_SOURCE_REALTIME_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP"}

// whoFields are the fields that record.writer looks at, but for those of a
// container. Of a process id it matters only that there is one.
var whoFields = [...]string{"_TRANSPORT", "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "_COMM", "_UID", "SYSLOG_FACILITY", "_PID", "SYSLOG_PID"}

// maxWho is how many bytes of who are kept; a record with more is rare.
const maxWho = 1 << 10

// Begin forgets the record before. The times are journald's own, in microseconds.
func (g *Glance) Begin(real, mono uint64) {
	*g = Glance{real: int64(real), mono: int64(mono), who: g.who[:0]}
}

// Field takes one field. Of several with one name the last counts, as in Journal.
func (g *Glance) Field(name, val []byte) {
	switch string(name) {
	case "MESSAGE":
		g.Message = val
	case "_TRANSPORT":
		g.about(0, val)
	case "SYSLOG_IDENTIFIER":
		g.about(1, val)
	case "_SYSTEMD_UNIT":
		g.about(2, val)
	case "_COMM":
		g.about(3, val)
	case "_UID":
		g.about(4, val)
	case "SYSLOG_FACILITY":
		g.about(5, val)
	case "_PID":
		g.about(6, nil)
	case "SYSLOG_PID":
		g.about(7, nil)
	case "_SOURCE_REALTIME_TIMESTAMP":
		g.srcReal = value{val, 'x'}.int()
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		g.srcMono = value{val, 'x'}.int()
	case "CONTAINER_ID_FULL", "CONTAINER_ID", "CONTAINER_NAME", "CONTAINER_TAG":
		g.rare = true
	}
}

// about adds a field to who, with its size: a client's value can hold any bytes,
// and must not pass for another field.
func (g *Glance) about(field byte, val []byte) {
	if len(g.who)+len(val) > maxWho {
		g.rare = true
		return
	}
	g.who = append(g.who, field, byte(len(val)), byte(len(val)>>8))
	g.who = append(g.who, val...)
}

// Seen is what the entry of a record would say of its writer.
type Seen struct {
	Source Source
	Trust  Trust
	At     time.Time
}

// Look says what Journal would make of a record, and notes nothing. ok is false
// where only Journal can tell. It is true only where Journal would return one
// entry, no mark, and its text would be the message, the message's end, or what
// MaxText leaves of it.
func (f *Feed) Look(g *Glance) (s Seen, ok bool) {
	w := f.writing(g)
	if !w.plain || !Clean(g.Message) || w.tells(g.Message) {
		return s, false
	}
	c := record{real: g.real, mono: g.mono, srcReal: g.srcReal, srcMono: g.srcMono}
	if s.At, _ = c.time(); s.At.IsZero() {
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

// Pass notes a record that Look saw and whose entry nobody wants: the feed goes
// on as if Journal had read it.
func (f *Feed) Pass(s Seen) {
	f.begin(0)
	r := f.r
	r.seen++
	r.times.saw(s.At)
	r.times.last = s.At
	if s.Source.host() {
		r.heard(s.Source, s.At)
		r.taint.claimedHost = true
	}
}

// writing is what a record's fields say of its writer.
type writing struct {
	source Source
	trust  Trust
	plain  bool // nothing but the message can change that
}

// tells says whether a message of this writer is one that fromHost does more
// with: a gap that journald tells of, a further line of what the kubelet quotes.
func (w writing) tells(message []byte) bool {
	switch w.source {
	case Systemd:
		return bytes.HasPrefix(message, []byte("Suppressed ")) || bytes.HasPrefix(message, []byte("Missed "))
	case Kubelet:
		return len(message) > 0 && (message[0] == '\t' || message[0] == ' ')
	}
	return false
}

// namesSource says whether b has the words that fromKata looks for. Text has
// many blanks and few equals signs.
func namesSource(b []byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], '=')
		if i < 0 {
			return false
		}
		if at += i; bytes.HasSuffix(b[:at], []byte(" source")) {
			return true
		}
	}
}

// maxWriters bounds how many writers are kept; a job can make up names.
const maxWriters = 1024

// writing works out who wrote a record, once for all records that say the same.
func (f *Feed) writing(g *Glance) writing {
	if g.rare {
		return writing{}
	}
	if w, ok := f.writers[string(g.who)]; ok {
		return w
	}
	if f.writers == nil || len(f.writers) >= maxWriters {
		f.writers = make(map[string]writing)
	}
	c := g.record(&f.r.names)
	var w writing
	w.source, w.trust = c.writer()
	if c.ident == "kata" && w.source == Containerd {
		w.source = Kata
	}
	if w.source == Unknown {
		w.trust = Claimed
	}
	w.plain = w.source.host() || w.source == Unknown
	f.writers[string(g.who)] = w
	return w
}

// record is the part of a record that who holds.
func (g *Glance) record(n *names) (c record) {
	for b := g.who; len(b) > 0; {
		size := 3 + int(b[1]) + int(b[2])<<8
		c.set(n, []byte(whoFields[b[0]]), value{slices.Clone(b[3:size]), 'x'})
		b = b[size:]
	}
	return c
}
