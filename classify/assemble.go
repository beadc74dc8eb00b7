package classify

import (
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// caseFiles are the cases of one record.
type caseFiles struct {
	named   []*rules.Case
	unnamed []*rules.Case // of each cluster: text that names nobody, and what struck a whole node
}

// assembler builds the cases.
type assembler struct {
	record *Record
	roster *Roster
	cases  map[*Pod]*rules.Case

	wanted    []*Pod               // those who get a case: who is anonymous, and who is asked for
	near      map[inCluster][]*Pod // node -> those of them that can be on it
	strangers map[*Pod]int         // lines about its node that each case holds

	nobodys []*rules.Signal // lines of the node about a container that nothing ties to a pod

	clusters   []string        // that the record speaks of
	home, anon map[string]*Pod // of each cluster: whose text without a name is, and who stands for nobody
	pods       map[string]int  // how many each cluster has
}

func assemble(r *Record, o Options) *caseFiles {
	a := &assembler{
		record: r, roster: NewRoster(), cases: map[*Pod]*rules.Case{}, strangers: map[*Pod]int{},
		near: map[inCluster][]*Pod{}, clusters: r.clusters(), home: map[string]*Pod{}, anon: map[string]*Pod{},
		pods: map[string]int{},
	}
	a.roster.learn(r.Signals)
	a.streams()
	for _, cluster := range a.clusters {
		a.anon[cluster] = &Pod{Cluster: cluster, anonymous: true}
	}
	if !o.Strict {
		a.onlyNodes()
	}
	chosen := a.choose(o)
	a.homes(chosen, o)
	a.open()
	a.attribute()
	a.cover()
	files := &caseFiles{}
	for _, cluster := range a.clusters {
		files.unnamed = append(files.unnamed, a.cases[a.anon[cluster]])
	}
	for _, p := range chosen {
		files.named = append(files.named, a.cases[p])
	}
	return files
}

// streams adds pods that are known only because their log was read.
func (a *assembler) streams() {
	for i := range a.record.Marks {
		m := &a.record.Marks[i]
		if m.Pod == "" && m.PodUID == "" {
			continue
		}
		s := &rules.Signal{Def: rules.LastWords, Source: m.Source, Trust: m.Trust, At: m.Mark.From,
			Cluster: m.Cluster, Namespace: m.Namespace, Pod: m.Pod, PodUID: m.PodUID,
			Container: m.Container, ContainerID: m.ContainerID, Node: m.Node}
		if s.PodUID != "" {
			a.roster.learnUIDs([]*rules.Signal{s}, trusted(s))
		} else {
			a.roster.learnNames(s)
		}
	}
}

// onlyNodes gives records without a host the only host that was named in their
// cluster.
func (a *assembler) onlyNodes() {
	only, several := map[string]string{}, map[string]bool{}
	for _, s := range a.record.Signals {
		was := only[s.Cluster]
		several[s.Cluster] = several[s.Cluster] || was != "" && !sameNode(was, s.Node)
		only[s.Cluster] = first(was, s.Node)
	}
	for _, p := range a.roster.pods {
		if p.Node == "" && !several[p.Cluster] {
			p.Node, p.nodeGuessed = only[p.Cluster], true
		}
	}
	for cluster, p := range a.anon {
		if !several[cluster] {
			p.Node = only[cluster]
		}
	}
}

// choose picks the pods that are asked for. A name that the input does not
// know gets a pod of its own, so that unnamed text can be its.
func (a *assembler) choose(o Options) []*Pod {
	if o.Runner == "" {
		return a.roster.pods
	}
	match := func(f func(p *Pod) bool) (out []*Pod) {
		for _, p := range a.roster.pods {
			if f(p) {
				out = append(out, p)
			}
		}
		return out
	}
	ns, name, qualified := strings.Cut(o.Runner, "/")
	if !qualified {
		ns, name = "", o.Runner
	}
	in := func(p *Pod) bool { return ns == "" || p.Namespace == "" || p.Namespace == ns }
	if exact := match(func(p *Pod) bool { return p.Name == name && in(p) || p.UID == name }); exact != nil {
		return exact
	}
	if prefix := match(func(p *Pod) bool {
		return strings.HasPrefix(p.Name, name) && in(p) || strings.HasPrefix(p.UID, name)
	}); prefix != nil {
		return prefix
	}
	return a.unknown(ns, name)
}

// unknown is a pod of that name in each cluster.
func (a *assembler) unknown(namespace, name string) (out []*Pod) {
	for _, cluster := range a.clusters {
		p := &Pod{Cluster: cluster, Namespace: namespace, Name: name, Node: a.anon[cluster].Node}
		out = append(out, a.roster.add(p))
	}
	return out
}

// homes decides for each cluster whose text without a name is: the runner's that
// was asked for, or the only pod's that there is.
func (a *assembler) homes(chosen []*Pod, o Options) {
	for _, p := range a.roster.pods {
		a.pods[p.Cluster]++
	}
	asked := map[string]int{}
	for _, p := range chosen {
		asked[p.Cluster]++
		a.home[p.Cluster] = p
	}
	for _, cluster := range a.clusters {
		if o.Strict || asked[cluster] != 1 || o.Runner == "" && a.pods[cluster] != 1 {
			a.home[cluster] = a.anon[cluster]
		}
		a.wanted = append(a.wanted, a.anon[cluster])
	}
	a.wanted = append(a.wanted, chosen...)
}

func (a *assembler) open() {
	for _, p := range a.wanted {
		a.cases[p] = &rules.Case{Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node,
			Containers: p.Containers, Sandboxes: p.Sandboxes}
	}
}

// attribute gives every signal to the pods that it is about, and what concerns
// a node to every pod on it.
func (a *assembler) attribute() {
	for i := range a.record.Signals {
		s := a.record.Signals[i]
		mine, proven := a.owners(s)
		if s.Source.Host() && (mine == nil && a.onlyID(s) || s.Masked && slices.Equal(mine, []*Pod{a.anon[s.Cluster]})) {
			a.nobodys = append(a.nobodys, s)
		}
		for _, p := range mine {
			a.give(p, s, true, proven)
		}
		if s.Def.Reach == rules.ReachNode {
			a.giveNode(s, mine)
		}
	}
}

// onlyID says whether a line names its pod by a container's id alone.
func (a *assembler) onlyID(s *rules.Signal) bool {
	n := a.roster.namesOf(s)
	return len(n.ids) > 0 && n.name == "" && n.uid == ""
}

func (a *assembler) owners(s *rules.Signal) ([]*Pod, bool) {
	if p, proven := a.roster.Attribute(s); p != nil {
		return []*Pod{p}, proven
	}
	if several := a.roster.Named(s); several != nil {
		return several, s.Proven()
	}
	if s.Def.Reach == rules.ReachNode || !a.nameless(s) {
		return nil, false
	}
	return []*Pod{a.ownerOfNameless(s)}, false
}

// ownerOfNameless gives text without a name to the pod that is asked for, but
// a program that speaks of many pods only if there is no other.
func (a *assembler) ownerOfNameless(s *rules.Signal) *Pod {
	aboutMany := !s.Source.Forgeable() && s.Source != ingest.Kube || strings.HasPrefix(s.Str("object"), "Node/")
	if aboutMany && a.pods[s.Cluster] > 1 {
		return a.anon[s.Cluster]
	}
	return a.home[s.Cluster]
}

// nameless says whether a signal names nobody at all.
func (a *assembler) nameless(s *rules.Signal) bool {
	n := a.roster.namesOf(s)
	return n.strong() == 0
}

func (a *assembler) give(p *Pod, s *rules.Signal, mine, proven bool) {
	c := a.cases[p]
	if c == nil { // nobody asked for it
		return
	}
	c.Evidence = append(c.Evidence, rules.Evidence{Signal: s, Mine: mine, Proven: proven})
}

// nodeBefore and nodeAfter bound which node events are of interest to a pod.
const (
	nodeBefore = 10 * time.Minute
	nodeAfter  = 5 * time.Minute
)

// around says whether a time is one in which what happens on its node is of
// interest to the pod; one that is not known is.
func (p *Pod) around(at time.Time) bool {
	return p.First.IsZero() || at.IsZero() || !at.Before(p.First.Add(-nodeBefore)) && !at.After(p.Last.Add(nodeAfter))
}

// foreign is how many lines about its node one case keeps: the nearest to its
// end.
const foreign = 48

func (a *assembler) giveNode(s *rules.Signal, mine []*Pod) {
	for _, p := range a.on(inCluster{s.Cluster, s.Node}) {
		if slices.Contains(mine, p) {
			continue
		}
		if !p.around(s.At) {
			continue
		}
		a.give(p, s, false, s.Proven() && (p.anonymous || p.Node != "" && s.Node != "" && !p.nodeGuessed))
		a.trim(p)
	}
}

// on returns the pods with a case that can be on a node, looked up once for each.
func (a *assembler) on(node inCluster) []*Pod {
	if _, known := a.near[node]; !known {
		elsewhere := func(p *Pod) bool { return p.Cluster != node.cluster || !sameNode(p.Node, node.name) }
		a.near[node] = slices.DeleteFunc(slices.Clone(a.wanted), elsewhere)
	}
	return a.near[node]
}

// trim drops the foreign line that is farthest from the pod's end once there
// are twice too many, so that the cost stays small for each.
func (a *assembler) trim(p *Pod) {
	c := a.cases[p]
	if a.strangers[p]++; p.anonymous || a.strangers[p] < 2*foreign {
		return
	}
	var far []time.Duration
	for _, e := range c.Evidence {
		if !e.Mine {
			far = append(far, distance(p, e.At))
		}
	}
	slices.Sort(far)
	kept := 0
	c.Evidence = slices.DeleteFunc(c.Evidence, func(e rules.Evidence) bool {
		if e.Mine {
			return false
		}
		kept++
		return distance(p, e.At) > far[foreign-1] || kept > foreign+8
	})
	a.strangers[p] = foreign
}

func distance(p *Pod, at time.Time) time.Duration {
	if p.Last.IsZero() || at.IsZero() {
		return 0
	}
	return p.Last.Sub(at).Abs()
}
