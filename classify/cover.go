package classify

import (
	"maps"
	"slices"

	"coroner/ingest"
	"coroner/rules"
)

// cover hands every case the coverage of its node, its pod and the controller.
// What was read of a node and of the controllers is one list for all cases of
// the node: it can be long, and there can be thousands of them.
func (a *assembler) cover() {
	around := map[string][]*ingest.Entry{}
	for i := range a.record.Marks {
		m := &a.record.Marks[i]
		switch {
		case ofStream(m):
			a.coverStream(m)
		case ofController(m):
			around[anyNode] = append(around[anyNode], m)
		default:
			around[m.Node] = append(around[m.Node], m)
		}
	}
	lists := map[string][]rules.Coverage{}
	for _, p := range a.wanted {
		if _, known := lists[p.Node]; !known {
			lists[p.Node] = rules.Join(aroundNode(around, p.Node))
		}
		a.cases[p].Around = lists[p.Node]
	}
}

// anyNode stands for every node: no host is called so.
const anyNode = "*"

// aroundNode is the coverage of whoever is on a node.
func aroundNode(marks map[string][]*ingest.Entry, node string) []rules.Coverage {
	var c rules.Case
	for _, on := range slices.Sorted(maps.Keys(marks)) {
		if on != anyNode && !sameNode(on, node) {
			continue
		}
		for _, m := range marks[on] {
			addMark(&c, m)
		}
	}
	return c.Coverage
}

// ofStream says whether a mark is about some pods only.
func ofStream(m *ingest.Entry) bool {
	return m.Pod != "" || m.PodUID != "" || m.Source == ingest.Runner || m.Source == ingest.Job || m.Source == ingest.Kube
}

func ofController(m *ingest.Entry) bool {
	return m.Source == ingest.Controller || m.Source == ingest.Listener
}

// coverStream hands a mark of a pod's stream to the pods that it can be about.
func (a *assembler) coverStream(m *ingest.Entry) {
	for _, p := range a.concerned(m) {
		if c := a.cases[p]; c != nil && a.covers(m, p) {
			addMark(c, m)
		}
	}
}

func (a *assembler) covers(m *ingest.Entry, p *Pod) bool {
	switch m.Source {
	case ingest.Controller, ingest.Listener:
		return true
	case ingest.Runner, ingest.Job, ingest.Kube:
		return a.streamOf(m, p)
	}
	return sameNode(m.Node, p.Node)
}

// concerned are the pods that a mark can be about: few for a pod's own stream.
func (a *assembler) concerned(m *ingest.Entry) []*Pod {
	if p := a.roster.byUID[m.PodUID]; m.PodUID != "" && p != nil {
		return []*Pod{p}
	}
	if m.Pod != "" {
		return a.roster.byName[m.Pod]
	}
	return a.wanted
}

// streamOf says whether a mark of a pod's stream is about p.
func (a *assembler) streamOf(m *ingest.Entry, p *Pod) bool {
	switch {
	case m.PodUID != "" && p.UID != "":
		return m.PodUID == p.UID
	case m.Pod != "":
		return m.Pod == p.Name && (m.Namespace == "" || p.Namespace == "" || m.Namespace == p.Namespace)
	case a.roster.docs[m.Doc] != "":
		return a.roster.docs[m.Doc] == p.Name
	case m.Source == ingest.Kube && m.Namespace != "": // a whole namespace was watched
		return m.Namespace == p.Namespace
	}
	return m.Source != ingest.Kube && p == a.home
}

func addMark(c *rules.Case, m *ingest.Entry) {
	switch m.Mark.Kind {
	case ingest.Covered:
		c.Coverage = append(c.Coverage, rules.Coverage{Source: m.Source, From: m.Mark.From, To: m.Mark.To})
		if m.Source == ingest.Runner {
			addLog(&c.Log, m.Mark)
		}
	case ingest.Gap:
		c.Coverage = append(c.Coverage, rules.Coverage{Source: m.Source, From: m.Mark.From, To: m.Mark.To, Why: m.Mark.Why})
	}
}

func addLog(l *rules.LogRead, m *ingest.Mark) {
	l.Read = true
	l.Lines += m.Lines
	if l.First.IsZero() || (!m.From.IsZero() && m.From.Before(l.First)) {
		l.First = m.From
	}
	if m.To.After(l.Last) {
		l.Last = m.To
	}
}
