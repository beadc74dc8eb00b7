package classify

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"coroner/classify/quiet"
	"coroner/classify/sequence"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/signal"
)

// Record is what was kept of a run of entries: signals and coverage marks.
type Record struct {
	Signals []*signal.Signal // in their one order, see sequence.Compare
	Marks   []ingest.Entry

	book    *rules.Rulebook // what is kept is kept without secrets
	quiet   *quiet.Lines    // signals of pods that most likely nobody asks about
	left    []quiet.Place   // where those of them were read that a view leaves out
	loose   int             // how many were kept like others
	ids     *Roster         // reads names, knows nobody
	shelves map[repeatKey]*firstAndLast
	mixed   map[string]bool
	falling map[string]bool // documents whose newest line stands first
	jobs    jobPlaces
	live    bool // the operator says which pods are controllers
	printed printed
	tails   map[string]*tail
	words   map[string]string // one copy of every name; nil where the entries stay, and nothing is copied
}

// Part is what was kept of some of the entries.
type Part struct {
	Short  int // entries of which not all was matched, see rules.Rulebook.ScanWithin
	record *Record
}

// Take scans a part of the entries and keeps what the rulebook recognises, the last
// words of every runner, and the marks. Memory grows with the pods that are named,
// not with the input.
func Take(entries iter.Seq[ingest.Entry], book *rules.Rulebook) *Part {
	part := &Part{record: newRecord(book)}
	for e := range entries {
		var found []signal.Signal
		if e.Mark == nil {
			var short bool
			if found, short = book.ScanWithin(&e); short {
				part.Short++
			}
		}
		part.record.addEntry(&e, found)
	}
	return part
}

// Scanned is an entry with what the rulebook recognises in it.
type Scanned struct {
	Entry   ingest.Entry
	Signals []signal.Signal // none for a mark
}

// Join makes one record of all parts. It does not depend on their order, nor on
// which entries are in which part.
func Join(parts []*Part) *Record {
	all := newRecord(nil)
	if len(parts) > 0 {
		all, parts = parts[0].record, parts[1:]
	}
	for _, p := range parts {
		for _, at := range p.record.shelves {
			for _, s := range at.signals {
				all.putOnShelf(s)
			}
		}
		all.quiet.Join(p.record.quiet)
		for key, t := range p.record.tails {
			for i := range t.lines {
				all.tailOf(key).pushLine(&t.lines[i].Entry, t.lines[i].known)
			}
		}
		all.Marks = append(all.Marks, p.record.Marks...)
		maps.Copy(all.mixed, p.record.mixed)
	}
	all.finishReading()
	return all
}

func newRecord(book *rules.Rulebook) *Record {
	return &Record{
		book:    book,
		quiet:   quiet.New(book, few),
		ids:     NewRoster(),
		shelves: map[repeatKey]*firstAndLast{},
		mixed:   map[string]bool{},
		tails:   map[string]*tail{},
		words:   map[string]string{},
	}
}

func (r *Record) tailOf(key string) *tail {
	if r.tails[key] == nil {
		r.tails[key] = &tail{}
	}
	return r.tails[key]
}

func (r *Record) addEntry(e *ingest.Entry, found []signal.Signal) {
	if e.Mark != nil {
		if e.Mark.Kind == ingest.Mixed {
			r.mixed[e.Doc] = true
		}
		mark := *e
		if e.Mark.Kind == ingest.Covered && (signal.MasksName(e.Pod) || signal.MasksName(e.Node)) {
			return // of which one is not known
		}
		r.book.Redact(&mark)
		r.Marks = append(r.Marks, mark)
		return
	}
	for i := range found {
		r.keepSignal(&found[i])
	}
	if e.Source == ingest.Runner {
		r.tailOf(streamKey(e)).pushLine(e, len(found) > 0)
	}
}

// repeatKey is what signals must share to be repetitions of one fact: the same
// signal of the same subject.
type repeatKey struct {
	def     *signal.Def
	subject string
}

// firstAndLast keeps the first and the last of many signals that say the same.
type firstAndLast struct{ signals []*signal.Signal }

// keptHalf is how many of the first and how many of the last are kept.
const keptHalf = 16

// loose is how many quiet signals a record keeps like all others before it packs
// them: what is small is not worth it.
var loose = 1000

// few is how many pods of a cluster are not worth leaving out; at least 2: what can
// be the only pod of an input gets what names none.
var few = 16

// canWait says whether a signal is one that can wait: nothing but a start or the
// like, told by the node or the API of pods that it names. What it says of a job is of use
// where something else tells of the pod.
func canWait(s *signal.Signal, n *names) bool {
	return s.Def.Quiet() && s.Def.Reach&^signal.ReachJob == signal.ReachPod && !s.Masked && !s.Unsigned &&
		!s.Source.Forgeable() && !n.several && n.pid == "" && n.howStrong() > 0
}

// keepSignal takes a signal in.
func (r *Record) keepSignal(s *signal.Signal) {
	if s.Def.Quiet() {
		if r.loose++; r.loose > loose {
			if n := r.ids.namesOf(s); canWait(s, &n) {
				r.quiet.Add(s, n.all())
				return
			}
		}
	}
	r.putOnShelf(s)
}

// putOnShelf puts a signal on its shelf. When the shelf is full the one in the
// middle goes: which those are does not depend on the order of arrival.
func (r *Record) putOnShelf(s *signal.Signal) {
	key := repeatKey{s.Def, subjectOf(s)}
	at := r.shelves[key]
	if at == nil {
		at = &firstAndLast{}
		key.subject = strings.Clone(key.subject)
		r.shelves[key] = at
	}
	i, repeated := slices.BinarySearchFunc(at.signals, s, sequence.Compare)
	if repeated {
		return
	}
	if len(at.signals) == 2*keptHalf && i == keptHalf {
		return
	}
	at.signals = slices.Insert(at.signals, i, r.ownCopy(s))
	if len(at.signals) > 2*keptHalf {
		at.signals = slices.Delete(at.signals, keptHalf, keptHalf+1)
	}
}

// subjectOf names what a signal is about: the identities in it, else its stream
// or its node and document.
func subjectOf(s *signal.Signal) string {
	var b strings.Builder
	b.WriteString(s.Cluster)
	b.WriteByte(0)
	if s.Def.Reach.Has(standingReach) {
		b.WriteString(s.PoolName())
		b.WriteByte(0)
		b.WriteString(s.JobID())
		b.WriteByte(0)
	}
	named := b.Len()
	for _, id := range s.Identities() {
		b.WriteString(id.Value)
		b.WriteByte(0)
	}
	if b.Len() == named || s.Source.Forgeable() {
		b.WriteString(
			strings.Join([]string{s.Namespace, s.Pod, s.PodUID, s.ContainerID, s.Node, s.Boot, s.Doc}, "\x00"),
		)
	}
	return b.String()
}

// ownCopy copies a signal out of the buffers that it was read in.
func (r *Record) ownCopy(s *signal.Signal) *signal.Signal {
	c := *s
	if r.words == nil {
		return &c
	}
	c.Text = strings.Clone(s.Text)
	for _, word := range []*string{&c.Cluster, &c.Node, &c.Boot, &c.Namespace, &c.Pod, &c.PodUID,
		&c.Container, &c.ContainerID, &c.Doc} {
		*word = r.oneCopy(*word)
	}
	c.OwnWords(r.oneCopy)
	return &c
}

// oneCopy returns the one copy of a name.
func (r *Record) oneCopy(s string) string {
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
		return strings.Join([]string{"doc:", e.Cluster, e.Doc}, "/")
	}
	return strings.Join([]string{e.Cluster, e.Namespace, e.Pod, e.PodUID, e.Container}, "/")
}

// tail keeps the last lines of one runner's output, whatever order they come in.
type tail struct{ lines []tailLine }

type tailLine struct {
	ingest.Entry
	known bool // already a signal
}

// lastLines is how many of a runner's last lines are kept as its last words.
const lastLines = 3

func (t *tail) pushLine(e *ingest.Entry, known bool) {
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	if len(t.lines) == lastLines && laterEntry(&t.lines[0].Entry, e) >= 0 {
		return
	}
	t.lines = append(t.lines, tailLine{*e, known})
	slices.SortStableFunc(t.lines, func(a, b tailLine) int { return laterEntry(&a.Entry, &b.Entry) })
	t.lines = slices.CompactFunc(t.lines, func(a, b tailLine) bool { return laterEntry(&a.Entry, &b.Entry) == 0 })
	if len(t.lines) > lastLines {
		t.lines = t.lines[1:]
	}
}

// lastWords are those of the lines that are no signals already.
func (t *tail) lastWords(book *rules.Rulebook) (out []*signal.Signal) {
	var entries []ingest.Entry
	for i := range t.lines {
		entries = append(entries, t.lines[i].Entry)
	}
	book.RedactTail(entries)
	for i := range entries {
		if !t.lines[i].known {
			out = append(out, lastWords(&entries[i]))
		}
	}
	return out
}

func laterEntry(a, b *ingest.Entry) int {
	at := func(e *ingest.Entry) time.Time {
		if e.At.IsZero() {
			return e.After
		}
		return e.At
	}
	return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Text, b.Text))
}

// finishReading ends the reading: last words join, and claims of mixed documents lose
// their trust.
func (r *Record) finishReading() {
	r.unshelve()
	for _, t := range r.tails {
		r.Signals = append(r.Signals, t.lastWords(r.book)...)
	}
	r.orderLines()
	r.printed = findPrinted(r.Signals)
	if !r.live {
		r.jobs = r.jobPlaces()
	}
	for _, s := range r.Signals {
		r.distrust(s)
	}
	r.onlyCluster()
	slices.SortStableFunc(r.Marks, compareMarks)
	r.Marks = slices.CompactFunc(r.Marks, func(a, b ingest.Entry) bool { return compareMarks(a, b) == 0 })
}

// A log can be read newest first: journalctl -r prints one, and log stores export them. What
// stands below was written earlier there, which its times do not tell of two lines of one
// second. So the numbers of such a document's lines count downwards, from -1.

// orderLines finds those documents, and numbers their lines.
func (r *Record) orderLines() {
	if r.live {
		return // a stream has no lines
	}
	r.falling = sequence.NewestFirst(r.Signals)
	for _, s := range r.Signals {
		r.orderLine(s)
	}
}

// orderLine numbers a line by the time in which it was written.
func (r *Record) orderLine(s *signal.Signal) {
	if sequence.IsPlaced(s) && r.falling[s.Doc] {
		s.Line = -s.Line
	}
}

// viewFor is the record with the quiet signals that can matter to a question: those of
// pods that other signals tell of, and of the runner that is asked for.
func (r *Record) viewFor(o Options) *Record {
	v := &Record{Marks: r.Marks, Signals: slices.Clone(r.Signals), book: r.book, mixed: r.mixed, jobs: r.jobs,
		live: r.live, ids: r.ids, printed: r.printed}
	v.words = r.words
	if r.quiet.Len() > 0 {
		c := r.quiet.Choose(slices.Concat(r.Signals, r.streamSignals()), o.question())
		v.shelves = map[repeatKey]*firstAndLast{}
		c.Each(func(s *signal.Signal) {
			r.orderLine(s)
			v.distrust(s)
			v.putOnShelf(s)
		})
		v.unshelve()
		v.left = c.LeftOut()
	}
	slices.SortFunc(v.Signals, sequence.Compare)
	v.Signals = sequence.WithoutRepeats(v.Signals)
	return v
}

// distrust takes the trust from a signal of a document that others wrote in, too, and of a pod
// that is called like a controller where runners run.
func (r *Record) distrust(s *signal.Signal) {
	if r.mixed[s.Doc] || r.jobs.have(s) || !r.live && r.leavesPlaceOut(s) {
		s.Trust = ingest.Claimed
	}
	s.Shared = r.mixed[s.Doc]
}

// unshelve puts the signals of all shelves into the list.
func (r *Record) unshelve() {
	for _, at := range r.shelves {
		r.Signals = append(r.Signals, at.signals...)
	}
	r.shelves = nil
}

// streamSignals are signals of the pods whose logs were read, whatever stood in them. What
// a job wrote of pods is no such log.
func (r *Record) streamSignals() (out []*signal.Signal) {
	for i := range r.Marks {
		m := &r.Marks[i]
		if (m.Pod != "" || m.PodUID != "") && !(m.Source == ingest.Kube && r.printed[m.Doc].some()) {
			out = append(out, &signal.Signal{Def: signal.LastWords, Source: m.Source, Trust: m.Trust, At: m.Mark.From,
				Cluster: m.Cluster, Namespace: m.Namespace, Pod: m.Pod, PodUID: m.PodUID,
				Container: m.Container, ContainerID: m.ContainerID, Node: m.Node})
		}
	}
	return out
}

func compareMarks(a, b ingest.Entry) int {
	return cmp.Or(
		cmp.Compare(a.Doc, b.Doc),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Cluster, b.Cluster),
		cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Boot, b.Boot),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.PodUID, b.PodUID),
		cmp.Compare(a.Container, b.Container),
		cmp.Compare(a.Mark.Kind, b.Mark.Kind),
		a.Mark.From.Compare(b.Mark.From),
		a.Mark.To.Compare(b.Mark.To),
		cmp.Compare(a.Mark.Lines, b.Mark.Lines),
		cmp.Compare(a.Mark.Why, b.Mark.Why),
	)
}

func lastWords(e *ingest.Entry) *signal.Signal {
	return &signal.Signal{
		Def: signal.LastWords, At: e.At, After: e.After, Clock: e.Clock, Source: e.Source, Trust: e.Trust,
		Node: e.Node, Boot: e.Boot,
		Cluster: e.Cluster, Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID,
		Container: e.Container, ContainerID: e.ContainerID,
		Text: e.Text, Doc: e.Doc, Line: e.Line,
	}
}
