package document

import (
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// maxSpans bounds how many boots of how many nodes one document tells apart.
const maxSpans = 1024

type spanKey struct{ node, boot string }

// spanOf is the time between the first and the last record of one boot, and
// who spoke in it.
type spanOf struct {
	spanKey
	from, to time.Time
	trust    bySource[ingest.Trust]
}

type podKey struct{ namespace, pod, uid string }

// account is what the marks at a document's end are made of: how much was read, of
// whom, over which time, and who may have written it. Reading a line in full and
// skipping it both report to it.
type account struct {
	clock      logtext.Clock
	provenance provenance
	lines      int  // that were not blank
	fed        bool // by a Feed, whose caller knows what was covered

	lastSeen bySource[time.Time] // when each program of a host wrote last

	spans       map[spanKey]*spanOf
	last        *spanOf
	gaps        []ingest.Entry
	runner      spanOf // lines of a runner's _diag file, which names no pod
	runnerLines int
	pods        map[podKey]bool // of kubectl's text
}

// countEntry takes note of an entry on its way out, and dates it where it is undated.
func (a *account) countEntry(d *draft) {
	e := &d.Entry
	e.After = time.Time{}
	if e.Clock == ingest.LocalClock || e.Clock == ingest.WallClock {
		a.clock.Last = e.At
	} else {
		e.After = a.clock.Last
	}
	a.noteSource(e.Source, e.At)
	switch {
	case a.fed || d.stream != nil || d.wraps&shipped != 0:
	case e.Source == ingest.Runner && d.wraps&hosted == 0:
		a.runnerLines++
		if !e.At.IsZero() {
			a.runner.from, a.runner.to = widenTo(a.runner.from, a.runner.to, e.At)
		}
	case e.Source == ingest.Kube || e.Source == ingest.Job || e.Source == ingest.Runner:
	case e.Source == ingest.Unknown && d.wraps&hosted == 0:
	default:
		a.coverSource(spanKey{e.Node, e.Boot}, e.Source, e.Trust, e.At)
	}
}

// isOneLine says whether the document is one line of a program of the node and nothing else:
// somebody picked it out, of whatever text it stood in.
func (a *account) isOneLine() bool {
	return !a.fed && a.lines == 1 && len(a.spans) > 0 && a.provenance.hasAny(claimsHost)
}

// countSkipped takes note of a line of the host that gives no entry, as entry would.
func (a *account) countSkipped(l *prefilter.KnownLine, boot string) {
	a.lines++
	if l.Dated {
		a.clock.Saw(l.At)
	}
	a.clock.Last = l.At
	a.noteSource(l.Source, l.At)
	a.coverSource(spanKey{l.Node, boot}, l.Source, a.hostTrust(l.Source, l.Trust), l.At)
}

// noteSource notes when a program of the host wrote last.
func (a *account) noteSource(src ingest.Source, at time.Time) {
	if src.Host() && !at.IsZero() {
		*a.lastSeen.valueOf(src) = at
	}
}

// hostTrust is what a line of src is worth that its envelope makes that trusted.
func (a *account) hostTrust(src ingest.Source, trust ingest.Trust) ingest.Trust {
	switch {
	case src.Host():
		a.provenance.addMore(claimsHost)
		return min(trust, a.provenance.hostTrust())
	case src == ingest.Unknown:
		return ingest.Claimed
	}
	return trust
}

// coverSource takes note that src wrote at that time, in that boot of that node.
func (a *account) coverSource(k spanKey, src ingest.Source, trust ingest.Trust, at time.Time) {
	s := a.spanFor(k)
	if s == nil {
		return
	}
	if !at.IsZero() {
		s.from, s.to = widenTo(s.from, s.to, at)
	}
	if best := s.trust.valueOf(src); *best < trust {
		*best = trust
	}
}

// notePod takes note of a pod that kubectl's text tells of.
func (a *account) notePod(k podKey) {
	if a.pods == nil {
		a.pods = make(map[podKey]bool)
	}
	if k.pod != "" && len(a.pods) < maxStreams {
		a.pods[k] = true
	}
}

// spanFor returns that of k, nil once there are too many.
func (a *account) spanFor(k spanKey) *spanOf {
	if a.last != nil && a.last.spanKey == k {
		return a.last
	}
	s := a.spans[k]
	if s == nil {
		if len(a.spans) >= maxSpans {
			return nil
		}
		if a.spans == nil {
			a.spans = make(map[spanKey]*spanOf)
		}
		s = &spanOf{spanKey: k}
		a.spans[k] = s
	}
	a.last = s
	return s
}

// noteGap notes what a program of the host's says of lines that it lost.
func (a *account) noteGap(d *draft, text string) {
	if d.unidentified || len(a.gaps) >= maxSpans {
		return
	}
	for _, src := range logtext.LostBy(d.Source, d.Unit, text) {
		by := d.Unit
		switch d.Source {
		case ingest.Systemd:
			by = "journald"
		case ingest.Kernel:
			by = "the kernel"
		}
		e := ingest.Entry{Source: src, Trust: d.Trust, Cluster: d.Cluster, Node: d.Node, Boot: d.Boot, Line: d.Line}
		e.Mark = &ingest.Mark{Kind: ingest.Gap, From: a.lossBegan(src), To: d.At,
			Why: by + ": " + logtext.Brief(text, 256)}
		a.gaps = append(a.gaps, e)
	}
}

// lossBegan is the earliest that records of src can have been dropped: after
// its last one, however much others said since.
func (a *account) lossBegan(src ingest.Source) time.Time {
	if at := a.lastSeen.lookUp(src); at != nil {
		return *at
	}
	return a.clock.Last
}

// bySource has a value for each source that was met, of which there are few.
type bySource[T any] []struct {
	source ingest.Source
	value  T
}

// lookUp returns the value of src, nil if it was not met.
func (b bySource[T]) lookUp(src ingest.Source) *T {
	for i := range b {
		if b[i].source == src {
			return &b[i].value
		}
	}
	return nil
}

// valueOf returns the value of src, which is met now.
func (b *bySource[T]) valueOf(src ingest.Source) *T {
	if v := b.lookUp(src); v != nil {
		return v
	}
	*b = append(*b, struct {
		source ingest.Source
		value  T
	}{source: src})
	return &(*b)[len(*b)-1].value
}
