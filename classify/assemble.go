package classify

import (
	"slices"
	"strings"
	"time"

	"coroner/classify/machines"
	"coroner/classify/nearby"
	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// caseFiles are the cases of one record.
type caseFiles struct {
	named    []*casefile.Case
	standing []*casefile.Case
	jobPods  []jobPod         // what works for the named
	left     bool             // other pods live, of which nothing else was read
	unnamed  []*casefile.Case // of each cluster: text that names nobody, and what struck a whole node
}

// hasPools says whether pools were spoken of.
func (f *caseFiles) hasPools() bool {
	return slices.ContainsFunc(f.standing, func(c *casefile.Case) bool { return c.Kind == casefile.OfPool })
}

// hasJob says whether a job of that name was spoken of.
func (f *caseFiles) hasJob(name string) bool {
	return name != "" && slices.ContainsFunc(f.standing, func(c *casefile.Case) bool {
		return c.Kind == casefile.OfJob && c.Name == name
	})
}

// assembler builds the cases.
type assembler struct {
	record *Record
	roster *Roster
	cases  map[*Pod]*casefile.Case

	wanted []*Pod                    // those who get a case: who is anonymous, and who is asked for
	mine   map[*Pod][]lineOf         // what is about them
	nodes  *nearby.Lines             // what is about nodes
	others map[*Pod]*machines.Others // logs of other machines that have its node's name

	taken   []*Pod        // of each signal: the pod that is named in it
	nobodys *nearby.Lines // lines of the node about a container that nothing ties to a pod

	jobPods map[*Pod]bool // pods that work for another pod

	stubs map[inCluster][]*Pod // pods that are known by a name and nothing else, by it

	clusters   []string        // that the record speaks of
	home, anon map[string]*Pod // of each cluster: whose text without a name is, and who stands for nobody
	pods       map[string]int  // how many each cluster has
}

func assemble(r *Record, o Options) *caseFiles {
	a := &assembler{
		record: r, roster: NewRoster(), clusters: r.clusters(), mine: map[*Pod][]lineOf{},
		cases: map[*Pod]*casefile.Case{}, nodes: nearby.New(r.Signals), nobodys: nearby.New(r.Signals),
		pods: map[string]int{}, home: map[string]*Pod{}, anon: map[string]*Pod{},
		stubs: map[inCluster][]*Pod{}, jobPods: map[*Pod]bool{},
		others: map[*Pod]*machines.Others{},
	}
	a.roster.printed = r.printed
	a.roster.learnFrom(r.Signals)
	a.addStreams()
	for _, cluster := range a.clusters {
		a.anon[cluster] = &Pod{Cluster: cluster, anonymous: true}
	}
	if !o.Strict {
		a.onlyNodes()
	}
	chosen := a.choosePods(o)
	for _, p := range jobPodsOf(a.roster.pods, a.roster.pods) {
		a.jobPods[p] = true
	}
	a.nameHomes(chosen, o)
	helping := jobPodsOf(chosen, a.roster.pods)
	if o.Runner != "" { // else they are all chosen
		a.wanted = append(a.wanted, without(helping, chosen)...)
	}
	a.openCases()
	a.attribute()
	a.coverCases()
	addLaterEnds(a)
	files := &caseFiles{left: len(r.left) > 0, standing: standingCases(r.Signals)}
	for _, cluster := range a.clusters {
		files.unnamed = append(files.unnamed, a.cases[a.anon[cluster]])
	}
	for _, p := range chosen {
		files.named = append(files.named, a.cases[p])
	}
	for _, p := range helping {
		files.jobPods = append(files.jobPods, jobPod{a.cases[p], runnerOfJobPod(p.Name)})
	}
	return files
}

// addStreams adds pods that are known only because their log was read.
func (a *assembler) addStreams() {
	for _, s := range a.record.streamSignals() {
		if s.PodUID != "" {
			a.roster.learnUIDs([]*signal.Signal{s}, mayTeach(s))
		} else {
			a.roster.learnNames(s)
		}
	}
}

// onlyNodes gives records without a host the only host that was named in their
// cluster.
func (a *assembler) onlyNodes() {
	only, several := map[string]string{}, map[string]bool{}
	named := func(cluster, node string) {
		was := only[cluster]
		several[cluster] = several[cluster] || was != "" && !nodename.Same(was, node)
		only[cluster] = firstSet(was, node)
	}
	for _, s := range a.record.Signals {
		if !a.record.printed.has(s) {
			named(s.Cluster, s.Node)
		}
	}
	for _, p := range a.record.left {
		named(p.Cluster, p.Node)
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

// choosePods picks the pods that are asked for. A name that the input does not
// know gets a pod of its own, so that unnamed text can be its.
func (a *assembler) choosePods(o Options) []*Pod {
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
	return a.unknownPods(ns, name)
}

// unknownPods is a pod of that name in each cluster.
func (a *assembler) unknownPods(namespace, name string) (out []*Pod) {
	for _, cluster := range a.clusters {
		p := &Pod{Cluster: cluster, Namespace: namespace, Name: name, Node: a.anon[cluster].Node}
		out = append(out, a.roster.addPod(p))
	}
	return out
}

// nameHomes decides for each cluster whose text without a name is: the runner's that
// was asked for, or the only pod's that there is. A pod that works for it is no other.
func (a *assembler) nameHomes(chosen []*Pod, o Options) {
	for _, p := range a.roster.pods {
		if !a.jobPods[p] {
			a.pods[p.Cluster]++
		}
	}
	for _, p := range a.record.left {
		a.pods[p.Cluster] += few
	}
	asked := map[string]int{}
	for _, p := range chosen {
		if !a.jobPods[p] || len(chosen) == 1 {
			asked[p.Cluster]++
			a.home[p.Cluster] = p
		}
	}
	for _, cluster := range a.clusters {
		if o.Strict || asked[cluster] != 1 || o.Runner == "" && a.pods[cluster] != 1 {
			a.home[cluster] = a.anon[cluster]
		}
		a.wanted = append(a.wanted, a.anon[cluster])
	}
	a.wanted = append(a.wanted, chosen...)
}

func (a *assembler) openCases() {
	for _, p := range a.wanted {
		a.cases[p] = &casefile.Case{Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: p.Node,
			Containers: p.Containers, Sandboxes: p.Sandboxes}
	}
}

// lineOf is a signal of the record, by its number, that is about a pod.
type lineOf struct {
	number int
	proven bool
	doubt  casefile.Doubt
}

// attribute gives every signal to the pods that it is about, and what concerns
// a node to every pod on it.
func (a *assembler) attribute() {
	a.taken = make([]*Pod, len(a.record.Signals))
	logs := machines.New(a.record.Marks)
	for _, p := range a.record.left { // what was left out tells of starts
		logs.TellsOfPods(p.Source, p.Doc)
	}
	for i, s := range a.record.Signals {
		mine, proven := a.ownersOf(s)
		if s.Source.Host() && a.isUntied(s, mine) {
			a.nobodys.Add(i)
		}
		for _, p := range mine {
			ofAnother := s.Source == ingest.Kube && !p.nodeGuessed && nodename.Differ(s.Node, p.Node) // node's words
			a.mine[p] = append(a.mine[p], lineOf{i, proven && !ofAnother, a.doubtOf(p, s)})
			if !p.anonymous {
				a.taken[i] = p
				if s.Def.Starts || s.Def.Ends {
					logs.TellsOfPods(s.Source, s.Doc)
				}
			}
		}
		if s.Def.Reach.Has(signal.ReachNode) {
			a.nodes.Add(i)
		}
	}
	for _, p := range a.wanted {
		if !a.record.live { // a cluster that lives has no two nodes of one name
			a.others[p] = logs.Others(p.Cluster, p.Node, momentsOf(a.record, a.roster, a.mine[p]))
		}
		a.cases[p].Evidence = a.evidence(p, lifeOf(p))
	}
}

// lifeOf is where a pod was and when, by its own lines.
func lifeOf(p *Pod) nearby.Life {
	return nearby.Life{Cluster: p.Cluster, Node: p.Node, First: p.First, Last: p.Last, Whole: p.anonymous}
}

// addLaterEnds adds the next end of their node to the evidence of pods that nothing else ended, however long after
// their last line it came, where one who told of the pod's start was read without a gap in between.
func addLaterEnds(a *assembler) {
	for _, p := range a.wanted {
		life := lifeOf(p)
		if p.anonymous || p.Node == "" || p.nodeGuessed || p.Last.IsZero() {
			continue
		}
		if at, after := a.nodes.NextEnd(life); !at.IsZero() && casefile.RanUntil(a.cases[p], at) {
			life.Last = after
			a.cases[p].Evidence = a.evidence(p, life)
		}
	}
}

// momentsOf are those at which the programs of a pod's node named it, or had to: when it began. A file of
// one program's own, without the host's name, can say more than the journal of that host.
func momentsOf(r *Record, known *Roster, mine []lineOf) (out []machines.Moment) {
	for _, l := range mine {
		s := r.Signals[l.number]
		n := known.namesOf(s)
		began, _ := s.Value("started_at").(time.Time)
		switch {
		case s.Source == ingest.Kube && !began.IsZero() && !r.printed.has(s):
			for _, program := range []ingest.Source{ingest.Kubelet, ingest.Containerd} {
				out = append(out, machines.Moment{Source: program, At: began})
			}
		case s.Source.Host() && s.Node != "" && n.howStrong() > 0 && !s.At.IsZero() && l.doubt == casefile.NoDoubt:
			out = append(out, machines.Moment{Source: s.Source, At: s.At, Docs: append([]string{s.Doc}, s.Again...)})
		}
	}
	return out
}

// isUntied says whether a line is about a container and nothing tells whose it is.
func (a *assembler) isUntied(s *signal.Signal, owners []*Pod) bool {
	switch {
	case owners == nil:
		return a.masked(s) || a.onlyID(s)
	case len(owners) > 1:
		return false
	}
	p := owners[0]
	return a.masked(s) && p.anonymous || p.Name == "" && p.UID == "" && a.onlyID(s) && a.anybodys(s)
}

// evidence is what is about a pod and what is about its node in a life, in the order of the
// record.
func (a *assembler) evidence(p *Pod, life nearby.Life) (out []casefile.Evidence) {
	mine, near := a.mine[p], a.nodes.Around(life)
	for len(mine) > 0 || len(near) > 0 {
		if len(near) == 0 || len(mine) > 0 && mine[0].number <= near[0] {
			if len(near) > 0 && mine[0].number == near[0] {
				near = near[1:]
			}
			s, l := a.record.Signals[mine[0].number], mine[0]
			if mine = mine[1:]; !a.nameless(s) || !a.others[p].Denies(s) {
				out = append(out, casefile.Evidence{Signal: s, Mine: true, Proven: l.proven, Doubt: l.doubt})
			}
			continue
		}
		s, other := a.record.Signals[near[0]], a.taken[near[0]]
		near = near[1:]
		if a.others[p].Denies(s) {
			continue
		}
		there := p.anonymous || p.Node != "" && s.Node != "" && !p.nodeGuessed && !nodename.IsDefault(s.Node)
		e := casefile.Evidence{Signal: s, Proven: s.Proven() && there, Others: other != nil, Of: other.fullName(),
			Doubt: a.roster.printed.doubtOf(s)}
		if a.others[p].Has(s.Doc) {
			e.Proven, e.Doubt = false, casefile.Doubtful
		}
		out = append(out, e)
	}
	return out
}

// onlyID says whether a line names its pod by a container's id alone.
func (a *assembler) onlyID(s *signal.Signal) bool {
	n := a.roster.namesOf(s)
	return len(n.ids) > 0 && n.name == "" && n.uid == ""
}

func (a *assembler) ownersOf(s *signal.Signal) ([]*Pod, bool) {
	if s.Def.Reach&^standingReach == 0 {
		return nil, false
	}
	if p, proven := a.roster.Attribute(s); p != nil {
		return []*Pod{p}, proven
	}
	if several := a.roster.Named(s); several != nil {
		return several, s.Proven()
	}
	if s.Def.Reach.Has(signal.ReachNode) || !a.nameless(s) {
		return nil, false
	}
	return []*Pod{a.ownerOfNameless(s)}, false
}

// ownerOfNameless gives text without a name to the pod that is asked for, but
// a program that speaks of many pods only if there is no other.
func (a *assembler) ownerOfNameless(s *signal.Signal) *Pod {
	aboutMany := !s.Source.Forgeable() && s.Source != ingest.Kube || strings.HasPrefix(s.Str("object"), "Node/")
	if aboutMany && a.pods[s.Cluster] > 1 || s.Masked && !s.Def.NamesContainer() && a.pods[s.Cluster] > 0 {
		return a.anon[s.Cluster]
	}
	return a.home[s.Cluster]
}

// nameless says whether a signal names nobody at all.
func (a *assembler) nameless(s *signal.Signal) bool {
	n := a.roster.namesOf(s)
	return n.howStrong() == 0
}
