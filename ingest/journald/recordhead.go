package journald

import (
	"slices"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// RecordHead is what can be seen of a journald record without reading it: who
// wrote it, when, and its message. It is for whoever reads millions of records of
// which nearly none is wanted: Journal takes many times as long for one. All of
// it lies in the caller's memory, as it stands in the record; of several fields
// with one name the last counts, as in Journal.
type RecordHead struct {
	Real, Mono             uint64 // when journald stored it, in microseconds
	SourceReal, SourceMono []byte // when it was written, if it says so
	Message                []byte
	// Who are the fields that tell one writer from another, in any order: the place
	// in JournalFields, the size of the value in two bytes, the lower one first, and
	// the value. A client's value can hold any bytes, and must not pass for another
	// field.
	Who  []byte
	Rare bool // only Journal can tell who wrote it
}

// Use is what a RecordHead needs of a field.
type Use uint8

const (
	Unused Use = iota // nothing: Journal reads it
	AsMessage
	AsSourceReal
	AsSourceMono
	Writer    // it belongs to Who
	WriterHas // that there is one belongs to Who, with an empty value
	Rare      // who has it is rare, and so is one with so much in Who that it is not worth keeping
)

// Field is a field that Journal or a RecordHead reads.
type Field struct {
	Name string
	Use  Use
}

// Fields are the fields that a RecordHead needs, and those that Journal reads of
// those that journald adds itself, with _ in front. Others of journald's own need
// not be given to it. Writers are told apart by what Record.Writer looks at.
var Fields = [...]Field{
	{"MESSAGE", AsMessage}, {"_SOURCE_REALTIME_TIMESTAMP", AsSourceReal}, {"_SOURCE_MONOTONIC_TIMESTAMP", AsSourceMono},
	{"_TRANSPORT", Writer}, {"SYSLOG_IDENTIFIER", Writer}, {"_SYSTEMD_UNIT", Writer}, {"_COMM", Writer},
	{"_UID", Writer}, {"SYSLOG_FACILITY", Writer},
	{"_PID", WriterHas}, {"SYSLOG_PID", WriterHas},
	{"CONTAINER_ID_FULL", Rare}, {"CONTAINER_ID", Rare}, {"CONTAINER_NAME", Rare}, {"CONTAINER_TAG", Rare},
	{"_BOOT_ID", Unused}, {"_HOSTNAME", Unused},
}

// Author is what a record's fields say of its writer.
type Author struct {
	Source ingest.Source
	Trust  ingest.Trust
	Fixed  bool // nothing but the message can change that
}

// ReadsMessage says whether a message of this writer is one that its reader does more
// with: a gap that journald tells of, a further line of what the kubelet quotes.
func (w *Author) ReadsMessage(message []byte) bool {
	if w.Source == ingest.Kubelet {
		return len(message) > 0 && (message[0] == '\t' || message[0] == ' ')
	}
	return w.Source != ingest.Unknown && logtext.MayTellLoss(w.Source, "", message)
}

// maxWriters bounds how many writers are kept; a job can make up names.
const maxWriters = 1024

// Authors are those of the records that were seen, by RecordHead.Who.
type Authors map[string]*Author

// Of works out who wrote a record, once for all records that say the same.
func (all *Authors) Of(g *RecordHead, n *Names) *Author {
	if w, ok := (*all)[string(g.Who)]; ok {
		return w
	}
	if *all == nil || len(*all) >= maxWriters {
		*all = make(Authors)
	}
	c := g.writerFields(n)
	w := &Author{}
	w.Source, w.Trust = c.Writer()
	if c.Ident == "kata" && w.Source == ingest.Containerd {
		w.Source = ingest.Kata
	}
	if w.Source == ingest.Unknown {
		w.Trust = ingest.Claimed
	}
	w.Fixed = w.Source.Host() || w.Source == ingest.Unknown
	(*all)[string(g.Who)] = w
	return w
}

// At is when the record was written.
func (g *RecordHead) At() time.Time {
	c := Record{recordTimes: recordTimes{
		real: int64(g.Real), mono: int64(g.Mono), srcReal: logtext.Raw(g.SourceReal).Int(),
		srcMono: logtext.Raw(g.SourceMono).Int(),
	}}
	at, _ := c.Time()
	return at
}

// writerFields is the part of a record that Who holds.
func (g *RecordHead) writerFields(n *Names) (c Record) {
	for b := g.Who; len(b) > 0; {
		size := 3 + int(b[1]) + int(b[2])<<8
		c.Set(n, []byte(Fields[b[0]].Name), logtext.Raw(slices.Clone(b[3:size])))
		b = b[size:]
	}
	return c
}
