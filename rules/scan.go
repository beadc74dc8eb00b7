package rules

import (
	"slices"
	"unsafe"

	"coroner/ingest"
)

// Scan returns the signals in an entry, in rulebook order. An entry without a
// hit costs one pass over its text and no allocation.
func (b *Rulebook) Scan(e *ingest.Entry) []Signal {
	var room [16]int32
	f := b.raw
	if told(e.Source) {
		f = b.find
	}
	hits := f.all(bytesOf(e.Text), room[:0])
	hits = slices.DeleteFunc(hits, func(i int32) bool { return !b.Signals[i].mayComeFrom(e.Source) })
	if len(hits) == 0 {
		return nil
	}
	var out []Signal
	var fieldRoom [24]ingest.Field // not in a struct: then it stays on the stack
	msg, fields, _ := e.Message(fieldRoom[:0])
	for _, i := range hits {
		d := b.Signals[i]
		if words, ok := d.recognise(e, msg, fields); ok {
			if out == nil {
				out = make([]Signal, 0, 1)
			}
			out = append(out, d.signal(e, words))
		}
	}
	return out
}

// Next returns where in b, at or after from, a text begins that some printed
// signal cannot be without; -1 if there is none. A line without one holds no
// signal, whatever envelope it is in: formats that quote a message leave these
// texts as they are. What the API tells (sources kube, github) is not
// looked for.
func (b *Rulebook) Next(buf []byte, from int) int { return b.raw.next(buf, from) }

// Wanted says whether Scan could find a signal in an entry of that source whose
// text is message or a part of it. It needs no entry, so that a reader can ask
// before it makes one. The source counts: some signals of a controller have
// words that stand in every fifth line of containerd's.
func (b *Rulebook) Wanted(by ingest.Source, message []byte) bool {
	f := b.raw
	if told(by) {
		f = b.find
	}
	for i := f.look(message, 0); i >= 0; i = f.look(message, i+f.stride) {
		for p := range f.at(wordAt(message, i)) {
			if _, ok := f.holds(message, i, p); ok && b.someMayComeFrom(f.owners[p.literal], by) {
				return true
			}
		}
	}
	return false
}

func (b *Rulebook) someMayComeFrom(signals []int32, s ingest.Source) bool {
	return slices.ContainsFunc(signals, func(i int32) bool { return b.Signals[i].mayComeFrom(s) })
}

// told says whether a source tells of things in words that coroner chose; it
// prints no lines.
func told(s ingest.Source) bool { return s == ingest.Kube || s == ingest.GitHub }

// printed says whether a program prints the signal as a line.
func (d *SignalDef) printed() bool {
	return slices.ContainsFunc(d.Sources, func(s ingest.Source) bool { return !told(s) })
}

// bytesOf is s as bytes that are only read.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// mayComeFrom says whether a record of source s can show the signal. Text
// that names no writer can show any that is printed: it stays a claim.
func (d *SignalDef) mayComeFrom(s ingest.Source) bool {
	return s == ingest.Unknown && d.printed() || slices.Contains(d.Sources, s)
}

// recognise matches the line against the definition's shapes and returns what
// it has for each capture.
func (d *SignalDef) recognise(e *ingest.Entry, msg string, fields ingest.Fields) ([]string, bool) {
	var room [16]string
	found := append(room[:0], make([]string, len(d.captures))...)
	for i := range d.shapes {
		if d.shapes[i].fits(e, msg, fields, found) {
			return d.words(e, fields, found), true
		}
		clear(found)
	}
	return nil, false
}

// words is what was found, and what the fields have of the rest.
func (d *SignalDef) words(e *ingest.Entry, fields ingest.Fields, found []string) []string {
	words := slices.Clone(found)
	for i, c := range d.captures {
		if words[i] == "" && c.field != "" {
			words[i] = fieldOf(e, fields, c.field)
		}
	}
	return words
}

// fits says whether the line has the shape, and what its groups hold.
func (sh *shape) fits(e *ingest.Entry, msg string, fields ingest.Fields, found []string) bool {
	switch {
	case slices.Contains(sh.messages, msg):
	case sh.match != nil && sh.match.groups(msg, found):
	case sh.match != nil && e.Source.Forgeable() && sh.match.groups(e.Text, found): // nothing is proven by it anyway
	case sh.loose != nil && e.Source == ingest.Unknown && sh.loose.groups(e.Text, found):
	case sh.match == nil && sh.messages == nil: // the fields alone tell
	default:
		return false
	}
	for _, w := range sh.where {
		if !w.groups(fieldOf(e, fields, w.field), found) {
			return false
		}
	}
	return true
}

// fieldOf is a field of the text, else one that travelled beside it.
func fieldOf(e *ingest.Entry, fields ingest.Fields, name string) string {
	if v, ok := fields.Lookup(name); ok {
		return v
	}
	return e.Fields[name]
}

// groups matches s and notes the captures that took part.
func (p *pattern) groups(s string, found []string) bool {
	if p.captureless() {
		return p.MatchString(s)
	}
	var room [48]int
	m := p.Room(room[:])
	if !p.Find(s, m) {
		return false
	}
	for i, slot := range p.slots {
		if slot >= 0 && m[2*i] >= 0 {
			found[slot] = s[m[2*i]:m[2*i+1]]
		}
	}
	return true
}

func (p *pattern) captureless() bool {
	return !slices.ContainsFunc(p.slots, func(slot int) bool { return slot >= 0 })
}

func (d *SignalDef) signal(e *ingest.Entry, words []string) Signal {
	s := Signal{
		Def: d, At: e.At, After: e.After, Clock: e.Clock, Source: e.Source, Trust: e.Trust,
		Node: e.Node, Boot: e.Boot, Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID,
		Container: e.Container, ContainerID: e.ContainerID,
		words: words, Text: e.Text, Doc: e.Doc, Line: e.Line,
	}
	if s.Source == ingest.Unknown {
		s.Source, s.Trust = d.Sources[0], ingest.Claimed
	}
	return s
}
