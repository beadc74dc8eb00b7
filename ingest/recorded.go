package ingest

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"time"
)

// RecordedName ends the name of a document that holds entries and marks in
// coroner's own form, one JSON object a line: what a server kept of a runner.
const RecordedName = ".entries.jsonl"

// WriteRecorded writes entries in that form.
func WriteRecorded(w io.Writer, entries []Entry) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range entries {
		if err := enc.Encode(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// readRecorded yields what the lines hold. A line that is no entry is one
// without a source.
func (d Document) readRecorded(in *lines, yield func(Entry) bool) error {
	for {
		b, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b = bytes.TrimSpace(b); len(b) > 0 && !yield(d.recordedEntry(b, in.n)) {
			return nil
		}
	}
}

func (d Document) recordedEntry(b []byte, line int) Entry {
	var e Entry
	if json.Unmarshal(b, &e) != nil || e.Source != Unknown && !slices.Contains(Sources, e.Source) || !e.Mark.valid() {
		text, cut := Shorten(clean(string(b)))
		return Entry{Text: text, Cut: cut, Doc: d.Name, Line: line}
	}
	if e.Doc == "" && e.Mark == nil {
		e.Doc, e.Line = d.Name, line
	}
	if e.Source.Forgeable() || e.Trust > Attested {
		e.Trust = Claimed
	}
	if timed := e.Clock == WallClock || e.Clock == LocalClock; !timed || e.At.IsZero() {
		e.At = time.Time{}
		if e.Clock != BootClock {
			e.Clock = NoClock
		}
	}
	tidy(&e)
	return e
}

func (m *Mark) valid() bool { return m == nil || m.Kind <= Reached }

// tidy holds an entry that this package did not make to its invariant.
func tidy(e *Entry) {
	var cut int
	e.Text, cut = Shorten(clean(e.Text))
	e.Cut += cut
	for _, s := range []*string{&e.Cluster, &e.Node, &e.Boot, &e.Namespace, &e.Pod, &e.PodUID,
		&e.Container, &e.ContainerID, &e.Unit, &e.Doc, &e.Cursor} {
		*s = brief(*s, 512)
	}
	for k, v := range e.Fields {
		short, _ := Shorten(clean(v))
		e.Fields[k] = short
	}
	if e.Mark != nil {
		e.Mark.Why = brief(e.Mark.Why, 512)
	}
}
