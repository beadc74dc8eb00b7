package document

import (
	"io"
	"strings"

	"coroner/ingest"
	"coroner/ingest/kubectl"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// reader is one reading of one document.
type reader struct {
	doc     Document
	in      *prefilter.Lines
	yield   func(ingest.Entry) bool
	stopped bool
	n       int   // number of the line that is being read
	scratch draft // of that line

	account  account
	contents contents
	pending  pendingLine
	skipper  skipper

	// The formats, with what they know of the lines before.
	containers containers
	hosts      hostLines
	records    recordLines
	loki       lokiLines
	kubectl    kubectl.Text
}

func newReader(d Document, in *prefilter.Lines, yield func(ingest.Entry) bool) *reader {
	r := &reader{doc: d, in: in, yield: yield}
	r.skipper.r, r.containers.r, r.hosts.r, r.records.r, r.loki.r = r, r, r, r, r
	r.kubectl.Yield = r.kubeFact
	r.account.clock = logtext.Clock{Ref: d.Ref, Zone: d.Zone}
	r.containers.all = map[ingest.Container]*stream{}
	r.containers.main = d.streamOfPath()
	if r.containers.main == nil {
		r.contents.program = ingest.ProgramOfPath(d.Name)
		if ingest.PrintedByJob(d.Name) || ingest.JobsPlace(d.Name) {
			r.account.provenance.addMore(printedByJob)
		}
	}
	return r
}

// prepareFrom learns from the document's head what its first lines do not say.
func (r *reader) prepareFrom(head []byte) {
	if r.containers.main != nil {
		r.containers.main.previewHead(head)
	}
	if !r.doc.Ref.IsZero() && r.doc.Zone != nil {
		return
	}
	h := Sample(head)
	r.account.clock.Latest, r.account.clock.InferredZone = h.Latest, h.Zone
}

// readAll reads all lines, then says what was covered.
func (r *reader) readAll() error {
	for !r.stopped {
		b, err := r.in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.n = r.in.Number
		if r.skipper.trySkip(b) {
			continue
		}
		if err := r.readLine(b); err != nil {
			return err
		}
	}
	r.finishDoc()
	return nil
}

func (r *reader) finishDoc() {
	r.skipper.readWaiting()
	r.records.endPretty()
	r.records.endVerbose()
	r.kubectl.End()
	r.flushPending()
	for _, s := range r.containers.inOrder() {
		r.containers.flushParts(s)
	}
	r.yieldMarks()
}

// readLine reads one line: a part of a record, or text.
func (r *reader) readLine(b []byte) error {
	b = logtext.Stripped(b)
	if taken, err := r.records.takeLine(b); taken {
		return err
	}
	r.textLine(string(b))
	return nil
}

// isClosed says whether everything in the document is one container's output,
// so that no line of it can be anybody else's.
func (r *reader) isClosed() bool {
	return r.containers.main != nil || r.contents.isRunnerLog(r.account.lines) || r.contents.isJobLog()
}

// textLine reads one line of text.
func (r *reader) textLine(raw string) {
	raw = logtext.Cleaned(raw)
	s := strings.TrimLeft(raw, " \t")
	r.hosts.begin(len(raw) - len(s))
	if r.loki.csvLine(s) {
		return
	}
	if s == "" || !r.isClosed() && !r.hosts.within && (r.hosts.separator(s) || r.loki.takeHeader(s)) {
		r.kubectl.Blank()
		return
	}
	r.account.lines++
	r.loki.export.notePrompt(r.account.lines, s)
	d := &r.scratch
	*d = draft{Entry: ingest.Entry{Line: r.n, Boot: r.hosts.boot, Cut: r.in.Cut}, size: len(s)}
	text, known := s, false
	if !r.hosts.within {
		text, known = r.skipper.knownText(d, s)
	}
	if !known {
		allowed := r.allowedWraps()
		if r.hosts.within {
			allowed &^= hosted | shipped
		}
		text = r.unwrapLine(d, s, allowed, maxDepth)
	}
	if d.incomplete {
		return
	}
	if d.wraps == 0 && r.containers.main != nil {
		text = raw
	}
	r.attribute(d, raw, text)
}

// attribute decides whose record the text is, and yields it. raw is the line
// before anything was peeled off.
func (r *reader) attribute(d *draft, raw, text string) {
	switch {
	case d.stream != nil:
		r.containers.yieldLine(d, text)
	case r.containers.main != nil:
		d.stream = r.containers.main
		r.containers.yieldLine(d, text)
	case d.Source != ingest.Unknown || d.wraps&hosted != 0:
		r.hosts.saw(len(raw) - len(strings.TrimLeft(raw, " \t")))
		r.hosts.fileName.Check(&d.Entry, text)
		r.hosts.yieldLine(d, text)
	default:
		r.fromNobody(d, raw, text)
	}
}

// grepsBreak is what grep writes between the lines around one find and those around the next.
const grepsBreak = "--"

// fromNobody reads text that no envelope gives a writer.
func (r *reader) fromNobody(d *draft, raw, text string) {
	switch {
	case text == grepsBreak && d.wraps == 0:
		r.account.blocks = true
	case strings.HasPrefix(text, "Running with gitlab-runner "):
		r.account.provenance.addMore(printedByJob)
		r.contents.jobs += 5 // the first line of a job's log
		d.Source = ingest.Runner
		r.emitDraft(d, text)
	case d.wraps&jobbed != 0 || logtext.IsJobLog(text):
		d.Source = ingest.Job
		r.account.provenance.addMore(printedByJob)
		r.contents.jobs++
		r.emitDraft(d, text)
	case d.wraps&running != 0 || logtext.IsRunner(text):
		r.contents.runners++
		r.contents.begun = r.contents.begun || strings.Contains(text, "Runner is built for") ||
			strings.HasSuffix(text, "Connected to GitHub")
		d.Source = ingest.Runner
		r.account.provenance.addMore(printedByJob)
		r.emitDraft(d, text)
	case r.contents.isRunnerLog(r.account.lines):
		d.Source = ingest.Runner
		r.emitDraft(d, text)
	case r.contents.isJobLog():
		d.Source = ingest.Job
		r.emitDraft(d, text)
	case (d.wraps == 0 || r.kubectl.InColumns()) && !logtext.IsStructured(text) && r.kubectl.Read(raw, r.n):
	default:
		if f, ok := kubectl.LoggedEvent(text, r.n); ok && r.contents.program == ingest.Unknown {
			r.kubeFact(f)
			return
		}
		r.structured(d, raw, text)
	}
}

// structured reads text whose own shape may name its writer.
func (r *reader) structured(d *draft, raw, text string) {
	src, st := logtext.ProgramOf(text)
	deeper := r.hosts.within && (d.wraps != 0 || src.Host())
	if deeper || src == ingest.Kubelet && logtext.ContinuesKlog(raw) {
		d.Source, d.Trust = ingest.Job, ingest.Claimed
		r.emitDraft(d, text)
		return
	}
	if st.Size > 0 && d.Clock != ingest.WallClock {
		r.account.clock.Set(&d.Entry, st)
	}
	if d.wraps == 0 && logtext.IsMarkup(text) {
		r.account.provenance.addMore(markup)
	}
	named := r.contents.program
	if logtext.Overrules(src, named, text) {
		named = ingest.Unknown
	}
	if named != ingest.Unknown && (src != ingest.Unknown || logtext.IsStructured(text)) {
		r.contents.proven = true
	}
	proven := r.contents.proven && named != ingest.Unknown
	switch {
	case proven && !named.Host():
		d.Source = named
		r.account.provenance.addMore(claimsProgram)
		d.Trust = r.nameTrust()
	case src.Host() || proven:
		if d.Source = src; !src.Host() {
			d.Source = named
		}
		r.hosts.saw(len(raw) - len(strings.TrimLeft(raw, " \t")))
		r.account.provenance.addMore(claimsHost)
		d.Trust = r.account.provenance.hostTrust()
	case src != ingest.Unknown:
		d.Source = src
		r.account.provenance.addMore(claimsProgram)
	case d.wraps == 0 && strings.HasPrefix(raw, "        "): // journalctl indents the further lines of a message
	case !logtext.IsDecoration(text):
		r.account.provenance.addMore(ofNobody)
		if r.pending.continueWith(d, text) {
			return
		}
	}
	r.emitDraft(d, text)
}

// emitDraft yields d with its text, after the line before it.
func (r *reader) emitDraft(d *draft, text string) {
	r.flushPending()
	if r.pending.keepBack(d, text) {
		return
	}
	r.deliverDraft(d, text)
}

// deliverDraft hands out d.
func (r *reader) deliverDraft(d *draft, text string) {
	if r.stopped {
		return
	}
	e := &d.Entry
	var cut int
	e.Text, cut = logtext.Shorten(strings.TrimRight(text, " \t"))
	e.Cut += cut
	e.Doc = r.doc.Name
	if e.Source.Forgeable() || d.unidentified {
		e.Trust = ingest.Claimed
	}
	r.account.countEntry(d)
	r.stopped = !r.yield(*e)
}

// kubeFact yields what kubectl's text says of an object.
func (r *reader) kubeFact(f kubectl.Fact) {
	d := draft{Entry: f.Entry()}
	if d.Trust = r.account.provenance.programTrust(); f.JobText() || f.IsClaim() {
		d.Trust = ingest.Claimed
	}
	if f.JobText() {
		r.account.provenance.addMore(printedByJob)
	}
	r.account.provenance.addMore(claimsKube)
	if d.Line == 0 {
		d.Line = r.n
	}
	r.account.notePod(podKey{d.Namespace, d.Pod, d.PodUID})
	r.emitDraft(&d, d.Text)
}

// Mail programs break long lines. A line of a known writer that is about as
// long as a mail's lines are is held until the next one is seen.
const (
	shortWrap = 50
	longWrap  = 100
	maxWraps  = 20
)

// pendingLine is a record that may go on in the next line.
type pendingLine struct {
	draft draft
	text  string
	rows  int // 0: nothing is held
}

// keepBack keeps d back if its line can have been broken by a mail program.
func (p *pendingLine) keepBack(d *draft, text string) bool {
	if d.size < shortWrap || d.size > longWrap || d.stream != nil || d.Source == ingest.Unknown ||
		d.Source == ingest.Kube || d.wraps&(shipped|jobbed) != 0 {
		return false
	}
	*p = pendingLine{draft: *d, text: text, rows: 1}
	return true
}

// continueWith appends a bare line of nobody to the line before, if it reads like
// the rest of it.
func (p *pendingLine) continueWith(d *draft, text string) bool {
	if p.rows == 0 || p.rows > maxWraps || d.wraps&^quoted != 0 || d.Line != p.draft.Line+p.rows ||
		p.draft.size < shortWrap || !midSentence(text[0]) {
		return false
	}
	p.text += " " + text
	p.draft.size = d.size // a short line is the last one
	p.rows++
	return true
}

// midSentence says whether a line that starts with c can go on with the one
// before it.
func midSentence(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '"' || c == '(' || c == '/' || c == '\''
}

// flushPending yields the line that was pending.
func (r *reader) flushPending() {
	if r.pending.rows == 0 {
		return
	}
	h := r.pending
	r.pending = pendingLine{}
	r.deliverDraft(&h.draft, h.text)
}
