// Package recorded is entries and marks in coroner's own form, one JSON object a
// line: what a server kept of a runner, written for a person to keep or to send.
//
// Invariant: what Write wrote Read gives back. A line that holds no entry is an
// entry without a source, and none is more trusted than its source can be.
//
// Crash behaviour: the package holds no state; a document that was cut off has
// lost its last line.
package recorded

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// Suffix ends the name of a document in this form.
const Suffix = ".entries.jsonl"

// Write writes entries, one a line.
func Write(w io.Writer, entries []ingest.Entry) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range entries {
		if err := enc.Encode(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// Read yields what the lines of the document doc hold. It returns only r's errors;
// a stop by yield is nil. It is for documents that nobody but a server wrote: what
// they say of themselves is believed.
func Read(r io.Reader, doc string, yield func(ingest.Entry) bool) error {
	in := prefilter.NewLines(r)
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b = bytes.TrimSpace(b); len(b) > 0 && !yield(parseLine(b, doc, in.Number)) {
			return nil
		}
	}
}

// parseLine reads one line.
func parseLine(b []byte, doc string, line int) ingest.Entry {
	var e ingest.Entry
	if json.Unmarshal(b, &e) != nil || e.Source != ingest.Unknown && !slices.Contains(ingest.Sources, e.Source) ||
		!validMark(e.Mark) {
		text, cut := logtext.Shorten(logtext.Cleaned(string(b)))
		return ingest.Entry{Text: text, Cut: cut, Doc: doc, Line: line}
	}
	if e.Doc == "" && e.Mark == nil {
		e.Doc, e.Line = doc, line
	}
	if e.Source.Forgeable() || e.Trust > ingest.Attested {
		e.Trust = ingest.Claimed
	}
	if timed := e.Clock == ingest.WallClock || e.Clock == ingest.LocalClock; !timed || e.At.IsZero() {
		e.At = time.Time{}
		if e.Clock != ingest.BootClock {
			e.Clock = ingest.NoClock
		}
	}
	tidyEntry(&e)
	return e
}

func validMark(m *ingest.Mark) bool { return m == nil || m.Kind <= ingest.Reached }

// tidyEntry holds an entry that this package did not make to its invariant.
func tidyEntry(e *ingest.Entry) {
	var cut int
	e.Text, cut = logtext.Shorten(logtext.Cleaned(e.Text))
	e.Cut += cut
	for _, s := range []*string{&e.Cluster, &e.Node, &e.Boot, &e.Namespace, &e.Pod, &e.PodUID,
		&e.Container, &e.ContainerID, &e.Unit, &e.Doc, &e.Cursor} {
		*s = logtext.Brief(*s, 512)
	}
	for k, v := range e.Fields {
		short, _ := logtext.Shorten(logtext.Cleaned(v))
		e.Fields[k] = short
	}
	if e.Mark != nil {
		e.Mark.Why = logtext.Brief(e.Mark.Why, 512)
	}
}
