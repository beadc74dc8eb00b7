package classify

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/signal"
)

// Pod is one pod, container or microVM that the logs speak of, with all the
// names that were learned for it.
type Pod struct {
	Cluster, Namespace, Name, UID, Node string

	Containers  map[string]string // container id -> container name, "" if not known
	Sandboxes   map[string]bool
	First, Last time.Time // first and last time it was heard of

	heard [clocks]time.Time // the same by whose clock, by records that have its UID or a container's id
	made  [clocks]moment    // when it was made

	known       knowledge
	runner      bool // a trusted record that names its namespace says that it is a runner
	nodeGuessed bool // nothing said that it was on Node
	anonymous   bool // stands for text that names nobody
}

// knowledge is what trusted records know of a pod.
type knowledge int

const (
	notKnown   knowledge = iota
	knownName            // that the UID belongs to the name is no more than a claim
	knownWhole           // its name and its UID, where it has both, belong together
)

// vouch takes note that a record with these names tells of the pod.
func (p *Pod) vouch(n names, trusted bool) {
	switch {
	case !trusted:
		p.known = notKnown
	case p.known == notKnown && p.UID != "" && n.uid == "":
		p.known = knownName
	default:
		p.known = knownWhole
	}
}

// Roster is who is who: pod UID, container id, sandbox id, process id and name
// of every pod. It is learned from signals and never forgets. A name means
// something only within its cluster: every key has one.
type Roster struct {
	pods   []*Pod
	byUID  map[inCluster]*Pod
	byID   map[inCluster]tie // container and sandbox ids
	byName map[inCluster][]*Pod
	pids   map[inCluster][]pidSeen
	docs   map[inCluster]string   // document -> runner name that it gives itself
	void   map[inCluster]bool     // UIDs that several pods share
	ages   map[*Pod]time.Duration // by the youngest rows of kubectl get pods

	printed printed // what jobs wrote names nobody

	names map[*signal.Signal]names // of the signals that it learns from: they are asked for again and again
}

// inCluster is a name of some kind in its cluster.
type inCluster struct{ cluster, name string }

func (a inCluster) compare(b inCluster) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.name, b.name))
}

type tie struct {
	pod    *Pod
	proven bool
}

type pidSeen struct {
	node string
	at   time.Time
	pod  *Pod
}

// pidLife is how long a process id means the same process.
const pidLife = 10 * time.Second

// NewRoster returns an empty roster.
func NewRoster() *Roster {
	return &Roster{byUID: map[inCluster]*Pod{}, byID: map[inCluster]tie{}, byName: map[inCluster][]*Pod{},
		pids: map[inCluster][]pidSeen{}, docs: map[inCluster]string{}}
}

// names are all the identities in one signal, its stream's included.
type names struct {
	cluster, namespace, name, uid string

	ids       []string // container and sandbox ids
	sandboxes []string // those that are a sandbox's
	pid       string
	several   bool // it speaks of a list of pods
	anyUID    bool // what stood for the UID can be any pod's
}

// all are the names that tie a signal to others.
func (n *names) all() []string { return append([]string{n.name, n.uid}, n.ids...) }

// namesOf reads the identities of a signal. What a job can write speaks only
// about the pod whose stream it stands in.
func (r *Roster) namesOf(s *signal.Signal) names {
	if n, ok := r.names[s]; ok {
		return n
	}
	n := names{cluster: s.Cluster}
	switch printed := r.printed.has(s); {
	case printed:
	case s.Source == ingest.Kube:
		n.addStream(s) // an object's own name stands before what is said in it
		n.captured(s)
	case !s.Source.Forgeable():
		n.captured(s)
	}
	if n.namesNothing() && !r.printed.has(s) && !s.Source.TellsOfOthers() {
		n.addStream(s)
	}
	if n.uid != "" && (signal.MasksUID(n.uid) || r.void[n.in(n.uid)]) {
		n.uid, n.anyUID = "", true
	}
	if n.namesNothing() && s.Doc != "" {
		n.name = r.docs[inCluster{s.Cluster, s.Doc}]
	}
	return n
}

func (n *names) addStream(s *signal.Signal) {
	n.namespace, n.name, n.uid = s.Namespace, s.Pod, s.PodUID
	if s.ContainerID != "" {
		n.ids = append(n.ids, s.ContainerID)
	}
}

func (n *names) captured(s *signal.Signal) {
	for _, id := range s.Identities() {
		switch id.Kind {
		case signal.IDPod, signal.IDRunner:
			n.addName(id.Value)
		case signal.IDUID:
			n.uid = firstSet(n.uid, id.Value)
		case signal.IDContainer, signal.IDSandbox:
			n.ids = append(n.ids, id.Value)
			if id.Kind == signal.IDSandbox {
				n.sandboxes = append(n.sandboxes, id.Value)
			}
		case signal.IDPID:
			n.pid = id.Value
		}
	}
	if ns := s.Str("namespace"); ns != "" && n.namespace == "" {
		n.namespace = ns
	}
}

func (n *names) addName(value string) {
	ns, name, ok := strings.Cut(value, "/")
	if !ok {
		ns, name = "", value
	}
	if n.name != "" && n.name != name {
		n.several = true
		return
	}
	n.name, n.namespace = name, firstSet(n.namespace, ns)
}

// in is another name in the same cluster.
func (n names) in(name string) inCluster { return inCluster{n.cluster, name} }

func (n names) namesNothing() bool {
	return n.name == "" && n.uid == "" && len(n.ids) == 0 && n.pid == ""
}

func (n names) howStrong() int {
	count := len(n.ids)
	if n.uid != "" {
		count++
	}
	if n.name != "" {
		count++
	}
	return count
}

func firstSet(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// learnFrom takes in all signals: trusted ones first, so that a claim can add a
// pod but never change what a trusted record said.
func (r *Roster) learnFrom(signals []*signal.Signal) {
	r.nameDocuments(signals)
	r.nameSignals(signals)
	r.voidUIDs(signals)
	for _, proven := range []bool{true, false} {
		r.learnUIDs(signals, proven)
		for again, round := true, 0; again && round < 4; round++ {
			again = r.learnIDs(signals, proven)
		}
	}
	r.learnBirths(signals)
	for _, proven := range []bool{true, false} {
		for _, s := range signals {
			if mayTeach(s) == proven {
				r.learnNames(s)
			}
		}
	}
	r.learnPIDs(signals)
	r.learnAges(signals)
}

// nameSignals reads the identities of each signal once.
func (r *Roster) nameSignals(signals []*signal.Signal) {
	all := make(map[*signal.Signal]names, len(signals))
	for _, s := range signals {
		all[s] = r.namesOf(s)
	}
	r.names = all
}

// nameDocuments finds the runner name that a runner's log prints of itself.
func (r *Roster) nameDocuments(signals []*signal.Signal) {
	for i := range signals {
		s := signals[i]
		doc := inCluster{s.Cluster, s.Doc}
		if s.Doc == "" || s.Pod != "" || !s.Source.Forgeable() || r.docs[doc] != "" {
			continue
		}
		for _, id := range s.Identities() {
			if id.Kind == signal.IDRunner {
				r.docs[doc] = id.Value
			}
		}
	}
}

// mayTeach says whether a signal may teach the roster as a trusted record. A
// full stream identity comes from the kubelet's directories, not from text.
func mayTeach(s *signal.Signal) bool {
	return s.Proven() || (s.Source.Forgeable() && s.Namespace != "" && s.Pod != "" && s.PodUID != "")
}

func (r *Roster) learnUIDs(signals []*signal.Signal, proven bool) {
	for i := range signals {
		s := signals[i]
		if n := r.namesOf(s); n.uid != "" && mayTeach(s) == proven {
			p := r.byUID[n.in(n.uid)]
			if p == nil {
				p = r.addPod(&Pod{Cluster: n.cluster, UID: n.uid})
				p.vouch(n, proven)
				r.byUID[n.in(n.uid)] = p
			}
			r.describe(p, n, s, proven)
		}
	}
}

// describe adds what a signal says of a pod to it.
func (r *Roster) describe(p *Pod, n names, s *signal.Signal, proven bool) {
	if n.name != "" && p.Name == "" && !n.several {
		p.Name, p.Namespace = n.name, firstSet(n.namespace, p.Namespace)
		p.vouch(n, proven)
		r.byName[n.in(n.name)] = append(r.byName[n.in(n.name)], p)
	}
	if n.name == p.Name {
		p.Namespace = firstSet(p.Namespace, n.namespace)
	}
	for _, id := range n.ids {
		if proven || p.known == notKnown { // a claim gives no container to a pod that trusted records know
			r.bindID(p, id, slices.Contains(n.sandboxes, id), containerName(s, id), proven)
		}
	}
	p.runner = p.runner || s.Proven() && n.namespace != "" && tellsRunner(s)
	if !s.Source.TellsOfOthers() && (!s.Source.Forgeable() || mayTeach(s)) {
		p.Node = firstSet(p.Node, s.Node)
	}
	if node := s.Str(s.Def.Fills["node"]); node != "" && s.Def.Fills["node"] != "" {
		p.Node = firstSet(p.Node, node)
	}
	if !s.At.IsZero() && (p.First.IsZero() || s.At.Before(p.First)) {
		p.First = s.At
	}
	if heard := &p.heard[clockOf(s)]; !s.At.IsZero() && (n.uid != "" || len(n.ids) > 0) &&
		(heard.IsZero() || s.At.Before(*heard)) {
		*heard = s.At
	}
	if s.At.After(p.Last) {
		p.Last = s.At
	}
}

func containerName(s *signal.Signal, id string) string {
	if s.ContainerID == id || s.ContainerID == "" {
		return firstSet(s.Str("container"), s.Container)
	}
	return ""
}

func (r *Roster) bindID(p *Pod, id string, sandbox bool, name string, proven bool) {
	key := inCluster{p.Cluster, id}
	if t, ok := r.byID[key]; ok && t.pod != p {
		return
	}
	r.byID[key] = tie{p, proven || r.byID[key].proven}
	if sandbox {
		p.Sandboxes[id] = true
		delete(p.Containers, id)
		return
	}
	if !p.Sandboxes[id] && (name != "" || p.Containers[id] == "") {
		p.Containers[id] = name
	}
}

// learnIDs ties container ids to pods through records that name two things,
// and says whether it learned anything.
func (r *Roster) learnIDs(signals []*signal.Signal, proven bool) (learned bool) {
	for i := range signals {
		s := signals[i]
		n := r.namesOf(s)
		if n.uid != "" || n.howStrong() < 2 || n.several || mayTeach(s) != proven {
			continue
		}
		p, ok := r.podNamed(n, s)
		if !ok {
			continue
		}
		before := len(p.Containers) + len(p.Sandboxes)
		r.describe(p, n, s, proven && r.tieProven(n))
		learned = learned || len(p.Containers)+len(p.Sandboxes) != before
	}
	return learned
}

// tieProven says whether the way from names to pod is a trusted one.
func (r *Roster) tieProven(n names) bool {
	for _, id := range n.ids {
		if t, ok := r.byID[n.in(id)]; ok {
			return t.proven
		}
	}
	return true
}

// learnNames adds pods that are known by name or by one id only.
func (r *Roster) learnNames(s *signal.Signal) {
	n := r.namesOf(s)
	if n.uid != "" || n.several || n.howStrong() == 0 {
		return
	}
	p, ok := r.podNamed(n, s)
	if !ok {
		p = r.addPod(&Pod{Cluster: n.cluster})
		p.vouch(n, s.Proven())
	}
	if s.Proven() && p.known == notKnown && n.name != "" && n.name == p.Name {
		p.vouch(n, true)
	}
	r.describe(p, n, s, s.Proven())
}

func (r *Roster) learnPIDs(signals []*signal.Signal) {
	for i := range signals {
		s := signals[i]
		n := r.namesOf(s)
		if n.pid == "" || n.howStrong() == 0 {
			continue
		}
		if p, ok := r.podNamed(n, s); ok {
			r.pids[n.in(n.pid)] = append(r.pids[n.in(n.pid)], pidSeen{s.Node, s.At, p})
		}
	}
}

func (r *Roster) addPod(p *Pod) *Pod {
	p.Containers, p.Sandboxes = map[string]string{}, map[string]bool{}
	r.pods = append(r.pods, p)
	return p
}

// fullName is the pod's name with its namespace; of nobody, and without a name, "".
func (p *Pod) fullName() string {
	if p == nil || p.Name == "" {
		return ""
	}
	return strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
}

// podNamed finds the pod that the names in a signal mean.
func (r *Roster) podNamed(n names, s *signal.Signal) (*Pod, bool) {
	if p := r.byUID[n.in(n.uid)]; n.uid != "" && p != nil {
		return p, true
	}
	for _, id := range n.ids {
		if t, ok := r.byID[n.in(id)]; ok {
			return t.pod, true
		}
	}
	if n.name != "" {
		return r.instance(n.in(n.name), n.namespace, s)
	}
	return nil, false
}

// instance finds which pod of a name is meant: names are used again when a
// controller makes the pod anew, and in other namespaces.
func (r *Roster) instance(name inCluster, namespace string, s *signal.Signal) (*Pod, bool) {
	var best *Pod
	at := s.At
	for _, p := range r.podsCalled(name, namespace) {
		switch {
		case p.standing(s) == before:
		case best != nil && p.standing(s) < best.standing(s): // one that had been made is meant
		case best != nil && p.standing(s) > best.standing(s):
			best = p
		case best == nil:
			best = p
		case at.IsZero() || p.First.After(at.Add(2*time.Second)):
		case p.First.After(best.First) || best.First.After(at.Add(2*time.Second)):
			best = p
		}
	}
	return best, best != nil
}

// podsCalled are the pods that a name can mean. Those that only claims know do not
// count beside others. Where pods of several namespaces have the name and it
// comes without one, it means the runners among them, else nobody.
func (r *Roster) podsCalled(name inCluster, namespace string) []*Pod {
	all := slices.DeleteFunc(slices.Clone(r.byName[name]), func(p *Pod) bool {
		return namespace != "" && p.Namespace != "" && p.Namespace != namespace
	})
	if slices.ContainsFunc(all, func(p *Pod) bool { return p.known != notKnown }) {
		all = slices.DeleteFunc(all, func(p *Pod) bool { return p.known == notKnown })
	}
	if namespace == "" && slices.ContainsFunc(all, func(p *Pod) bool { return p.Namespace != all[0].Namespace }) {
		all = slices.DeleteFunc(all, func(p *Pod) bool { return !p.runner })
	}
	return all
}

// byPID finds the pod of a process id that was named close by in time.
func (r *Roster) byPID(n names, node string, at time.Time) (*Pod, bool) {
	for _, seen := range r.pids[n.in(n.pid)] {
		if nodename.Same(seen.node, node) && seen.at.Sub(at).Abs() <= pidLife {
			return seen.pod, true
		}
	}
	return nil, false
}

// Attribute returns the pod that a signal is about, or nil, and whether the
// whole way from line to pod is trusted.
func (r *Roster) Attribute(s *signal.Signal) (p *Pod, proven bool) {
	n := r.namesOf(s)
	if n.several {
		return nil, false
	}
	p, ok := r.podNamed(n, s)
	if !ok && n.pid != "" {
		if p, ok = r.byPID(n, s.Node, s.At); ok {
			return p, s.Proven() && p.known != notKnown
		}
	}
	if !ok {
		return nil, false
	}
	direct := n.uid == p.UID && n.uid != "" && p.known == knownWhole ||
		n.name == p.Name && n.name != "" && r.certain(n, p, s)
	return p, s.Proven() && p.known != notKnown && (direct || len(n.ids) > 0 && r.tieProven(n))
}

// podsIn are the namespaces and names of the pods that a signal names.
func podsIn(s *signal.Signal) iter.Seq2[string, string] {
	return func(yield func(namespace, name string) bool) {
		for _, id := range s.Identities() {
			if id.Kind != signal.IDPod {
				continue
			}
			ns, name, ok := strings.Cut(id.Value, "/")
			if !ok {
				ns, name = "", id.Value
			}
			if !yield(ns, name) {
				return
			}
		}
	}
}

// Named returns the pods of a list in a signal: an eviction names several.
func (r *Roster) Named(s *signal.Signal) (out []*Pod) {
	if s.Source.Forgeable() {
		return nil
	}
	for ns, name := range podsIn(s) {
		if p, ok := r.instance(inCluster{s.Cluster, name}, ns, s); ok && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
