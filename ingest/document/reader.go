package document

import (
	"io"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/journald"
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
	n       int // number of the line that is being read

	names   journald.Names
	program ingest.Source // whose log the whole document is, by its name
	proven  bool          // a line of it had the shape of a program's log
	main    *stream       // the container whose output the whole document is, by its path
	streams map[ingest.Container]*stream
	host    string   // whose name the last line of a host had
	boot    string   // of the entries that follow, from a separator
	held    heldLine // a line that the next one may continue

	fileName fileName        // the last line of the kernel that names a file
	heads    prefilter.Heads // of the lines of the host that were read in full
	waiting  waitingLine

	scratch draft        // of the line that is being read
	rec     members      // of the JSON line or export record being read
	pretty  *pretty      // JSON object that goes over several lines
	object  kubectl.Text // kubectl's text being read
	grafana csvHead
	common  logtext.Labels // labels that logcli gave once for all lines
	export  export

	account account
	runners int  // of them, lines that only a runner prints
	verbose bool // in the fields of a record of journalctl -o verbose
	begun   bool // the first lines of a runner's output were among them
	jobs    int  // of them, lines that only a job's log has
}

func newReader(d Document, in *prefilter.Lines, yield func(ingest.Entry) bool) *reader {
	r := &reader{doc: d, in: in, yield: yield, streams: map[ingest.Container]*stream{}}
	r.object.Yield = r.kubeFact
	r.account.lastSeen = map[ingest.Source]time.Time{}
	r.account.clock = logtext.Clock{Ref: d.Ref, Zone: d.Zone}
	r.main = d.streamOfPath()
	if r.main == nil {
		r.program = ingest.ProgramOfPath(d.Name)
		if ingest.PrintedByJob(d.Name) || ingest.JobsPlace(d.Name) {
			r.account.provenance.add(printedByJob)
		}
	}
	return r
}

// prepare learns from the document's head what its first lines do not say.
func (r *reader) prepare(head []byte) {
	if r.main != nil {
		r.main.preview(head)
	}
	if !r.doc.Ref.IsZero() && r.doc.Zone != nil {
		return
	}
	h := Sample(head)
	r.account.clock.Latest, r.account.clock.InferredZone = h.Latest, h.Zone
}

// run reads all lines, then says what was covered.
func (r *reader) run() error {
	for !r.stopped {
		b, err := r.in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.n = r.in.Number
		if r.skips(b) {
			continue
		}
		if err := r.line(b); err != nil {
			return err
		}
	}
	r.finish()
	return nil
}

func (r *reader) finish() {
	r.reread()
	r.endPretty()
	r.endVerbose()
	r.object.End()
	r.letGo()
	for _, s := range r.ordered() {
		r.flushPart(s)
	}
	r.marks()
}

// line reads one line: an export record, JSON, or text.
func (r *reader) line(b []byte) error {
	b = plainer(b)
	if r.verboseLine(b) {
		return nil
	}
	if isExportStart(b) && !r.account.fed && !r.closed() {
		return r.exportRecord(b)
	}
	if r.prettyLine(b) {
		return nil
	}
	if i := logtext.SkipSpace(b, 0); i < len(b) && b[i] == '{' && r.jsonLine(b) {
		return nil
	}
	r.textLine(string(b))
	return nil
}

// closed says whether everything in the document is one container's output,
// so that no line of it can be anybody else's.
func (r *reader) closed() bool { return r.main != nil || r.runnerLog() || r.jobLog() }

// runnerLog says whether what was read so far is a runner's log.
func (r *reader) runnerLog() bool { return r.runners >= 5 && r.runners*2 > r.account.lines }

// jobLog says whether what was read so far is a job's log: what else it shows
// was printed by the job.
func (r *reader) jobLog() bool { return r.jobs >= 5 }

// textLine reads one line of text.
func (r *reader) textLine(raw string) {
	raw = logtext.Cleaned(raw)
	s := strings.TrimLeft(raw, " \t")
	if r.csvLine(s) {
		return
	}
	if s == "" || !r.closed() && (r.separator(s) || r.lokiHeader(s)) {
		r.object.Blank()
		return
	}
	r.account.lines++
	r.export.prompt(r.account.lines, s)
	d := &r.scratch
	*d = draft{Entry: ingest.Entry{Line: r.n, Boot: r.boot, Cut: r.in.Cut}, size: len(s)}
	text, known := r.known(d, s)
	if !known {
		text = r.peel(d, s)
	}
	if d.swallowed {
		return
	}
	if d.wraps == 0 && r.main != nil {
		text = raw
	}
	r.attribute(d, raw, text)
}

// separator handles lines that are about the lines.
func (r *reader) separator(s string) bool {
	rest, ok := strings.CutPrefix(s, "-- ")
	if !ok || !strings.HasSuffix(rest, " --") && !strings.HasPrefix(rest, "Logs begin") && !strings.HasPrefix(rest, "Journal begins") {
		return false
	}
	if id, ok := strings.CutPrefix(rest, "Boot "); ok {
		r.boot, _, _ = strings.Cut(id, " ")
	} else if strings.HasPrefix(rest, "Reboot") {
		r.boot = "after line " + itoa(r.n)
	} else {
		return true
	}
	if len(r.account.spans) > 0 { // before the first record it says which boot, not that there was one before
		r.fromHost(&draft{Entry: ingest.Entry{Source: ingest.Systemd, Trust: r.account.provenance.hostTrust(), Line: r.n, Boot: r.boot}}, s)
	}
	return true
}

// attribute decides whose record the text is, and yields it. raw is the line
// before anything was peeled off.
func (r *reader) attribute(d *draft, raw, text string) {
	switch {
	case d.stream != nil:
		r.fromStream(d, text)
	case r.main != nil:
		d.stream = r.main
		r.fromStream(d, text)
	case d.Source != ingest.Unknown || d.wraps&hosted != 0:
		r.fileName.check(d, text)
		r.fromHost(d, text)
	default:
		r.bare(d, raw, text)
	}
}

// bare reads text that no envelope gives a writer.
func (r *reader) bare(d *draft, raw, text string) {
	switch {
	case strings.HasPrefix(text, "Running with gitlab-runner "):
		r.account.provenance.add(printedByJob)
		r.jobs += 5 // the first line of a job's log
		d.Source = ingest.Runner
		r.emit(d, text)
	case d.wraps&jobbed != 0 || logtext.IsJobLog(text):
		d.Source = ingest.Job
		r.account.provenance.add(printedByJob)
		r.jobs++
		r.emit(d, text)
	case d.wraps&running != 0 || logtext.IsRunner(text):
		r.runners++
		r.begun = r.begun || strings.Contains(text, "Runner is built for") || strings.HasSuffix(text, "Connected to GitHub")
		d.Source = ingest.Runner
		r.account.provenance.add(printedByJob)
		r.emit(d, text)
	case r.runnerLog():
		d.Source = ingest.Runner
		r.emit(d, text)
	case r.jobLog():
		d.Source = ingest.Job
		r.emit(d, text)
	case d.wraps == 0 && !logtext.IsStructured(text) && r.object.Read(raw, r.n):
	default:
		r.structured(d, raw, text)
	}
}

// structured reads text whose own shape may name its writer.
func (r *reader) structured(d *draft, raw, text string) {
	src, st := logtext.ProgramOf(text)
	if src == ingest.Kubelet && continuesKlog(raw) {
		d.Source, d.Trust = ingest.Job, ingest.Claimed
		r.emit(d, text)
		return
	}
	if st.Size > 0 && d.Clock != ingest.WallClock {
		r.account.clock.Set(&d.Entry, st)
	}
	if r.program != ingest.Unknown && (src != ingest.Unknown || logtext.IsStructured(text)) {
		r.proven = true
	}
	switch {
	case r.proven && !r.program.Host():
		d.Source = r.program
		r.account.provenance.add(claimsProgram)
		d.Trust = r.account.provenance.programTrust()
	case src.Host() || r.proven:
		if d.Source = src; !src.Host() {
			d.Source = r.program
		}
		r.account.provenance.add(claimsHost)
		d.Trust = r.account.provenance.hostTrust()
	case src != ingest.Unknown:
		d.Source = src
		r.account.provenance.add(claimsProgram)
	case d.wraps == 0 && strings.HasPrefix(raw, "        "): // journalctl indents the further lines of a message
	case !decoration(text):
		r.account.provenance.add(ofNobody)
		if r.continues(d, text) {
			return
		}
	}
	r.emit(d, text)
}

// decoration says whether a line is what people type around a paste.
func decoration(s string) bool {
	return strings.HasPrefix(s, "$ ") || strings.HasPrefix(s, "# ") || strings.HasPrefix(s, "```") || strings.Trim(s, ".-=*_~ …") == ""
}

// emit yields d with its text, after the line before it.
func (r *reader) emit(d *draft, text string) {
	r.letGo()
	if r.hold(d, text) {
		return
	}
	r.deliver(d, text)
}

// deliver hands out d.
func (r *reader) deliver(d *draft, text string) {
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
	r.account.entry(d)
	r.stopped = !r.yield(*e)
}

// kubeFact yields what kubectl's text says of an object.
func (r *reader) kubeFact(f kubectl.Fact) {
	d := draft{Entry: f.Entry()}
	d.Trust = r.account.provenance.programTrust()
	if f.JobText() {
		d.Trust = ingest.Claimed
		r.account.provenance.add(printedByJob)
	}
	r.account.provenance.add(claimsKube)
	if d.Line == 0 {
		d.Line = r.n
	}
	r.account.pod(podKey{d.Namespace, d.Pod, d.PodUID})
	r.emit(&d, d.Text)
}
