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
	named      []*rules.Case
	unnamed    *rules.Case // text that names nobody, and what struck a whole node
	ownUnnamed bool        // unnamed holds pod evidence, not only the node's
}

// assembler builds the cases.
type assembler struct {
	record *Record
	roster *Roster
	cases  map[*Pod]*rules.Case

	wanted    []*Pod            // those who get a case: anon, and who is asked for
	near      map[string][]*Pod // node -> those of them that can be on it
	strangers map[*Pod]int      // lines about its node that each case holds

	home *Pod // the pod that text without a name belongs to
	anon *Pod
}

func assemble(r *Record, o Options) *caseFiles {
	a := &assembler{record: r, roster: NewRoster(), cases: map[*Pod]*rules.Case{}, strangers: map[*Pod]int{}, near: map[string][]*Pod{}, anon: &Pod{anonymous: true}}
	a.roster.learn(r.Signals)
	a.streams()
	if !o.Strict {
		a.onlyNode()
	}
	chosen := a.choose(o)
	a.home = a.homeOf(chosen, o)
	a.wanted = append([]*Pod{a.anon}, chosen...)
	a.open()
	a.attribute()
	a.cover()
	files := &caseFiles{unnamed: a.cases[a.anon]}
	for _, p := range chosen {
		if !p.anonymous {
			files.named = append(files.named, a.cases[p])
		}
	}
	files.ownUnnamed = slices.ContainsFunc(files.unnamed.Evidence, func(e rules.Evidence) bool { return e.Mine })
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
			Namespace: m.Namespace, Pod: m.Pod, PodUID: m.PodUID, Container: m.Container, ContainerID: m.ContainerID, Node: m.Node}
		if s.PodUID != "" {
			a.roster.learnUIDs([]*rules.Signal{s}, trusted(s))
		} else {
			a.roster.learnNames(s)
		}
	}
}

// onlyNode gives records without a host the only host that was named.
func (a *assembler) onlyNode() {
	only := ""
	for i := range a.record.Signals {
		n := a.record.Signals[i].Node
		if only != "" && !sameNode(only, n) {
			return
		}
		only = first(only, n)
	}
	for _, p := range a.roster.pods {
		if p.Node == "" {
			p.Node, p.nodeGuessed = only, true
		}
	}
	a.anon.Node = only
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
	return []*Pod{a.roster.add(&Pod{Namespace: ns, Name: name, Node: a.anon.Node})}
}

// homeOf decides whose text without a name is: the runner that was asked for,
// or the only pod that there is.
func (a *assembler) homeOf(chosen []*Pod, o Options) *Pod {
	if !o.Strict && len(chosen) == 1 && (o.Runner != "" || len(a.roster.pods) == 1) {
		return chosen[0]
	}
	return a.anon
}

func (a *assembler) open() {
	for _, p := range a.wanted {
		a.cases[p] = &rules.Case{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node,
			Containers: p.Containers, Sandboxes: p.Sandboxes}
	}
}

// attribute gives every signal to the pods that it is about, and what concerns
// a node to every pod on it.
func (a *assembler) attribute() {
	for i := range a.record.Signals {
		s := a.record.Signals[i]
		mine, proven := a.owners(s)
		for _, p := range mine {
			a.give(p, s, true, proven)
		}
		if s.Def.Reach == rules.ReachNode {
			a.giveNode(s, mine)
		}
	}
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
	if aboutMany && len(a.roster.pods) > 1 {
		return a.anon
	}
	return a.home
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

// foreign is how many lines about its node one case keeps: the nearest to its
// end.
const foreign = 48

func (a *assembler) giveNode(s *rules.Signal, mine []*Pod) {
	for _, p := range a.on(s.Node) {
		if slices.Contains(mine, p) {
			continue
		}
		if !p.First.IsZero() && !s.At.IsZero() && (s.At.Before(p.First.Add(-nodeBefore)) || s.At.After(p.Last.Add(nodeAfter))) {
			continue
		}
		a.give(p, s, false, s.Proven() && (p.anonymous || p.Node != "" && s.Node != "" && !p.nodeGuessed))
		a.trim(p)
	}
}

// on returns the pods with a case that can be on a node, looked up once for each.
func (a *assembler) on(node string) []*Pod {
	if _, known := a.near[node]; !known {
		a.near[node] = slices.DeleteFunc(slices.Clone(a.wanted), func(p *Pod) bool { return !sameNode(p.Node, node) })
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
