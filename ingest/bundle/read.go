package bundle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf16"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/kube"
	"coroner/ingest/recorded"
	"coroner/ingest/workflow"
	"coroner/ingest/wrapping"
)

// Entries streams all documents in the order of their paths: their entries,
// then their marks. progress is called at every document and about every
// megabyte, and may be nil. A document from a pipe can be streamed once only.
func (b *Bundle) Entries(progress func(Progress)) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		t := b.newTally(progress)
		for i := range b.inputs {
			if !b.readInput(i, t, yield) {
				return
			}
		}
		t.finishAll()
	}
}

// Parts streams the same with several readers at a time: take is called for
// every file that was given or found in a folder, in the order of their paths
// but from up to n goroutines, with the file's entries. It may be called for a
// file before it has returned for the one before. Entries that are not read to
// their end end the rest.
func (b *Bundle) Parts(n int, progress func(Progress), take func(i int, entries iter.Seq[ingest.Entry])) {
	t := b.newTally(progress)
	next, wait := atomic.Int64{}, sync.WaitGroup{}
	for range min(n, len(b.inputs)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(b.inputs); i = int(next.Add(1)) - 1 {
				take(i, func(yield func(ingest.Entry) bool) {
					if !b.readInput(i, t, yield) {
						next.Store(int64(len(b.inputs)))
					}
				})
			}
		})
	}
	wait.Wait()
	t.finishAll()
}

// EntryAt is the record that begins in a line of the input's only document.
func (b *Bundle) EntryAt(line int) (at ingest.Entry, found bool) {
	for e := range b.Entries(nil) {
		if e.Mark == nil && e.Line == line {
			return e, true
		}
	}
	return at, false
}

// readInput streams one input and says whether to go on.
func (b *Bundle) readInput(i int, t *tally, yield func(ingest.Entry) bool) bool {
	r := &reading{bundle: b, yield: yield, tally: t}
	x := expander{bundle: b, visit: r.document, count: t.countRead, members: &t.members}
	return x.openInput(&b.inputs[i]) == nil
}

// tally is how far all readers have come together.
type tally struct {
	progress func(Progress)
	members  atomic.Int64

	mu    sync.Mutex
	state Progress
	told  int64 // bytes read when progress was last called
}

func (b *Bundle) newTally(progress func(Progress)) *tally {
	t := &tally{progress: progress}
	for _, in := range b.inputs {
		t.state.Total += in.size
		if in.stream != nil {
			t.state.Total = 0
			break
		}
	}
	return t
}

// countRead takes note of bytes that were read of an input as it is stored.
func (t *tally) countRead(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Read += int64(n)
	if t.state.Read-t.told >= 1<<20 {
		t.tellNow()
	}
}

// beginDoc takes note of the document that is being read.
func (t *tally) beginDoc(doc string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Doc = doc
	t.tellNow()
}

func (t *tally) finishDoc() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Done++
}

func (t *tally) finishAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Read = max(t.state.Read, t.state.Total)
	t.tellNow()
}

func (t *tally) tellNow() {
	t.told = t.state.Read
	if t.progress != nil {
		t.progress(t.state)
	}
}

// reading is one run over the entries of an input.
type reading struct {
	bundle   *Bundle
	tally    *tally
	doc      string // that is being read, as people know it
	yield    func(ingest.Entry) bool
	stopped  bool
	recorded bool // the document's entries name the ones that they were first read from
}

// emitEntry passes one entry on, under the name that people know the document by.
func (r *reading) emitEntry(e ingest.Entry) bool {
	if !r.stopped {
		if !r.recorded {
			e.Doc = r.doc
		}
		r.stopped = !r.yield(e)
	}
	return !r.stopped
}

// document reads one document, as objects or as text.
func (r *reading) document(d rawDocument) error {
	h := document.Sample(d.head)
	if h.Binary {
		return errBinary
	}
	r.doc = d.name
	r.tally.beginDoc(d.name)
	if why := noEvidence(d); why != "" {
		quoted := ""
		if why == onlyProse && r.bundle.documents == 1 {
			quoted = wrapping.Quoted(d.head)
		}
		if quoted == "" {
			r.bundle.addProblem(d.name, "%s", why)
			r.tally.finishDoc()
			return nil
		}
		r.bundle.addProblem(d.name, "is prose and no log: only the messages that it quotes were read")
		d.head, d.r, d.pasted = []byte(quoted), bufio.NewReader(strings.NewReader(quoted)), true
	}
	doc := document.Document{
		Name: hintName(d.name),
		Ref:  r.bundle.ref,
		Zone: r.bundle.zoneFor(h),
		Next: r.bundle.opts.Next,

		Pasted: d.pasted,
		Alone:  r.bundle.documents == 1,
	}
	r.recorded = isRecorded(d.name)
	in := &capped{r: d.r, left: r.bundle.opts.MaxFile}
	var err error
	switch head := decodedText(d.head); {
	case r.recorded:
		err = recorded.Read(in, doc.Name, r.emitEntry)
	case workflow.Sniff(head) && !h.Objects && !kube.Sniff(head) && !streamName.MatchString(doc.Name):
		err = r.readJobs(doc, in)
	case (h.Objects || kube.Sniff(head)) && !streamName.MatchString(doc.Name):
		err = r.readObjects(doc, in, kube.Sniff(head))
	case len(d.head) < headSize && !streamName.MatchString(doc.Name):
		err = r.readAround(doc, in)
	default:
		err = doc.Read(in, r.emitEntry)
	}
	if d.hidden {
		r.markMixed()
	}
	r.tally.finishDoc()
	if r.stopped {
		return errStopped
	}
	return err
}

// onlyProse is why notes are passed over beside other documents. Alone they are what somebody
// asks about, and the messages that they quote are read.
const onlyProse = "is prose and no log: skipped; what it quotes of logs belongs into a file of its own"

// noEvidence says why a document is passed over, or "": notes tell what people
// think, a guide what errors mean, a source what a program can print, a difference
// how it changed, and a YAML file that is no object what they want, not what programs
// wrote. What has no name that says so, as what is piped in, is YAML by its form alone.
func noEvidence(d rawDocument) string {
	if len(d.head) == 0 || len(d.head) >= headSize {
		return ""
	}
	switch inContainer := streamName.MatchString(hintName(d.name)); {
	case inContainer:
	case wrapping.Guide(d.head):
		return "is prose and no log: skipped; what it quotes of logs belongs into a file of its own"
	case wrapping.Source(d.head):
		return "is a program's source and no log: skipped"
	case wrapping.Difference(d.head):
		return "is a difference of two versions of a file and no log: skipped"
	}
	switch strings.ToLower(path.Ext(d.name)) {
	case ".md", ".markdown", ".rst", ".adoc":
		if wrapping.Prose(d.head) {
			return onlyProse
		}
	case ".yaml", ".yml", "":
		head, named := decodedText(d.head), path.Ext(d.name) != ""
		if !kube.Sniff(head) && !streamName.MatchString(hintName(d.name)) && kube.Config(head, named) {
			return "is YAML and no Kubernetes object: skipped"
		}
	}
	return ""
}

// readObjects reads a document of Kubernetes objects. What is none, or follows
// them, is read as text.
func (r *reading) readObjects(doc document.Document, in io.Reader, sure bool) error {
	limit := r.bundle.opts.objects
	data, readErr := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if len(data) > limit {
		if sure {
			r.bundle.addProblem(
				r.doc,
				"holds more than %s of objects and is read as text: give fewer objects a file",
				sizeText(int64(limit)),
			)
		}
		return doc.Read(io.MultiReader(bytes.NewReader(data), in), r.emitEntry)
	}
	data = decodedText(data)
	silent := true
	objects, err := kube.Read(doc, data, func(e ingest.Entry) bool { silent = false; return r.emitEntry(e) })
	tail := (*kube.TailError)(nil)
	switch {
	case r.stopped:
	case errors.Is(err, kube.ErrNotObject):
		err = doc.Read(bytes.NewReader(r.takeObjects(doc, data, 0)), r.emitEntry)
	case errors.As(err, &tail):
		err = r.readRest(doc, data[tail.Offset:], tail.Line)
	case err == nil && silent && objects > 0:
		r.bundle.addProblem(r.doc, "holds objects of kinds that tell of no death: skipped")
	case err == nil && (path.Ext(doc.Name) == ".log" || ingest.JobsPlace(doc.Name)):
		r.markMixed()
	}
	return errors.Join(err, readErr)
}

// readJobs reads a document of jobs as GitHub tells of them. What is none, or follows them, is
// read as text.
func (r *reading) readJobs(doc document.Document, in io.Reader) error {
	limit := r.bundle.opts.objects
	data, readErr := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if len(data) > limit {
		r.bundle.addProblem(r.doc, "holds more than %s of jobs and is read as text: give fewer jobs a file",
			sizeText(int64(limit)))
		return doc.Read(io.MultiReader(bytes.NewReader(data), in), r.emitEntry)
	}
	data = decodedText(data)
	silent := true
	read, err := workflow.Read(data, func(e ingest.Entry) bool { silent = false; return r.emitEntry(e) })
	switch {
	case r.stopped:
	case errors.Is(err, workflow.ErrNoJob):
		err = doc.Read(bytes.NewReader(data), r.emitEntry)
	case err == nil && len(bytes.TrimSpace(data[read:])) > 0:
		err = r.readRest(doc, data[read:], bytes.Count(data[:read], []byte("\n")))
	case silent:
		r.bundle.addProblem(r.doc, "holds jobs that GitHub's own runners do, and none of another: skipped")
	case path.Ext(doc.Name) == ".log" || ingest.JobsPlace(doc.Name):
		r.markMixed()
	}
	return errors.Join(err, readErr)
}

// readRest reads what follows the objects of a document. Whoever wrote it could
// have written the objects as well, so the document is Mixed.
func (r *reading) readRest(doc document.Document, data []byte, line int) error {
	if len(bytes.Trim(data, " \t\r\n`")) == 0 {
		return nil
	}
	r.markMixed()
	return doc.Read(bytes.NewReader(r.takeObjects(doc, data, line)), r.below(line))
}

// below passes entries on whose lines were counted from a line of the document.
func (r *reading) below(line int) func(ingest.Entry) bool {
	return func(e ingest.Entry) bool {
		if e.Line > 0 {
			e.Line += line
		}
		return r.emitEntry(e)
	}
}

// readAround reads a short text, and the objects that stand in the middle of it: people
// put a pod between a sentence and a log. They could have written either, as in readRest.
func (r *reading) readAround(doc document.Document, in io.Reader) error {
	data, readErr := io.ReadAll(in)
	return errors.Join(doc.Read(bytes.NewReader(r.takeObjects(doc, data, 0)), r.emitEntry), readErr)
}

// takeObjects passes on the entries of the objects in a text, which begins at a line of the
// document, and returns the text, in which blanks now stand in their place. A long text is a
// log, which is not worth being looked through for them.
func (r *reading) takeObjects(doc document.Document, data []byte, line int) []byte {
	if len(data) >= headSize {
		return data
	}
	for from := range kube.Starts(data) {
		var entries []ingest.Entry
		_, err := kube.Read(doc, data[from:], func(e ingest.Entry) bool { entries = append(entries, e); return true })
		end, tail := len(data), (*kube.TailError)(nil)
		if errors.As(err, &tail) {
			end = from + tail.Offset
		}
		if len(entries) == 0 || errors.Is(err, kube.ErrNotObject) {
			continue
		}
		r.markMixed()
		emit := r.below(line + bytes.Count(data[:from], []byte("\n")))
		for _, e := range entries {
			emit(e)
		}
		for i := from; i < end; i++ {
			if data[i] != '\n' {
				data[i] = ' '
			}
		}
	}
	return data
}

// markMixed says that the document's objects only claim to be some. A log that
// consists of objects is one, too: the program that was logged printed them. So
// is a file in a folder that jobs write to.
func (r *reading) markMixed() {
	r.emitEntry(ingest.Entry{Mark: &ingest.Mark{Kind: ingest.Mixed}})
}

// isRecorded says whether a document is what a coroner server kept. Its records
// are believed, so it counts only where a person put it: as a file, or in a
// .txtar that is one; not in other archives, nor where runners and jobs write.
func isRecorded(name string) bool {
	if !strings.HasSuffix(name, recorded.Suffix) || streamName.MatchString(hintName(name)) ||
		ingest.JobsPlace(hintName(name)) {
		return false
	}
	archive, _, packed := strings.Cut(name, "!")
	return !packed || strings.HasSuffix(archive, ".txtar") && strings.Count(name, "!") == 1
}

// hintName is a document's name as a path, for the hints that its folders and
// its base name are: the archive is one of the folders.
func hintName(name string) string { return strings.ReplaceAll(name, "!", "/") }

// streamName is the name of a container's log as the kubelet names it. What is
// in one was printed by the container, whatever it looks like.
var streamName = regexp.MustCompile(`(^|/)[^/_]+_[^/_]+_[0-9a-f-]{32,36}/[^/]+/[^/]+$|_[^/_]+-[0-9a-f]{64}\.log$`)

// speaksEmpty says whether the mere name of an empty document tells something:
// that a container printed nothing.
func speaksEmpty(name string) bool {
	said := false
	doc := document.Document{Name: hintName(name)}
	_ = doc.Read(strings.NewReader(""), func(ingest.Entry) bool { said = true; return false })
	return said || streamName.MatchString(hintName(name))
}

// decodedText is data in UTF-8, where PowerShell's `>` made it UTF-16.
func decodedText(data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xff\xfe")):
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// capped ends a document that is longer than one may be.
type capped struct {
	r    *bufio.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		if _, err := c.r.Peek(1); err != nil {
			return 0, err
		}
		return 0, unread("is longer than one document may be: the rest was not read; give the part that matters")
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
