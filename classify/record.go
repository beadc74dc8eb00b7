package classify

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/rules"
)

// Record is what was kept of a run of entries: signals and coverage marks.
type Record struct {
	Signals []*rules.Signal // in their one order, see compareSignals
	Marks   []ingest.Entry

	shelves map[shelfKey]*shelf
	mixed   map[string]bool
	tails   map[string]*tail
	words   map[string]string // one copy of every name
}

// Collect scans entries and keeps what the rulebook recognises, the last words
// of every runner, and the marks. Memory grows with the pods that are named,
// not with the input.
func Collect(entries iter.Seq[ingest.Entry], book *rules.Rulebook) *Record {
	r := &Record{shelves: map[shelfKey]*shelf{}, mixed: map[string]bool{}, tails: map[string]*tail{}, words: map[string]string{}}
	for e := range entries {
		r.add(&e, book)
	}
	r.finish()
	return r
}

func (r *Record) add(e *ingest.Entry, book *rules.Rulebook) {
	if e.Mark != nil {
		if e.Mark.Kind == ingest.Mixed {
			r.mixed[e.Doc] = true
		}
		r.Marks = append(r.Marks, *e)
		return
	}
	found := book.Scan(e)
	for i := range found {
		r.keep(&found[i])
	}
	if e.Source == ingest.Runner {
		key := streamKey(e)
		if r.tails[key] == nil {
			r.tails[key] = &tail{}
		}
		r.tails[key].push(e, len(found) > 0)
	}
}

// shelfKey is what signals must share to be repetitions of one fact: the same
// signal of the same subject.
type shelfKey struct {
	def     *rules.SignalDef
	subject string
}

// shelf keeps the first and the last of many signals that say the same.
type shelf struct{ signals []*rules.Signal }

// shelfHalf is how many of the first and how many of the last are kept.
const shelfHalf = 16

// keep puts a signal on its shelf. When the shelf is full the one in the
// middle goes: which those are does not depend on the order of arrival.
func (r *Record) keep(s *rules.Signal) {
	key := shelfKey{s.Def, subject(s)}
	at := r.shelves[key]
	if at == nil {
		at = &shelf{}
		key.subject = strings.Clone(key.subject)
		r.shelves[key] = at
	}
	i, repeated := slices.BinarySearchFunc(at.signals, s, compareSignals)
	if repeated {
		return
	}
	if len(at.signals) == 2*shelfHalf && i == shelfHalf {
		return
	}
	at.signals = slices.Insert(at.signals, i, r.own(s))
	if len(at.signals) > 2*shelfHalf {
		at.signals = slices.Delete(at.signals, shelfHalf, shelfHalf+1)
	}
}

// subject names what a signal is about: the identities in it, else its stream
// or its node and document.
func subject(s *rules.Signal) string {
	var b strings.Builder
	for _, id := range s.Identities() {
		b.WriteString(id.Value)
		b.WriteByte(0)
	}
	if b.Len() == 0 || s.Source.Forgeable() {
		b.WriteString(strings.Join([]string{s.Namespace, s.Pod, s.PodUID, s.ContainerID, s.Node, s.Boot, s.Doc}, "\x00"))
	}
	return b.String()
}

// own copies a signal out of the buffers that it was read in.
func (r *Record) own(s *rules.Signal) *rules.Signal {
	c := *s
	c.Text = strings.Clone(s.Text)
	for _, word := range []*string{&c.Node, &c.Boot, &c.Namespace, &c.Pod, &c.PodUID, &c.Container, &c.ContainerID, &c.Doc} {
		*word = r.word(*word)
	}
	c.OwnValues(r.word)
	return &c
}

// word returns the one copy of a name.
func (r *Record) word(s string) string {
	if len(s) > 100 {
		return strings.Clone(s)
	}
	if w, ok := r.words[s]; ok {
		return w
	}
	w := strings.Clone(s)
	r.words[w] = w
	return w
}

func streamKey(e *ingest.Entry) string {
	if e.Pod == "" && e.PodUID == "" {
		return "doc:" + e.Doc
	}
	return strings.Join([]string{e.Namespace, e.Pod, e.PodUID, e.Container}, "/")
}

// tail keeps the last lines of one runner's output, whatever order they come in.
type tail struct{ lines []tailLine }

type tailLine struct {
	ingest.Entry
	known bool // already a signal
}

// lastLines is how many of a runner's last lines are kept as its last words.
const lastLines = 3

func (t *tail) push(e *ingest.Entry, known bool) {
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	if len(t.lines) == lastLines && later(&t.lines[0].Entry, e) >= 0 {
		return
	}
	t.lines = append(t.lines, tailLine{*e, known})
	slices.SortStableFunc(t.lines, func(a, b tailLine) int { return later(&a.Entry, &b.Entry) })
	t.lines = slices.CompactFunc(t.lines, func(a, b tailLine) bool { return later(&a.Entry, &b.Entry) == 0 })
	if len(t.lines) > lastLines {
		t.lines = t.lines[1:]
	}
}

func later(a, b *ingest.Entry) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
}

// finish brings the record into its one order: last words join, claims of
// mixed documents lose their trust, repetitions go.
func (r *Record) finish() {
	for _, at := range r.shelves {
		r.Signals = append(r.Signals, at.signals...)
	}
	r.shelves = nil
	for _, t := range r.tails {
		for i := range t.lines {
			if !t.lines[i].known {
				r.Signals = append(r.Signals, lastWords(&t.lines[i].Entry))
			}
		}
	}
	for _, s := range r.Signals {
		if r.mixed[s.Doc] {
			s.Trust = ingest.Claimed
		}
	}
	slices.SortFunc(r.Signals, compareSignals)
	r.Signals = slices.CompactFunc(r.Signals, sameSignal)
	slices.SortStableFunc(r.Marks, compareMarks)
	r.Marks = slices.CompactFunc(r.Marks, func(a, b ingest.Entry) bool { return compareMarks(a, b) == 0 })
}

func compareMarks(a, b ingest.Entry) int {
	return cmp.Or(
		cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Boot, b.Boot),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.Container, b.Container),
		cmp.Compare(a.Mark.Kind, b.Mark.Kind), a.Mark.From.Compare(b.Mark.From), a.Mark.To.Compare(b.Mark.To),
		cmp.Compare(a.Mark.Lines, b.Mark.Lines), cmp.Compare(a.Mark.Why, b.Mark.Why),
	)
}

func lastWords(e *ingest.Entry) *rules.Signal {
	return &rules.Signal{
		Def: rules.LastWords, At: e.At, Clock: e.Clock, Source: e.Source, Trust: e.Trust, Node: e.Node, Boot: e.Boot,
		Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID, Container: e.Container, ContainerID: e.ContainerID,
		Text: e.Text, Doc: e.Doc, Line: e.Line,
	}
}

// compareSignals orders by time. What has no time keeps its place in its
// document and comes first; so do lines of one moment.
func compareSignals(a, b *rules.Signal) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	if c := comparePlace(a, b); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Def.Name, b.Def.Name)); c != 0 {
		return c
	}
	if c := compareValues(a, b); c != 0 {
		return c
	}
	return cmp.Or(-cmp.Compare(a.Trust, b.Trust), cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.Container, b.Container))
}

// comparePlace orders records that time cannot: by source, by node, and within
// a document by line.
func comparePlace(a, b *rules.Signal) int {
	if c := cmp.Or(cmp.Compare(sourceOrder[a.Source], sourceOrder[b.Source]), cmp.Compare(a.Node, b.Node)); c != 0 {
		return c
	}
	if a.Doc == b.Doc {
		return cmp.Compare(a.Line, b.Line)
	}
	if a.At.IsZero() {
		return cmp.Compare(a.Doc, b.Doc)
	}
	return 0
}

// compareValues tells signals of one text apart that differ in what travelled
// beside the text.
func compareValues(a, b *rules.Signal) int {
	return cmp.Compare(fmt.Sprint(a.Captures()), fmt.Sprint(b.Captures()))
}

var sourceOrder = func() map[ingest.Source]int {
	m := map[ingest.Source]int{}
	for i, s := range ingest.Sources {
		m[s] = i
	}
	return m
}()

// sameSignal says whether b repeats a: the same record delivered twice. The
// better trusted one was sorted first.
func sameSignal(a, b *rules.Signal) bool {
	return a.Def == b.Def && a.At.Equal(b.At) && a.Source == b.Source && a.Node == b.Node && a.Text == b.Text &&
		a.Pod == b.Pod && a.PodUID == b.PodUID && a.Container == b.Container &&
		(!a.At.IsZero() || a.Doc == b.Doc) && compareValues(a, b) == 0
}
