package classify

import (
	"slices"
	"time"

	"coroner/classify/machines"
	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// coverCases hands every case the coverage of its node, its pod and the controller.
// What was read of a node and of the controllers is one list for all cases of
// the node: it can be long, and there can be thousands of them.
func (a *assembler) coverCases() {
	for _, p := range a.roster.pods {
		if p.UID == "" && p.Name != "" && len(p.Containers)+len(p.Sandboxes) == 0 {
			a.stubs[inCluster{p.Cluster, p.Name}] = append(a.stubs[inCluster{p.Cluster, p.Name}], p)
		}
	}
	around, names := map[inCluster][]*ingest.Entry{}, &nodename.Index{}
	for i := range a.record.Marks {
		m := &a.record.Marks[i]
		switch {
		case ofStream(m):
			a.coverStream(m)
		case ofController(m):
			on := inCluster{m.Cluster, anyNode}
			around[on] = append(around[on], m)
		default:
			on := inCluster{m.Cluster, m.Node}
			around[on] = append(around[on], m)
			names.Add(on.cluster, on.name)
		}
	}
	type kind struct {
		inCluster
		unknown bool   // none of the pod's containers is known
		nowhere bool   // no log of a node names the pod
		others  string // which logs are another machine's
	}
	lists := map[kind][]casefile.Coverage{}
	for _, p := range a.wanted {
		nowhere := isNowhere(p, a.record, a.mine[p])
		others := a.others[p]
		on := kind{inCluster{p.Cluster, p.Node}, len(p.Containers) == 0 && !p.anonymous, nowhere, others.Key()}
		if _, known := lists[on]; !known {
			like := names.Like(on.cluster, on.name)
			if on.nowhere {
				like = []string{""}
			}
			list := append(casefile.Join(aroundNodes(around, on.cluster, like, others)), a.maskedIDs(on.inCluster)...)
			if on.unknown {
				list = append(list, a.untiedIDs(on.inCluster)...)
			}
			lists[on] = casefile.FewHoles(list)
		}
		a.cases[p].Around = lists[on]
		a.addCutShort(p)
	}
}

// isNowhere says whether it is not known which node the pod was on, and no log of one names it: what
// such a log does not say may be said in another node's.
func isNowhere(p *Pod, r *Record, mine []lineOf) bool {
	return !p.anonymous && (p.Node == "" || p.nodeGuessed) && !slices.ContainsFunc(mine, func(l lineOf) bool {
		s := r.Signals[l.number]
		return s.Source.Host() && s.Node != ""
	})
}

// maskedIDs are the moments at which a line of the node named a container by an id
// that is masked. It can be anybody's, so what its source does not say then
// proves nothing. The kubelet and its runtime tell of the same requests: what one of
// them says without a name, the other need not have said at all.
func (a *assembler) maskedIDs(on inCluster) (out []casefile.Coverage) {
	for _, s := range a.nobodys.Of(on.cluster, on.name) {
		if a.anybodys(s) {
			out = append(out, lostToAll(s, "the id or name in a line is masked")...)
		}
	}
	return out
}

// anybodys says whether a line that nothing ties to a pod can be about any: its id is
// masked, or one that people write in place of others; so is its pod's UID, and
// nothing else names it.
func (a *assembler) anybodys(s *signal.Signal) bool {
	return a.masked(s) || slices.ContainsFunc(a.roster.namesOf(s).ids, signal.StandsForAny)
}

// masked says whether somebody wrote over the only thing that names the line's pod.
func (a *assembler) masked(s *signal.Signal) bool {
	if s.Masked {
		return true
	}
	n := a.roster.namesOf(s)
	return n.anyUID && n.namesNothing()
}

// untiedIDs are the moments at which a line of the node named a container that no record
// ties to a pod. It can be that of any pod none of whose containers is known.
func (a *assembler) untiedIDs(on inCluster) (out []casefile.Coverage) {
	for _, s := range a.nobodys.Of(on.cluster, on.name) {
		if !a.anybodys(s) {
			out = append(out, lostRecords(s, "a line of it names a container that no record ties to a pod"))
		}
	}
	return out
}

// addCutShort adds the moments at which a line named a pod by what can be a part of this
// one's name.
func (a *assembler) addCutShort(p *Pod) {
	c := a.cases[p]
	for _, s := range a.cutShort(p) {
		c.Coverage = append(
			c.Coverage,
			lostToAll(s, "a line names a pod by what can be the start of this one's name")...)
	}
}

// CutNames are what a name can have been cut to: at least half of it is left.
func CutNames(name string) (out []string) {
	for n := len(name) - 1; n > 0 && 2*n >= len(name); n-- {
		out = append(out, name[:n])
	}
	return out
}

// cutShort are the lines of the pod's node that name a pod of which nothing else is
// known, by a name that this one's begins with: somebody may have cut it short.
func (a *assembler) cutShort(p *Pod) (out []*signal.Signal) {
	for _, short := range CutNames(p.Name) {
		for _, q := range a.stubs[inCluster{p.Cluster, short}] {
			if q.Namespace != "" && q.Namespace != p.Namespace {
				continue
			}
			for _, l := range a.mine[q] {
				if s := a.record.Signals[l.number]; s.Source.Host() && nodename.Same(s.Node, p.Node) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// lostToAll is what a line that could not be tied takes from the sources that tell of
// the same things as its own.
func lostToAll(s *signal.Signal, why string) []casefile.Coverage {
	gap := lostRecords(s, why)
	if s.Source != ingest.Kubelet && s.Source != ingest.Containerd {
		return []casefile.Coverage{gap}
	}
	other := gap
	other.Source = ingest.Kubelet
	if s.Source == ingest.Kubelet {
		other.Source = ingest.Containerd
	}
	return []casefile.Coverage{gap, other}
}

// lostRecords is the gap that a line makes which could not be tied. Who is asked to stop
// is killed when its grace period is over: such a line speaks of a death then.
func lostRecords(s *signal.Signal, why string) casefile.Coverage {
	grace := usualGrace
	for _, name := range []string{"timeout", "grace"} {
		if n, ok := s.Value(name).(int); ok {
			grace = time.Duration(min(max(n, 0), maxGrace)) * time.Second
		}
	}
	return casefile.Coverage{Source: s.Source, From: s.At, To: s.At.Add(grace), Why: why}
}

const (
	usualGrace = 30 * time.Second // of a pod that asks for none
	maxGrace   = 3600             // seconds; what a line says of itself is bounded
)

// anyNode stands for every node: no host is called so.
const anyNode = "*"

// aroundNodes is the coverage of whoever is on a node that these names can mean, but for what is of others.
func aroundNodes(
	marks map[inCluster][]*ingest.Entry, cluster string, names []string, others *machines.Others,
) []casefile.Coverage {
	var c casefile.Case
	names = append(names, anyNode)
	slices.Sort(names)
	for _, name := range names {
		for _, m := range marks[inCluster{cluster, name}] {
			if m.Mark.Kind != ingest.Covered || !others.Has(m.Doc) {
				casefile.AddMark(&c, m, false)
			}
		}
	}
	return c.Coverage
}

// ofStream says whether a mark is about some pods only.
func ofStream(m *ingest.Entry) bool {
	return m.Pod != "" || m.PodUID != "" || m.Source == ingest.Runner || m.Source == ingest.Job ||
		m.Source == ingest.Kube
}

func ofController(m *ingest.Entry) bool {
	return m.Source == ingest.Controller || m.Source == ingest.Listener
}

// coverStream hands a mark of a pod's stream to the pods that it can be about.
func (a *assembler) coverStream(m *ingest.Entry) {
	for _, p := range a.concerned(m) {
		if c := a.cases[p]; c != nil && a.speaksOf(m, p) {
			casefile.AddMark(c, m, a.record.mixed[m.Doc])
		}
	}
}

func (a *assembler) speaksOf(m *ingest.Entry, p *Pod) bool {
	if m.Cluster != p.Cluster {
		return false
	}
	switch m.Source {
	case ingest.Controller, ingest.Listener:
		return true
	case ingest.Runner, ingest.Job, ingest.Kube:
		return a.streamOf(m, p)
	}
	return nodename.Same(m.Node, p.Node)
}

// concerned are the pods that a mark can be about: few for a pod's own stream.
func (a *assembler) concerned(m *ingest.Entry) []*Pod {
	if p := a.roster.byUID[inCluster{m.Cluster, m.PodUID}]; m.PodUID != "" && p != nil {
		return []*Pod{p}
	}
	if m.Pod != "" {
		return a.roster.byName[inCluster{m.Cluster, m.Pod}]
	}
	return a.wanted
}

// ofNodesLogs says whether a mark says what was lost of the logs of all pods of a node.
func ofNodesLogs(m *ingest.Entry) bool {
	return m.Mark.Kind == ingest.Gap && m.Node != "" && m.Pod == "" && m.PodUID == "" && m.Source.Forgeable()
}

// streamOf says whether a mark of a pod's stream is about p.
func (a *assembler) streamOf(m *ingest.Entry, p *Pod) bool {
	switch {
	case ofNodesLogs(m):
		return p.Node == "" || p.nodeGuessed || nodename.Same(m.Node, p.Node)
	case m.PodUID != "" && p.UID != "":
		return m.PodUID == p.UID
	case m.Pod != "":
		return m.Pod == p.Name && (m.Namespace == "" || p.Namespace == "" || m.Namespace == p.Namespace)
	case a.roster.docs[inCluster{m.Cluster, m.Doc}] != "":
		return a.roster.docs[inCluster{m.Cluster, m.Doc}] == p.Name
	case m.Source == ingest.Kube && m.Namespace != "": // a whole namespace was watched
		return m.Namespace == p.Namespace
	}
	return m.Source != ingest.Kube && p == a.home[p.Cluster]
}
