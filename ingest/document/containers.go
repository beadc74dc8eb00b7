package document

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// maxStreams bounds how many containers one document keeps apart.
const maxStreams = 4096

// containers are those whose output is in the document.
type containers struct {
	r    *reader
	main *stream // whose output the whole document is, by its path; nil: nobody's
	all  map[ingest.Container]*stream
}

// stream is the output of one container.
type stream struct {
	ingest.Container
	source   ingest.Source
	trust    ingest.Trust
	listens  bool // named like a listener: its first structured line decides
	lines    int
	from, to time.Time
	parts    [2]part // lines that the runtime split, of each output
}

// maxJoined is how much of a split line is kept: what an entry holds, and a
// character more, which says that there was more.
const maxJoined = ingest.MaxText + utf8.UTFMax

// part is what is known of a line whose end has not come yet.
type part struct {
	text []byte
	at   draft
	cut  int
}

// sizeBegun is how many bytes the lines take whose ends have not come yet.
func (s *stream) sizeBegun() int { return cap(s.parts[0].text) + cap(s.parts[1].text) }

// newStream says what the container runs: a controller where the operator
// named the pod as one, else what its names make likely.
func (d Document) newStream(k ingest.Container) *stream {
	s := &stream{Container: k, source: ingest.Job}
	named := d.Controller != nil && k.Pod != "" && d.Controller(k.Namespace, k.Pod)
	listener := strings.Contains(k.Pod, "listener") || k.Name == "listener"
	switch {
	case named && !listener:
		s.source, s.trust = ingest.Controller, ingest.Attested
	case k.Name == "runner":
		s.source = ingest.Runner
	case strings.Contains(k.Pod, "-runner-") && k.Name != "manager" && k.Name != "listener" && !named:
	case listener:
		s.listens = true
	case strings.Contains(k.Pod, "controller") || strings.Contains(k.Pod, "manager") || k.Name == "manager":
		s.source = ingest.Controller
		if controllerContainers[k.Name] {
			s.trust = ingest.Attested
		}
	}
	return s
}

// controllerContainers are the names that controllers give their own container;
// a pod's name alone can be anybody's choice.
var controllerContainers = map[string]bool{"manager": true, "controller": true, "": true}

// streamOf returns the stream of k, one for all once there are too many.
func (c *containers) streamOf(k ingest.Container) *stream {
	s := c.all[k]
	if s == nil {
		if len(c.all) >= maxStreams {
			k = ingest.Container{}
			if s = c.all[k]; s != nil {
				return s
			}
		}
		s = c.r.doc.newStream(k)
		c.all[k] = s
	}
	return s
}

// inOrder are the document's streams in an order that does not depend on chance.
func (c *containers) inOrder() []*stream {
	if c.main == nil && len(c.all) == 0 {
		return nil
	}
	all := make([]*stream, 0, len(c.all)+1)
	if c.main != nil {
		all = append(all, c.main)
	}
	for _, s := range c.all {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Pod, b.Pod),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// streamOfPath is the container whose output a file with the document's name
// is, nil if the name does not say.
func (d Document) streamOfPath() *stream {
	k, ok := ingest.ContainerOfPath(d.Name)
	if !ok {
		return nil
	}
	k.Name = logtext.Brief(k.Name, 253)
	return d.newStream(k)
}

// previewHead looks for what only a runner prints in the head of the stream, so
// that its first lines are the runner's too.
func (s *stream) previewHead(head []byte) {
	for line := range bytes.Lines(head) {
		text := string(line)
		if i := bytes.Index(line[:min(len(line), 60)], []byte(" F ")); i > 0 {
			text = string(line[i+3:])
		}
		if logtext.IsActionsRunner(strings.TrimSpace(text)) {
			s.source, s.trust, s.listens = ingest.Runner, ingest.Claimed, false
			return
		}
	}
}

// yieldLine yields one line of a container's output.
func (c *containers) yieldLine(d *draft, text string) {
	s := d.stream
	if s.source != ingest.Runner && (d.wraps&running != 0 || logtext.IsActionsRunner(text)) {
		s.source, s.trust, s.listens = ingest.Runner, ingest.Claimed, false
	}
	if s.listens {
		if src, _ := logtext.ProgramOf(text); src == ingest.Listener || src == ingest.Controller ||
			logtext.IsStructured(text) {
			s.source, s.trust, s.listens = ingest.Listener, ingest.Attested, false
		}
	}
	d.Source, d.Trust = s.source, s.trust
	c.tieToStream(d, text)
	d.Namespace, d.Pod, d.PodUID, d.Container, d.ContainerID = s.Namespace, s.Pod, s.UID, s.Name, s.ID
	c.r.emitDraft(d, text)
}

// tieToStream sets what depends on how the line was tied to its stream.
func (c *containers) tieToStream(d *draft, text string) {
	s := d.stream
	if s.Pod == "" && s.ID == "" { // a container's line, but nobody knows which container's
		d.Trust = ingest.Claimed
		if src, _ := logtext.ProgramOf(text); s.source == ingest.Job && src != ingest.Unknown {
			d.Source = src
		}
	}
	if d.Clock == ingest.NoClock && s.source != ingest.Runner && s.source != ingest.Job {
		if _, st := logtext.ProgramOf(text); st.Size > 0 {
			c.r.account.clock.Set(&d.Entry, st)
		}
	}
	if s != c.main && d.wraps&shipped == 0 {
		c.r.account.provenance.addMore(prefixed)
	}
	if s != c.main && d.Trust == ingest.Attested && d.wraps&shipped == 0 {
		c.r.account.provenance.addMore(claimsProgram)
		d.Trust = c.r.nameTrust()
	}
	s.lines++
	if !d.At.IsZero() {
		s.from, s.to = widenTo(s.from, s.to, d.At)
	}
}

// widenTo widens from..to to hold at.
func widenTo(from, to, at time.Time) (time.Time, time.Time) {
	if from.IsZero() || at.Before(from) {
		from = at
	}
	if at.After(to) {
		to = at
	}
	return from, to
}
