package document

import (
	"cmp"
	"path"
	"regexp"
	"slices"

	"coroner/ingest"
)

// diagPath: the runner's own files, written to their end where it ends.
var diagPath = regexp.MustCompile(`^(?:Runner|Worker)_\d{8}-\d{6}-utc\.log$`)

// yieldMarks yields what can be said about the reading once all is read.
func (r *reader) yieldMarks() {
	if a := &r.account; a.provenance.isMixed() || a.isOneLine() {
		r.yieldMark(ingest.Entry{}, ingest.Mark{Kind: ingest.Mixed})
	}
	for _, g := range r.account.gaps {
		r.yieldMark(g, *g.Mark)
	}
	r.account.boots.Marks(func(e ingest.Entry, m ingest.Mark) {
		m.Partly = r.account.readPartly(r.doc.Alone)
		r.yieldMark(e, m)
	})
	for _, s := range r.containers.inOrder() {
		r.streamMarks(s)
	}
	if a := &r.account; a.runnerLines > 0 && (r.contents.begun || diagPath.MatchString(path.Base(r.doc.Name))) {
		from, to := a.runnerFrom, a.runnerTo
		r.yieldMark(ingest.Entry{Source: ingest.Runner},
			ingest.Mark{Kind: ingest.Covered, From: from, To: to, Lines: a.runnerLines})
		r.yieldMark(ingest.Entry{Source: ingest.Runner}, ingest.Mark{Kind: ingest.Ended, From: to, To: to})
	}
	r.kubeMarks()
}

// streamMarks: a file of the pod's log directory that is empty says that the
// container printed nothing.
func (r *reader) streamMarks(s *stream) {
	if s.Pod == "" && s.ID == "" && s.Name == "" || s != r.containers.main && s.lines == 0 {
		return
	}
	e := ingest.Entry{
		Source: s.source, Trust: s.trust, Cluster: s.Cluster, Namespace: s.Namespace, Pod: s.Pod, PodUID: s.UID,
		Container: s.Name, ContainerID: s.ID,
	}
	r.yieldMark(e, ingest.Mark{Kind: ingest.Covered, From: s.from, To: s.to, Lines: s.lines})
	r.yieldMark(e, ingest.Mark{Kind: ingest.Ended, From: s.to, To: s.to})
}

// kubeMarks: objects were in the document, of these pods.
func (r *reader) kubeMarks() {
	if !r.account.provenance.hasAny(claimsKube) {
		return
	}
	pods := make([]podKey, 0, len(r.account.pods))
	for k := range r.account.pods {
		pods = append(pods, k)
	}
	slices.SortFunc(pods, func(a, b podKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod, b.pod), cmp.Compare(a.uid, b.uid))
	})
	if len(pods) == 0 {
		pods = append(pods, podKey{})
	}
	for _, k := range pods {
		r.yieldMark(
			ingest.Entry{Source: ingest.Kube, Trust: r.account.provenance.programTrust(), Namespace: k.namespace,
				Pod: k.pod, PodUID: k.uid},
			ingest.Mark{Kind: ingest.Covered},
		)
	}
}

// yieldMark yields one mark about what id names.
func (r *reader) yieldMark(id ingest.Entry, m ingest.Mark) {
	if r.stopped {
		return
	}
	id.Doc, id.Mark = r.doc.Name, &m
	if id.At = m.To; !id.At.IsZero() {
		id.Clock = ingest.WallClock
	}
	r.stopped = !r.yield(id)
}
