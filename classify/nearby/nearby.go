// Package nearby finds, among all that was said of nodes, the lines that are of interest to one pod.
//
// Invariant: what is given depends on the lines alone, and no number of lines of one kind, or of
// lines that nobody vouches for, displaces a proven line of another kind.
//
// Crash behaviour: the package is pure; there is no state to lose.
package nearby

import (
	"cmp"
	"slices"
	"time"

	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/signal"
)

// Before and After bound which lines about its node are of interest to a pod: so long before it
// began, and after it ended.
const (
	Before = 10 * time.Minute
	After  = 5 * time.Minute
)

// foreign is how many lines about its node one case keeps where there are twice as
// many: the nearest to its end.
const foreign = 48

// alike is how many of them may say the same: a flood of one kind displaces no other.
const alike = 8

// Lines are the lines about nodes, found by node and time: what was read of a
// node is one list for all pods on it.
type Lines struct {
	signals []*signal.Signal // in the order of time
	of      map[node][]int
	names   nodename.Index
	near    map[node]*nearLines // of a pod's node: the lines of all nodes that it can be
}

// node is a node's name in its cluster.
type node struct{ cluster, name string }

// Life is where a pod was, and when: what is zero is not known.
type Life struct {
	Cluster, Node string
	First, Last   time.Time // of what was read of it
	Whole         bool      // however many lines there are, it wants all of them
}

// nearLines are lines about one node, by their numbers: those that are proven, and what
// anybody can have written. However much that is, it displaces no proven line.
type nearLines [2]struct {
	dated, undated []int
	ends           []int   // the dated that tell that the node went down, or is gone
	agents         []int   // the dated about the node's agent: that it is silent, and that it is not
	kinds          [][]int // the dated of each kind
	undatedKinds   [][]int // of each kind the first and the last without a time, by turns
}

// New finds lines among signals, which are in the order of time. They are known by their
// numbers there.
func New(signals []*signal.Signal) *Lines {
	return &Lines{signals: signals, of: map[node][]int{}, near: map[node]*nearLines{}}
}

// Add takes in a line; it comes in the order of the signals.
func (n *Lines) Add(number int) {
	s := n.signals[number]
	on := node{s.Cluster, s.Node}
	n.of[on] = append(n.of[on], number)
	n.names.Add(on.cluster, on.name)
}

// Around are the lines that are of interest to a pod, in their order.
func (n *Lines) Around(p Life) []int {
	near := n.nearTo(node{p.Cluster, p.Node})
	return inOrder(n.nearest(p, near, 0), n.heardAgain(p, near), n.nearest(p, near, 1))
}

// heardAgain are the lines by which an agent that fell silent near the pod's end is heard of again, however
// late: its node was not lost.
func (n *Lines) heardAgain(p Life, near *nearLines) []int {
	agents := near[0].agents
	if p.Whole || p.First.IsZero() || len(n.inLife(p, agents)) == 0 {
		return nil
	}
	later := agents[n.findSince(agents, p.Last.Add(After+1)):]
	return later[:min(len(later), alike)]
}

// NextEnd is when it is proven for the first time after a pod's last line that its node went down or was gone, if
// that is too late for Around; zero if it is not. Of a pod that only runs there is nothing to tell, for hours. Where
// that was an agent's silence, after is when the node went down or was gone next: it may have been silent for that.
func (n *Lines) NextEnd(p Life) (first, after time.Time) {
	near, silent := n.nearTo(node{p.Cluster, p.Node})[0], false
	for i, number := range near.ends[n.findSince(near.ends, p.Last):] {
		if s := n.signals[number]; i == 0 {
			first, after = s.At, s.At
		} else if silent {
			after = s.At
		} else {
			break
		}
		silent = n.signals[number].Source == ingest.Agent
	}
	if !after.After(p.Last.Add(After)) {
		return time.Time{}, time.Time{}
	}
	return first, after
}

func (n *Lines) nearest(p Life, near *nearLines, proven int) []int {
	dated, undated := n.inLife(p, near[proven].dated), near[proven].undated
	if p.Whole || len(dated)+len(undated) < 2*foreign {
		return inOrder(dated, undated)
	}
	var kinds [][]int
	for _, kind := range near[proven].kinds {
		kind = n.inLife(p, kind)
		end := n.findSince(kind, p.Last)
		some := slices.Clone(kind[max(0, end-alike):min(len(kind), end+alike)])
		n.sortByDistance(p, some)
		kinds = append(kinds, some[:min(len(some), alike)])
	}
	undated = inTurn(near[proven].undatedKinds, foreign/2)
	return inOrder(inTurn(kinds, foreign-len(undated)), undated)
}

// inTurn takes so many lines: the first of each kind, then the second of each, and so on.
func inTurn(kinds [][]int, most int) (out []int) {
	for rank := range alike {
		for _, kind := range kinds {
			if rank < len(kind) && len(out) < most {
				out = append(out, kind[rank])
			}
		}
	}
	return out
}

// inLife is the part of a list that is of interest to a pod.
func (n *Lines) inLife(p Life, dated []int) []int {
	if p.First.IsZero() {
		return dated
	}
	return dated[n.findSince(dated, p.First.Add(-Before)):n.findSince(dated, p.Last.Add(After+1))]
}

// sortByDistance puts the lines that are nearest to a pod's end first.
func (n *Lines) sortByDistance(p Life, lines []int) {
	slices.SortStableFunc(lines, func(a, b int) int {
		return cmp.Compare(distance(p, n.signals[a].At), distance(p, n.signals[b].At))
	})
}

// findSince is where in a list the lines since a time begin.
func (n *Lines) findSince(dated []int, since time.Time) int {
	at, _ := slices.BinarySearchFunc(dated, since, func(i int, t time.Time) int { return n.signals[i].At.Compare(t) })
	return at
}

func inOrder(lists ...[]int) []int {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return out
}

// nearTo gathers the lines of a node once: unknown names and short ones can mean
// several.
func (n *Lines) nearTo(on node) *nearLines {
	if known := n.near[on]; known != nil {
		return known
	}
	near := &nearLines{}
	for _, name := range n.names.Like(on.cluster, on.name) {
		for _, number := range n.of[node{on.cluster, name}] {
			lines := &near[0]
			if !n.signals[number].Proven() {
				lines = &near[1]
			}
			if n.signals[number].At.IsZero() {
				lines.undated = append(lines.undated, number)
			} else {
				lines.dated = append(lines.dated, number)
			}
			if s := n.signals[number]; (s.Def.Ends || s.Def.Down) && !s.At.IsZero() {
				lines.ends = append(lines.ends, number)
			}
			if s := n.signals[number]; s.Source == ingest.Agent && !s.At.IsZero() {
				lines.agents = append(lines.agents, number)
			}
		}
	}
	for i := range near {
		slices.Sort(near[i].dated)
		slices.Sort(near[i].undated)
		slices.Sort(near[i].ends)
		near[i].ends = n.withoutAnnouncements(near[i].ends)
		slices.Sort(near[i].agents)
		near[i].kinds = n.byKind(near[i].dated)
		for _, kind := range n.byKind(near[i].undated) {
			near[i].undatedKinds = append(near[i].undatedKinds, fromBothEnds(kind))
		}
	}
	n.near[on] = near
	return near
}

// withoutAnnouncements leaves out that a node goes down where it is told later that it did: it may have been
// called off, or be forged, and then it went on.
func (n *Lines) withoutAnnouncements(ends []int) []int {
	last := -1
	for _, number := range ends {
		if n.signals[number].Def.Ends {
			last = number
		}
	}
	return slices.DeleteFunc(ends, func(number int) bool { return number < last && !n.signals[number].Def.Ends })
}

// byKind divides a list by what its lines say.
func (n *Lines) byKind(lines []int) (out [][]int) {
	at := map[string]int{}
	for _, number := range lines {
		says := n.signals[number].Says()
		i, known := at[says]
		if !known {
			i, at[says] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], number)
	}
	return out
}

// fromBothEnds are a list's first, last, second, last but one, and so on: nobody knows which of
// what has no time is near a death.
func fromBothEnds(lines []int) (out []int) {
	for i, j := 0, len(lines)-1; i <= j && len(out) < alike; i, j = i+1, j-1 {
		if out = append(out, lines[i]); i < j {
			out = append(out, lines[j])
		}
	}
	return out
}

// Of are the lines about a node, in their order.
func (n *Lines) Of(cluster, name string) (out []*signal.Signal) {
	if len(n.of) == 0 {
		return nil
	}
	near := n.nearTo(node{cluster, name})
	for _, number := range inOrder(near[0].dated, near[0].undated, near[1].dated, near[1].undated) {
		out = append(out, n.signals[number])
	}
	return out
}

func distance(p Life, at time.Time) time.Duration {
	if p.Last.IsZero() || at.IsZero() {
		return 0
	}
	return p.Last.Sub(at).Abs()
}
