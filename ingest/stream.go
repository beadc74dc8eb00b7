package ingest

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxStreams bounds how many containers one document keeps apart.
const maxStreams = 4096

// streamKey is what a line's envelope says about the container it is from.
type streamKey struct{ cluster, namespace, pod, uid, container, id string }

// stream is the output of one container.
type stream struct {
	streamKey
	source   Source
	trust    Trust
	listens  bool // named like a listener: its first structured line decides
	lines    int
	from, to time.Time
	parts    [2]part // lines that the runtime split, of each output
}

// maxJoined is how much of a split line is kept: what an entry holds, and a
// character more, which says that there was more.
const maxJoined = MaxText + utf8.UTFMax

// part is what is known of a line whose end has not come yet.
type part struct {
	text []byte
	at   draft
	cut  int
}

// begun is how many bytes the lines take whose ends have not come yet.
func (s *stream) begun() int { return cap(s.parts[0].text) + cap(s.parts[1].text) }

// newStream says what the container runs: a controller where the operator
// named the pod as one, else what its names make likely.
func (d Document) newStream(k streamKey) *stream {
	s := &stream{streamKey: k, source: Job}
	named := d.Controller != nil && k.pod != "" && d.Controller(k.namespace, k.pod)
	listener := strings.Contains(k.pod, "listener") || k.container == "listener"
	switch {
	case named && !listener:
		s.source, s.trust = Controller, Attested
	case k.container == "runner":
		s.source = Runner
	case strings.Contains(k.pod, "-runner-") && !named:
	case listener:
		s.listens = true
	case strings.Contains(k.pod, "controller") || strings.Contains(k.pod, "manager") || k.container == "manager":
		s.source = Controller
		if controllerContainers[k.container] {
			s.trust = Attested
		}
	}
	return s
}

// controllerContainers are the names that controllers give their own container;
// a pod's name alone can be anybody's choice.
var controllerContainers = map[string]bool{"manager": true, "controller": true, "": true}

// stream returns the stream of k, one for all once there are too many.
func (r *reader) stream(k streamKey) *stream {
	s := r.streams[k]
	if s == nil {
		if len(r.streams) >= maxStreams {
			k = streamKey{}
			if s = r.streams[k]; s != nil {
				return s
			}
		}
		s = r.doc.newStream(k)
		r.streams[k] = s
	}
	return s
}

// ordered are the document's streams in an order that does not depend on chance.
func (r *reader) ordered() []*stream {
	if r.main == nil && len(r.streams) == 0 {
		return nil
	}
	all := make([]*stream, 0, len(r.streams)+1)
	if r.main != nil {
		all = append(all, r.main)
	}
	for _, s := range r.streams {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pod, b.pod),
			cmp.Compare(a.container, b.container),
			cmp.Compare(a.uid, b.uid), cmp.Compare(a.id, b.id))
	})
	return all
}

const (
	podName = `[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?`
	podUID  = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}`
)

var (
	// podsPath: /var/log/pods/NAMESPACE_POD_UID/CONTAINER/RESTARTS.log, its
	// rotated forms too. kubelet, since 1.14.
	podsPath = regexp.MustCompile(`(?:^|/)(` + podName + `)_(` + podName + `)_(` + podUID + `)/([^/]+)/\d+\.log[^/]*$`)
	// containersPath: /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
	containersPath = regexp.MustCompile(`^(` + podName + `)_(` + podName + `)_(.+)-([0-9a-f]{64})\.log`)
	// dockerPath: /var/lib/docker/containers/ID/ID-json.log
	dockerPath = regexp.MustCompile(`^([0-9a-f]{64})-json\.log`)
	// clusterDump: kubectl cluster-info dump writes NAMESPACE/POD/logs.txt
	clusterDump = regexp.MustCompile(`(?:^|/)(` + podName + `)/(` + podName + `)/logs\.txt$`)
)

// streamOfPath is the container whose output a file with the document's name
// is, nil if the name does not say.
func (d Document) streamOfPath() *stream {
	name := d.Name
	if m := podsPath.FindStringSubmatch(name); m != nil {
		return d.newStream(streamKey{namespace: m[1], pod: m[2], uid: m[3], container: brief(m[4], 253)})
	}
	base := path.Base(name)
	if m := containersPath.FindStringSubmatch(base); m != nil {
		return d.newStream(streamKey{namespace: m[2], pod: m[1], container: brief(m[3], 253), id: m[4]})
	}
	if m := dockerPath.FindStringSubmatch(base); m != nil {
		return d.newStream(streamKey{id: m[1]})
	}
	if m := clusterDump.FindStringSubmatch(name); m != nil {
		return d.newStream(streamKey{namespace: m[1], pod: m[2]})
	}
	return nil
}

// programOfName is the program whose log a file of this name seems to be; its
// lines have to prove it. Names of runners and of nodes say nothing sure.
func programOfName(name string) Source {
	base := strings.ToLower(path.Base(name))
	if strings.Contains(base, "-runner-") || strings.HasPrefix(base, "runner.") {
		return Unknown
	}
	words := strings.FieldsFunc(base, func(c rune) bool { return c < 'a' || c > 'z' })
	for _, p := range programWords {
		if slices.Contains(words, p.word) {
			return p.src
		}
	}
	return Unknown
}

var programWords = []struct {
	word string
	src  Source
}{{"listener", Listener}, {"controller", Controller}, {"manager", Controller}, {"kubelet", Kubelet}, {"containerd", Containerd}}

// JobsPlace says whether a document comes from a folder that a runner's own user
// writes to: a job can put any file there.
func JobsPlace(name string) bool { return jobsPlace.MatchString(name) }

var jobsPlace = regexp.MustCompile(`(^|/)(_diag|_work|_temp|pages|blocks)/`)

// outputOfName says whether a file of this name seems to hold what a runner or
// a job printed: whatever else it looks like, such a file proves nothing.
func outputOfName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(path.Base(name)), func(c rune) bool { return c < 'a' || c > 'z' })
	return slices.ContainsFunc(words, func(w string) bool { return outputWords[w] }) &&
		!slices.ContainsFunc(words, func(w string) bool { return hostWords[w] })
}

var outputWords = map[string]bool{
	"runner": true, "runners": true, "job": true, "jobs": true, "stdout": true, "stderr": true, "build": true, "step": true,
	"steps": true, "workflow": true, "output": true, "console": true,
}

var hostWords = map[string]bool{
	"controller": true, "manager": true, "listener": true, "kubelet": true, "containerd": true, "journal": true, "kernel": true,
	"dmesg": true, "syslog": true, "node": true, "host": true, "events": true, "describe": true, "pod": true, "pods": true,
}

// preview looks for what only a runner prints in the head of the stream, so
// that its first lines are the runner's too.
func (s *stream) preview(head []byte) {
	for line := range bytes.Lines(head) {
		text := string(line)
		if i := bytes.Index(line[:min(len(line), 60)], []byte(" F ")); i > 0 {
			text = string(line[i+3:])
		}
		if actionsShaped(strings.TrimSpace(text)) {
			s.source, s.trust, s.listens = Runner, Claimed, false
			return
		}
	}
}

// fromStream yields one line of a container's output.
func (r *reader) fromStream(d *draft, text string) {
	s := d.stream
	if s.source != Runner && (d.wraps&running != 0 || actionsShaped(text)) {
		s.source, s.trust, s.listens = Runner, Claimed, false
	}
	if s.listens {
		if src, _ := shapeOf(text); src == Listener || src == Controller || structuredShape(text) {
			s.source, s.trust, s.listens = Listener, Attested, false
		}
	}
	d.Source, d.Trust = s.source, s.trust
	r.inStream(d, text)
	d.Namespace, d.Pod, d.PodUID, d.Container, d.ContainerID = s.namespace, s.pod, s.uid, s.container, s.id
	r.emit(d, text)
}

// inStream sets what depends on how the line was tied to its stream.
func (r *reader) inStream(d *draft, text string) {
	s := d.stream
	if s.pod == "" && s.id == "" { // a container's line, but nobody knows which container's
		d.Trust = Claimed
		if src, _ := shapeOf(text); s.source == Job && (src == Controller || src == Listener) {
			d.Source = src
		}
	}
	if d.Clock == NoClock && s.source != Runner && s.source != Job {
		if _, st := shapeOf(text); st.size > 0 {
			r.times.put(&d.Entry, st)
		}
	}
	r.taint.streams = r.taint.streams || s != r.main && d.wraps&shipped == 0
	if s != r.main && d.Trust == Attested && d.wraps&shipped == 0 {
		r.taint.claimedProgram = true
		d.Trust = r.taint.programTrust()
	}
	s.lines++
	if !d.At.IsZero() {
		s.from, s.to = span(s.from, s.to, d.At)
	}
}

// span widens from..to to hold at.
func span(from, to, at time.Time) (time.Time, time.Time) {
	if from.IsZero() || at.Before(from) {
		from = at
	}
	if at.After(to) {
		to = at
	}
	return from, to
}

// peelCRI: `2026-05-04T10:00:00.123456789Z stdout F text`, the log files of
// containerd and CRI-O. A line that the runtime split has P until its end.
func peelCRI(r *reader, d *draft, s string) (string, bool) {
	st, ok := isoStamp(s)
	if !ok || len(s) < st.size+10 || !strings.HasPrefix(s[st.size:], " std") || st.zone == nil {
		return s, false
	}
	rest := s[st.size+1:]
	if !strings.HasPrefix(rest, "stdout ") && !strings.HasPrefix(rest, "stderr ") {
		return s, false
	}
	tag, i := nextWord(rest, 7)
	full := tag == "F" || strings.HasPrefix(tag, "F:")
	if !full && tag != "P" && !strings.HasPrefix(tag, "P:") {
		return s, false
	}
	r.times.put(&d.Entry, st)
	if d.stream == nil {
		d.stream = r.main
	}
	if d.stream == nil {
		d.stream = r.stream(streamKey{})
	}
	output := 0
	if rest[3] == 'e' { // stderr: the runtime interleaves the two
		output = 1
	}
	return r.join(d, output, strings.TrimPrefix(rest[i:], " "), full), true
}

// join collects the parts of a split line of one output.
func (r *reader) join(d *draft, output int, text string, full bool) string {
	p := &d.stream.parts[output]
	if full && len(p.text) == 0 {
		return text
	}
	if len(p.text) == 0 {
		p.at = *d
	}
	room := min(len(text), maxJoined-len(p.text))
	p.text = append(p.text, text[:room]...)
	p.cut += len(text) - room
	if !full {
		d.swallowed = true
		return ""
	}
	text = string(p.text)
	d.Cut += p.cut
	p.text, p.cut = p.text[:0], 0
	if cap(p.text) > 4*MaxText {
		p.text = nil
	}
	return text
}

// flushPart yields the lines whose ends never came.
func (r *reader) flushPart(s *stream) {
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.text) == 0 {
			continue
		}
		d := p.at
		d.Cut += p.cut
		text := clean(trimNewline(string(p.text)))
		p.text = nil
		r.fromStream(&d, text)
	}
}

// peelPrefix: `[pod/NAME/CONTAINER] text`, kubectl logs --prefix, since 1.17.
func peelPrefix(r *reader, d *draft, s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "[pod/")
	if !ok {
		return s, false
	}
	id, text, ok := strings.Cut(rest, "]")
	pod, container, both := strings.Cut(id, "/")
	if !ok || !both || !dnsName(pod) || !dnsName(container) {
		return s, false
	}
	d.stream = r.stream(streamKey{pod: pod, container: container})
	return strings.TrimPrefix(text, " "), true
}

// peelStern: `pod container text`, with -A `namespace pod container text`, and
// the lines that announce a container, `+ pod › container`. docker compose
// writes `container  | text`.
func peelStern(r *reader, d *draft, s string) (string, bool) {
	if s[0] == '+' || s[0] == '-' {
		return r.announced(d, s)
	}
	a, i := nextWord(s, 0)
	b, j := nextWord(s, i)
	if !dnsName(a) || i == len(s) {
		return s, false
	}
	if b == "|" && j < len(s) && (r.streams[streamKey{container: a}] != nil || r.tells(s[j+1:])) {
		d.stream = r.stream(streamKey{container: a})
		return strings.TrimPrefix(s[j:], " "), true
	}
	if rest := strings.TrimLeft(s[i:], " "); r.streams[streamKey{container: a}] != nil || actionsShaped(rest) {
		d.stream = r.stream(streamKey{container: a})
		return rest, true
	}
	if j == len(s) || !dnsName(b) || len(s)-j < 2 {
		return s, false
	}
	if k := (streamKey{pod: a, container: b}); r.streams[k] != nil || strings.Contains(a, "-") && r.tells(s[j+1:]) {
		d.stream = r.stream(k)
		return s[j+1:], true
	}
	c, k := nextWord(s, j)
	key := streamKey{namespace: a, pod: b, container: c}
	if k < len(s) && dnsName(c) && (r.streams[key] != nil || strings.Contains(b, "-") && r.tells(s[k+1:])) {
		d.stream = r.stream(key)
		return s[k+1:], true
	}
	return s, false
}

// announced reads stern's `+ namespace pod › container`; `-` ends it.
func (r *reader) announced(d *draft, s string) (string, bool) {
	names, container, ok := strings.Cut(s[1:], "›")
	w := strings.Fields(names)
	container = strings.TrimSpace(container)
	if !ok || len(w) == 0 || len(w) > 2 || !dnsName(container) || !dnsName(w[len(w)-1]) {
		return s, false
	}
	k := streamKey{pod: w[len(w)-1], container: container}
	if len(w) == 2 {
		k.namespace = w[0]
	}
	r.stream(k)
	d.swallowed = true
	return "", true
}

// tells says whether a text is so clearly a log line that the words before it
// must be its stream's name.
func (r *reader) tells(s string) bool {
	s = strings.TrimLeft(s, " ")
	if _, ok := isoStamp(s); ok {
		return true
	}
	return actionsShaped(s) || structuredShape(s)
}

// dnsName says whether s can be the name of a pod or a container.
func dnsName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c-'a' >= 26 && !digit(c) && (c != '-' && c != '.' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}
