package document

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/kubectl"
	"coroner/ingest/logtext"
)

// taint is what a document held that makes its claims worth less: text that a
// job can print beside records that only look like somebody else's.
type taint struct {
	job     bool // lines that only a runner or a job prints, outside any envelope
	unknown bool // lines of nobody
	streams bool // lines that a prefix gives to one of several containers

	claimedHost    bool // a program of the node, or the API server in its audit log
	claimedProgram bool // a controller or a listener
	claimedKube    bool // kubectl's text
}

// hostTrust is what a host's line is worth so far: such text is attested only
// in a document that is nothing else.
func (t taint) hostTrust() ingest.Trust {
	if t.job || t.unknown {
		return ingest.Claimed
	}
	return ingest.Attested
}

// programTrust: the logs of controllers and kubectl's tables have lines of
// every shape; only a runner's among them spoil them.
func (t taint) programTrust() ingest.Trust {
	if t.job {
		return ingest.Claimed
	}
	return ingest.Attested
}

func (t taint) mixed() bool {
	return t.claimedHost && (t.job || t.unknown) || (t.claimedProgram || t.claimedKube) && t.job ||
		t.claimedProgram && t.streams && t.unknown // a job can print a prefix too
}

// diagPath: the runner's own files, written to their end where it ends.
var diagPath = regexp.MustCompile(`^(?:Runner|Worker)_\d{8}-\d{6}-utc\.log$`)

// maxSpans bounds how many boots of how many nodes one document tells apart.
const maxSpans = 1024

type spanKey struct{ node, boot string }

// spanOf is the time between the first and the last record of one boot, and
// who spoke in it.
type spanOf struct {
	spanKey
	from, to time.Time
	trust    map[ingest.Source]ingest.Trust
}

// coverage collects what the document's marks will say.
type coverage struct {
	spans   map[spanKey]*spanOf
	last    *spanOf
	gaps    []ingest.Entry
	runner  spanOf // lines of a runner's _diag file, which names no pod
	lines   int
	kubePod map[podKey]bool
}

type podKey struct{ namespace, pod, uid string }

// saw takes note of an entry on its way out.
func (c *coverage) saw(d *draft) {
	switch {
	case d.stream != nil || d.wraps&shipped != 0:
		return
	case d.Source == ingest.Runner && d.wraps&hosted == 0:
		c.lines++
		if !d.At.IsZero() {
			c.runner.from, c.runner.to = span(c.runner.from, c.runner.to, d.At)
		}
		return
	case d.Source == ingest.Kube || d.Source == ingest.Job || d.Source == ingest.Runner || d.Source == ingest.Unknown && d.wraps&hosted == 0:
		return
	}
	s := c.span(spanKey{d.Node, d.Boot})
	if s == nil {
		return
	}
	if !d.At.IsZero() {
		s.from, s.to = span(s.from, s.to, d.At)
	}
	if t, ok := s.trust[d.Source]; !ok || t < d.Trust {
		s.trust[d.Source] = d.Trust
	}
}

func (c *coverage) span(k spanKey) *spanOf {
	if c.last != nil && c.last.spanKey == k {
		return c.last
	}
	s := c.spans[k]
	if s == nil {
		if len(c.spans) >= maxSpans {
			return nil
		}
		if c.spans == nil {
			c.spans = make(map[spanKey]*spanOf)
		}
		s = &spanOf{spanKey: k, trust: make(map[ingest.Source]ingest.Trust)}
		c.spans[k] = s
	}
	c.last = s
	return s
}

// gap notes journald's own words about what it lost: `Suppressed N messages
// from UNIT`, `Missed N kernel messages`.
func (r *reader) gap(d *draft, text string) {
	if d.Source != ingest.Systemd || d.unidentified || len(r.cover.gaps) >= maxSpans {
		return
	}
	src := ingest.Unknown
	if rest, ok := strings.CutPrefix(text, "Suppressed "); ok {
		if _, unit, found := strings.Cut(rest, " messages from "); found {
			src = ingest.ProgramSource(path.Base(strings.TrimRight(unit, ". ")))
		}
	} else if strings.HasPrefix(text, "Missed ") && strings.HasSuffix(text, " kernel messages") {
		src = ingest.Kernel
	}
	if src == ingest.Unknown {
		return
	}
	e := ingest.Entry{Source: src, Trust: d.Trust, Cluster: d.Cluster, Node: d.Node, Boot: d.Boot, Line: d.Line}
	e.Mark = &ingest.Mark{Kind: ingest.Gap, From: r.lossBegan(src), To: d.At, Why: "journald: " + logtext.Brief(text, 256)}
	r.cover.gaps = append(r.cover.gaps, e)
}

// lossBegan is the earliest that records of src can have been dropped: after
// its last one, however much others said since.
func (r *reader) lossBegan(src ingest.Source) time.Time {
	if v := r.spoke[src]; v != nil {
		return v.last
	}
	return r.times.Last
}

// marks yields what can be said about the reading once all is read.
func (r *reader) marks() {
	if r.taint.mixed() {
		r.mark(ingest.Entry{}, ingest.Mark{Kind: ingest.Mixed})
	}
	for _, g := range r.cover.gaps {
		r.mark(g, *g.Mark)
	}
	r.hostMarks()
	for _, s := range r.ordered() {
		r.streamMarks(s)
	}
	if r.cover.lines > 0 && (r.begun || diagPath.MatchString(path.Base(r.doc.Name))) {
		c := &r.cover.runner
		r.mark(ingest.Entry{Source: ingest.Runner}, ingest.Mark{Kind: ingest.Covered, From: c.from, To: c.to, Lines: r.cover.lines})
		r.mark(ingest.Entry{Source: ingest.Runner}, ingest.Mark{Kind: ingest.Ended, From: c.to, To: c.to})
	}
	r.kubeMarks()
}

// hostMarks: a journal in which a program spoke covers that program for all of
// the journal's time.
func (r *reader) hostMarks() {
	spans := make([]*spanOf, 0, len(r.cover.spans))
	for _, s := range r.cover.spans {
		if !s.from.IsZero() {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b *spanOf) int {
		return cmp.Or(cmp.Compare(a.node, b.node), a.from.Compare(b.from), cmp.Compare(a.boot, b.boot))
	})
	for _, s := range spans {
		for _, src := range ingest.Sources {
			if trust, spoke := s.trust[src]; spoke {
				r.mark(ingest.Entry{Source: src, Trust: trust, Node: s.node, Boot: s.boot}, ingest.Mark{Kind: ingest.Covered, From: s.from, To: s.to})
			}
		}
	}
}

// streamMarks: a file of the pod's log directory that is empty says that the
// container printed nothing.
func (r *reader) streamMarks(s *stream) {
	if s.Pod == "" && s.ID == "" && s.Name == "" || s != r.main && s.lines == 0 {
		return
	}
	e := ingest.Entry{
		Source: s.source, Trust: s.trust, Cluster: s.Cluster, Namespace: s.Namespace, Pod: s.Pod, PodUID: s.UID,
		Container: s.Name, ContainerID: s.ID,
	}
	r.mark(e, ingest.Mark{Kind: ingest.Covered, From: s.from, To: s.to, Lines: s.lines})
	r.mark(e, ingest.Mark{Kind: ingest.Ended, From: s.to, To: s.to})
}

// kubeFact yields what kubectl's text says of an object.
func (r *reader) kubeFact(f kubectl.Fact) {
	d := draft{Entry: f.Entry()}
	d.Trust = r.taint.programTrust()
	if f.JobText() {
		d.Trust = ingest.Claimed
		r.taint.job = true
	}
	r.taint.claimedKube = true
	if d.Line == 0 {
		d.Line = r.n
	}
	if d.Pod != "" && len(r.cover.kubePod) < maxStreams {
		if r.cover.kubePod == nil {
			r.cover.kubePod = make(map[podKey]bool)
		}
		r.cover.kubePod[podKey{d.Namespace, d.Pod, d.PodUID}] = true
	}
	r.emit(&d, d.Text)
}

// kubeMarks: objects were in the document, of these pods.
func (r *reader) kubeMarks() {
	if !r.taint.claimedKube {
		return
	}
	pods := make([]podKey, 0, len(r.cover.kubePod))
	for k := range r.cover.kubePod {
		pods = append(pods, k)
	}
	slices.SortFunc(pods, func(a, b podKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod, b.pod), cmp.Compare(a.uid, b.uid))
	})
	if len(pods) == 0 {
		pods = append(pods, podKey{})
	}
	for _, k := range pods {
		r.mark(ingest.Entry{Source: ingest.Kube, Trust: r.taint.programTrust(), Namespace: k.namespace, Pod: k.pod, PodUID: k.uid}, ingest.Mark{Kind: ingest.Covered})
	}
}

// mark yields one mark about what id names.
func (r *reader) mark(id ingest.Entry, m ingest.Mark) {
	if r.stopped {
		return
	}
	id.Doc, id.Mark = r.doc.Name, &m
	if id.At = m.To; !id.At.IsZero() {
		id.Clock = ingest.WallClock
	}
	r.stopped = !r.yield(id)
}
