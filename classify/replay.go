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

// Options say whose death is asked for.
type Options struct {
	Runner string // name, prefix of a name, or pod UID; "" = every candidate
}

// Replay is the one way from entries to verdicts: scan, learn who is who,
// attribute, judge. It returns at least one verdict, deaths first, the better
// founded before the less, then by time. When nothing died it is one verdict
// none.
func Replay(entries iter.Seq[ingest.Entry], book *rules.Rulebook, o Options) []rules.Verdict {
	return Collect(entries, book).Verdicts(book, o)
}

// Record is what was kept of a run of entries: signals and coverage marks.
type Record struct {
	Signals []rules.Signal
	Marks   []ingest.Entry

	mixed map[string]bool
	tails map[string]*tail
}

// Collect scans entries and keeps what the rulebook recognises, the last words
// of every runner, and the marks. Memory grows with the hits, not the input.
func Collect(entries iter.Seq[ingest.Entry], book *rules.Rulebook) *Record {
	r := &Record{mixed: map[string]bool{}, tails: map[string]*tail{}}
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
	r.Signals = append(r.Signals, found...)
	if e.Source == ingest.Runner {
		key := streamKey(e)
		if r.tails[key] == nil {
			r.tails[key] = &tail{}
		}
		r.tails[key].push(e, len(found) > 0)
	}
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
	for _, t := range r.tails {
		for i := range t.lines {
			if !t.lines[i].known {
				r.Signals = append(r.Signals, lastWords(&t.lines[i].Entry))
			}
		}
	}
	for i := range r.Signals {
		if r.mixed[r.Signals[i].Doc] {
			r.Signals[i].Trust = ingest.Claimed
		}
	}
	slices.SortStableFunc(r.Signals, compareSignals)
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

func lastWords(e *ingest.Entry) rules.Signal {
	return rules.Signal{
		Def: rules.LastWords, At: e.At, Clock: e.Clock, Source: e.Source, Trust: e.Trust, Node: e.Node, Boot: e.Boot,
		Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID, Container: e.Container, ContainerID: e.ContainerID,
		Values: map[string]any{}, Text: e.Text, Doc: e.Doc, Line: e.Line,
	}
}

// compareSignals orders by time; what has no time keeps its place in its
// document and comes first.
func compareSignals(a, b rules.Signal) int {
	return cmp.Or(
		a.At.Compare(b.At),
		cmp.Compare(slices.Index(ingest.Sources, a.Source), slices.Index(ingest.Sources, b.Source)),
		cmp.Compare(a.Node, b.Node),
		compareUntimed(a, b),
		cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.Def.Name, b.Def.Name),
		cmp.Compare(fmt.Sprint(a.Values), fmt.Sprint(b.Values)),
		-cmp.Compare(a.Trust, b.Trust),
		cmp.Compare(a.Doc, b.Doc),
		cmp.Compare(a.Line, b.Line),
	)
}

// compareUntimed keeps lines in document order where time cannot order them:
// records with no time, and records of one second.
func compareUntimed(a, b rules.Signal) int {
	if a.Doc != b.Doc {
		if a.At.IsZero() {
			return cmp.Compare(a.Doc, b.Doc)
		}
		return 0
	}
	return cmp.Compare(a.Line, b.Line)
}

// sameSignal says whether b repeats a: the same record delivered twice. The
// better trusted one was sorted first.
func sameSignal(a, b rules.Signal) bool {
	return a.Def == b.Def && a.At.Equal(b.At) && a.Source == b.Source && a.Node == b.Node && a.Text == b.Text &&
		a.Pod == b.Pod && a.PodUID == b.PodUID && a.Container == b.Container &&
		(!a.At.IsZero() || a.Doc == b.Doc) && fmt.Sprint(a.Values) == fmt.Sprint(b.Values)
}

// Verdicts judges everything in the record.
func (r *Record) Verdicts(book *rules.Rulebook, o Options) []rules.Verdict {
	files := assemble(r, o)
	var named, all []rules.Verdict
	for _, f := range files.named {
		v := book.Judge(f)
		all = append(all, v)
		if v.Label != rules.None {
			named = append(named, v)
		}
	}
	if o.Runner != "" {
		return order(all)
	}
	out := named
	if anon := book.Judge(files.unnamed); files.keepUnnamed(anon, named) {
		out = append(out, anon)
	}
	if len(out) == 0 {
		out = append(out, nothing(all, book, files))
	}
	return order(out)
}

// keepUnnamed says whether what no name explains is worth a verdict of its
// own: always when nothing named died, else only a real cause.
func (f *caseFiles) keepUnnamed(v rules.Verdict, named []rules.Verdict) bool {
	if v.Label == rules.None || len(f.unnamed.Evidence) == 0 {
		return false
	}
	if !slices.ContainsFunc(named, func(n rules.Verdict) bool { return n.Label.Death() && n.Label != rules.Unknown }) {
		return true
	}
	return f.ownUnnamed && v.Label.Death() && v.Label != rules.Unknown
}

// nothing is the one verdict of an input in which nothing died.
func nothing(all []rules.Verdict, book *rules.Rulebook, files *caseFiles) rules.Verdict {
	if len(all) == 1 {
		return all[0]
	}
	return book.Judge(&rules.Case{Coverage: files.unnamed.Coverage})
}

func order(all []rules.Verdict) []rules.Verdict {
	slices.SortStableFunc(all, func(a, b rules.Verdict) int {
		switch {
		case a.Label.Death() != b.Label.Death():
			return boolFirst(a.Label.Death())
		case a.Confidence != b.Confidence:
			return boolFirst(a.Confidence.Better(b.Confidence))
		case a.DiedAt != nil && b.DiedAt != nil && !a.DiedAt.Equal(*b.DiedAt):
			return a.DiedAt.Compare(*b.DiedAt)
		case (a.DiedAt == nil) != (b.DiedAt == nil):
			return boolFirst(a.DiedAt != nil)
		}
		return cmp.Or(cmp.Compare(a.Runner, b.Runner), cmp.Compare(a.PodUID, b.PodUID))
	})
	return all
}

func boolFirst(b bool) int {
	if b {
		return -1
	}
	return 1
}
