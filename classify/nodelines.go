package classify

import (
	"cmp"
	"slices"
	"time"

	"coroner/classify/nodename"
	"coroner/rules/signal"
)

// nodeBefore and nodeAfter bound which node events are of interest to a pod.
const (
	nodeBefore = 10 * time.Minute
	nodeAfter  = 5 * time.Minute
)

// foreign is how many lines about its node one case keeps where there are twice as
// many: the nearest to its end.
const foreign = 48

// nodeLines are the lines about nodes, found by node and time: what was read of a
// node is one list for all pods on it.
type nodeLines struct {
	signals []*signal.Signal // in the order of time
	of      map[inCluster][]int
	names   nodename.Index
	near    map[inCluster]*nearLines // of a pod's node: the lines of all nodes that it can be
}

// nearLines are lines about one node, by their numbers: those that are proven, and what
// anybody can have written. However much that is, it displaces no proven line.
type nearLines [2]struct{ dated, undated []int }

func newNodeLines(signals []*signal.Signal) nodeLines {
	return nodeLines{signals: signals, of: map[inCluster][]int{}, near: map[inCluster]*nearLines{}}
}

// addNumber takes in a line; it comes in the order of the signals.
func (n *nodeLines) addNumber(number int) {
	s := n.signals[number]
	on := inCluster{s.Cluster, s.Node}
	n.of[on] = append(n.of[on], number)
	n.names.Add(on.cluster, on.name)
}

// linesAround are the lines that are of interest to a pod, in their order.
func (n *nodeLines) linesAround(p *Pod) []int {
	near := n.nearTo(inCluster{p.Cluster, p.Node})
	return inOrder(n.nearest(p, near[0].dated, near[0].undated), n.nearest(p, near[1].dated, near[1].undated))
}

func (n *nodeLines) nearest(p *Pod, dated, undated []int) []int {
	if !p.First.IsZero() {
		from, to := n.findSince(dated, p.First.Add(-nodeBefore)), n.findSince(dated, p.Last.Add(nodeAfter+1))
		dated = dated[from:to]
	}
	if p.anonymous || len(dated)+len(undated) < 2*foreign {
		return inOrder(dated, undated)
	}
	end := n.findSince(dated, p.Last)
	dated = slices.Clone(dated[max(0, end-foreign):min(len(dated), end+foreign)])
	undated = undated[:min(len(undated), foreign/2)]
	slices.SortStableFunc(dated, func(a, b int) int {
		return cmp.Compare(distance(p, n.signals[a].At), distance(p, n.signals[b].At))
	})
	return inOrder(dated[:min(len(dated), foreign-len(undated))], undated)
}

// findSince is where in a list the lines since a time begin.
func (n *nodeLines) findSince(dated []int, since time.Time) int {
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
func (n *nodeLines) nearTo(node inCluster) *nearLines {
	if known := n.near[node]; known != nil {
		return known
	}
	near := &nearLines{}
	for _, name := range n.names.Like(node.cluster, node.name) {
		for _, number := range n.of[inCluster{node.cluster, name}] {
			lines := &near[0]
			if !n.signals[number].Proven() {
				lines = &near[1]
			}
			if n.signals[number].At.IsZero() {
				lines.undated = append(lines.undated, number)
			} else {
				lines.dated = append(lines.dated, number)
			}
		}
	}
	for i := range near {
		slices.Sort(near[i].dated)
		slices.Sort(near[i].undated)
	}
	n.near[node] = near
	return near
}

// linesOf are the lines about a node, in their order.
func (n *nodeLines) linesOf(node inCluster) (out []*signal.Signal) {
	if len(n.of) == 0 {
		return nil
	}
	near := n.nearTo(node)
	for _, number := range inOrder(near[0].dated, near[0].undated, near[1].dated, near[1].undated) {
		out = append(out, n.signals[number])
	}
	return out
}

func distance(p *Pod, at time.Time) time.Duration {
	if p.Last.IsZero() || at.IsZero() {
		return 0
	}
	return p.Last.Sub(at).Abs()
}
