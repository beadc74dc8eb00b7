package signal

import (
	"slices"
	"strings"
	"unsafe"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Scan returns the signals in an entry, in rulebook order, and takes the secrets
// out of an entry that has some. An entry without a hit costs one pass over its
// text and no allocation.
func (b *Book) Scan(e *ingest.Entry) []Signal {
	found, _ := b.ScanWithin(e)
	return found
}

// ScanWithin is Scan, and says whether the entry was cut short: it holds so much
// that looks like signals that not all of it was matched. What is found is right
// then, too, but there may be more.
func (b *Book) ScanWithin(e *ingest.Entry) (found []Signal, short bool) {
	if found, short = b.findSignals(e); len(found) == 0 {
		return nil, short
	}
	return b.withoutSecrets(e, found, short)
}

// SignalOf is the name of a signal that a line shows, whichever program printed it; ""
// for none.
func (b *Book) SignalOf(line string) string {
	for _, source := range append([]ingest.Source{ingest.Unknown}, ingest.Sources...) {
		if found, _ := b.findSignals(&ingest.Entry{Source: source, Text: line}); len(found) > 0 {
			return found[0].Def.Name
		}
	}
	return ""
}

func (b *Book) findSignals(e *ingest.Entry) (found []Signal, short bool) {
	var room [32]int32
	hits, symptoms := b.candidates(e, room[:0])
	if len(hits)+len(symptoms) == 0 {
		return nil, false
	}
	m := matching{e: e, steps: stepsFor(e)}
	if e.Source.Forgeable() && len(hits) > maxCandidates {
		hits, m.short = hits[:maxCandidates], true
	}
	var fieldRoom [24]logtext.Field // not in a struct: then it stays on the stack
	var fields logtext.Fields
	m.msg, fields, _ = logtext.Message(e, fieldRoom[:0])
	for _, i := range hits {
		d := b.Signals[i]
		if words, ok := m.recognise(d, fields); ok {
			if found == nil {
				found = make([]Signal, 0, 1)
			}
			if may, sure := d.mayWrite(e, fields); may {
				found = append(found, d.newSignal(e, words))
				found[len(found)-1].makeClaim(!sure)
			}
		}
	}
	if found == nil && !isToldByAPI(e.Source) && !e.Source.Forgeable() {
		found = b.maskedSignals(&m, hits)
	}
	if !m.short && len(e.Text) <= maxSymptomLine &&
		!slices.ContainsFunc(found, func(s Signal) bool { return !s.Def.frame }) {
		found = append(found, m.symptoms(b, symptoms, fields)...)
	}
	return found, m.short
}

// candidates are the signals and symptoms that the entry may show, by the fixed texts
// in it. The kernel and PID 1 have names of their own: under another one nobody speaks for
// them, while a kubelet or a runtime can be run by a program of any name.
func (b *Book) candidates(e *ingest.Entry, room []int32) (signals, symptoms []int32) {
	f := b.raw
	if isToldByAPI(e.Source) {
		f = b.find
	}
	hits := f.All(bytesOf(e.Text), room)
	another := e.Source == ingest.Unknown && e.Unit != "" // a program of the host's that coroner does not know
	hits = slices.DeleteFunc(hits, func(i int32) bool {
		return !b.Signals[i].mayComeFrom(e.Source) || another && b.Signals[i].machine
	})
	exact, _ := slices.BinarySearch(hits, int32(b.exact))
	return hits[:exact:exact], hits[exact:]
}

// maxCandidates is how many signals are matched against a line that a job can
// write; of the others a line cannot hold so many. The lines of all incidents
// have at most 7.
const maxCandidates = 16

// stepsFor is how much may be done to match an entry, in the steps of regex: what a
// line costs by its length, whatever is in it. The lines of all incidents take at
// most a quarter. A line of a source that a job cannot write has so much that all
// signals can be matched against what a kernel or kubelet prints: nothing that
// somebody gets into such a line can hide what it says.
func stepsFor(e *ingest.Entry) int {
	if e.Source.Forgeable() {
		return 3000 + 8*len(e.Text)
	}
	return 60_000 + 16*len(e.Text)
}

// matching is one entry as it is matched against signals.
type matching struct {
	e     *ingest.Entry
	msg   string
	steps int     // that are left
	words []int32 // of symptoms, those that may be in it
	heard heard   // which lists of them are in it
	short bool    // they were not enough, or there were too many signals
}

// Next returns where in b, at or after from, a text begins that some printed
// signal cannot be without; -1 if there is none. A line without one holds no
// signal, whatever envelope it is in: formats that quote a message leave these
// texts as they are. What the API tells (sources kube, github) is not
// looked for.
func (b *Book) Next(buf []byte, from int) int { return b.raw.Next(buf, from) }

// Wanted says whether Scan could find a signal in an entry of that source whose
// text is message or a part of it. It needs no entry, so that a reader can ask
// before it makes one. The source counts: some signals of a controller have
// words that stand in every fifth line of containerd's.
func (b *Book) Wanted(by ingest.Source, message []byte) bool {
	f := b.raw
	if isToldByAPI(by) {
		f = b.find
	}
	return f.Any(message, func(_ string, signals []int32) bool {
		return slices.ContainsFunc(signals, func(i int32) bool { return b.Signals[i].mayComeFrom(by) })
	})
}

// isToldByAPI says whether a source tells of things in words that coroner chose; it
// prints no lines.
func isToldByAPI(s ingest.Source) bool { return s == ingest.Kube || s == ingest.GitHub }

// isPrinted says whether a program prints the signal as a line.
func (d *Def) isPrinted() bool {
	return slices.ContainsFunc(d.Sources, func(s ingest.Source) bool { return !isToldByAPI(s) })
}

// bytesOf is s as bytes that are only read.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// mayComeFrom says whether a record of source s can show the signal. Text
// that names no writer can show any that is printed: it stays a claim.
func (d *Def) mayComeFrom(s ingest.Source) bool {
	return s == ingest.Unknown && d.isPrinted() || slices.Contains(d.Sources, s)
}

// recognise matches the line against the definition's shapes and returns what
// it has for each capture.
func (m *matching) recognise(d *Def, fields logtext.Fields) ([]string, bool) {
	var room [16]string
	found := append(room[:0], make([]string, len(d.captures))...)
	for i := range d.shapes {
		if m.fitsShape(&d.shapes[i], fields, found) && d.liesWithin(found) && d.saysOnce(m.e) {
			return d.captureWords(m.e, fields, found), true
		}
		clear(found)
	}
	return nil, false
}

// liesWithin says whether the paths lie in each other as they must. The kernel prints the
// names of cgroups as they are, and a job that makes one chooses its name, with commas and
// equal signs in it; but the path before that name is the job's own.
func (d *Def) liesWithin(found []string) bool {
	for _, p := range d.within {
		inner, outer := found[p[0]], strings.TrimSuffix(found[p[1]], "/")
		if rest, ok := strings.CutPrefix(inner, outer); inner != "" && (!ok || rest != "" && rest[0] != '/') {
			return false
		}
	}
	return true
}

// saysOnce says whether the line has the text that it must have once. The kubelet prints what a workflow
// chose, a whole container, before it names the pod: with that text in it nobody knows whose words are whose. Of
// a line that was cut the kubelet's own words may be what is missing.
func (d *Def) saysOnce(e *ingest.Entry) bool {
	return d.once == "" || e.Cut == 0 && strings.Count(e.Text, d.once) < 2
}

// captureWords is what was found, and what the fields have of the rest.
func (d *Def) captureWords(e *ingest.Entry, fields logtext.Fields, found []string) []string {
	words := slices.Clone(found)
	for i, c := range d.captures {
		for _, name := range c.fields {
			if words[i] == "" {
				words[i] = fieldOf(e, fields, name)
			}
		}
	}
	return words
}

// fitsShape says whether the line has the shape, and what its groups hold.
func (m *matching) fitsShape(sh *shape, fields logtext.Fields, found []string) bool {
	own := m.e.Trust == ingest.Attested && m.e.Source.Host() // a quoted part is somebody else's words
	switch {
	case slices.Contains(sh.messages, m.msg):
	case sh.match != nil && m.matchGroups(sh.match, m.msg, own, found):
	case sh.match != nil && m.mayBeAnywhere() && m.matchGroups(sh.match, m.e.Text, false, found):
	case sh.loose != nil && m.e.Source == ingest.Unknown && m.matchGroups(sh.loose, m.e.Text, false, found):
	case sh.match == nil && sh.messages == nil: // the fields alone tell
	default:
		return false
	}
	for _, w := range sh.where {
		if !m.matchGroups(w.pattern, fieldOf(m.e, fields, w.field), own, found) {
			return false
		}
	}
	for _, v := range sh.whole {
		if !m.hasWordOfAny(v) {
			return false
		}
	}
	return !m.hasWordOfAny(sh.but)
}

// mayBeAnywhere says whether the line is matched outside of its message, too: where
// nothing is proven by it anyway, and where there is something outside.
func (m *matching) mayBeAnywhere() bool { return m.e.Source.Forgeable() && m.msg != m.e.Text }

// fieldOf is a field of the text, else one that travelled beside it.
func fieldOf(e *ingest.Entry, fields logtext.Fields, name string) string {
	if v, ok := fields.Lookup(name); ok {
		return v
	}
	if v, ok := e.Fields[name]; ok {
		return v
	}
	return partOfObject(fields, name)
}

// partOfObject is OBJECT.name or OBJECT.namespace where controller-runtime wrote OBJECT as one
// text, namespace/name, as it did before it wrote the parts, or calls it by its kind.
func partOfObject(fields logtext.Fields, field string) string {
	object, part, ok := strings.Cut(field, ".")
	if !ok || part != "name" && part != "namespace" {
		return ""
	}
	for _, f := range fields {
		if strings.EqualFold(f.Name, field) {
			return f.Value
		}
	}
	namespace, name, ok := strings.Cut(fields.Get(object), "/")
	switch {
	case !ok || strings.Contains(name, "/"):
		return ""
	case part == "name":
		return name
	}
	return namespace
}

// matchGroups matches s and notes the captures that took part. With own the match
// must begin in the writer's own words: a program quotes what others chose.
func (m *matching) matchGroups(p *pattern, s string, own bool, found []string) bool {
	var room [48]int
	at := p.Room(room[:])
	share := m.steps - m.steps/2 // no pattern takes all: others may fit
	m.steps -= share
	match, sure := p.FindWithin(s, at, &share)
	for match && own && !p.anchored && leavesQuoteOpen(s[:at[0]]) { // the same words may stand behind the quote
		s = s[at[0]:]
		s = s[endOfQuote(s):]
		match, sure = p.FindWithin(s, at, &share)
	}
	m.steps += share
	m.short = m.short || !sure
	if !match {
		return false
	}
	for i, slot := range p.slots {
		if slot >= 0 && at[2*i] >= 0 {
			found[slot] = s[at[2*i]:at[2*i+1]]
		}
	}
	return true
}

// leavesQuoteOpen says whether a text leaves a double quote open.
func leavesQuoteOpen(s string) (open bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			open = !open
		}
	}
	return open
}

// endOfQuote is where a text goes on behind the quote that it begins in.
func endOfQuote(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func (d *Def) newSignal(e *ingest.Entry, words []string) Signal {
	s := Signal{
		Def: d, At: e.At, After: e.After, Clock: e.Clock, Source: e.Source, Trust: e.Trust,
		Cluster: e.Cluster, Node: e.Node, Boot: e.Boot, Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID,
		Container: e.Container, ContainerID: e.ContainerID,
		words: words, Text: e.Text, Doc: e.Doc, Line: e.Line,
	}
	if s.Source == ingest.Unknown {
		s.Source, s.Trust, s.Unsigned = d.Sources[0], ingest.Claimed, true
	}
	if s.Source.Host() {
		s.dropMaskedNames()
	} else {
		s.moveToNode()
	}
	s.dropMaskedStream()
	return s
}

// moveToNode makes a controller's line one about the node that it names.
func (s *Signal) moveToNode() {
	for node := range s.valuesOf(kindNode) {
		s.Node = node
	}
}

// makeClaim takes the trust from a signal.
func (s *Signal) makeClaim(is bool) {
	if is {
		s.Trust = ingest.Claimed
	}
}
