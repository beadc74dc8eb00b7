package quiet

import (
	"cmp"
	"slices"

	"coroner/classify/nearby"
	"coroner/classify/nodename"
	"coroner/rules/signal"
)

// Choice is which lines are of pods that something else tells of: signals by name,
// what strikes all that is on a node at a time, and names that were asked for.
type Choice struct {
	q      *Lines
	parent []uint32 // of the sets of items that share names
	wanted []bool   // of a set's root
}

// Question is what decides which lines matter.
type Question struct {
	Names func(*signal.Signal) []string // what a signal is about
	Asked func(*signal.Signal) bool     // whether it is about what was asked for; nil = nothing was
}

// Choose finds the lines of all pods that one of the signals is about, or that
// one of them strikes: of a node's end they can have died.
func (q *Lines) Choose(signals []*signal.Signal, o Question) *Choice {
	c := &Choice{q: q, parent: make([]uint32, len(q.lines)+len(signals))}
	for i := range c.parent {
		c.parent[i] = uint32(i)
	}
	all := slices.Clone(q.names)
	for i, s := range signals {
		all = appendNames(all, uint32(len(q.lines)+i), o.Names(s))
	}
	slices.SortFunc(all, func(a, b nameOf) int { return cmp.Compare(a.hash, b.hash) })
	for i := 1; i < len(all); i++ {
		if all[i].hash == all[i-1].hash {
			c.uniteGroups(all[i].item, all[i-1].item)
		}
	}
	c.wanted = make([]bool, len(c.parent))
	for i := range signals {
		c.want(len(q.lines) + i)
	}
	if o.Asked != nil {
		q.eachLine(func(int) bool { return true }, func(item int, s *signal.Signal) {
			if o.Asked(s) {
				c.want(item)
			}
		})
	}
	c.addStruck(signals)
	c.addLonely()
	return c
}

func (c *Choice) rootOf(item uint32) uint32 {
	for c.parent[item] != item {
		c.parent[item] = c.parent[c.parent[item]]
		item = c.parent[item]
	}
	return item
}

func (c *Choice) uniteGroups(a, b uint32) {
	if a, b = c.rootOf(a), c.rootOf(b); a != b {
		c.parent[max(a, b)] = min(a, b)
	}
}

func (c *Choice) want(item int) { c.wanted[c.rootOf(uint32(item))] = true }

// has says whether a line is one of the chosen.
func (c *Choice) has(item int) bool { return c.wanted[c.rootOf(uint32(item))] }

// heard is when one pod was heard of first and last.
type heard struct{ first, last int64 }

// addStruck adds the pods that were there when something happened to their node that
// is not quiet for those on it.
func (c *Choice) addStruck(signals []*signal.Signal) {
	strikes := slices.DeleteFunc(slices.Clone(signals), func(s *signal.Signal) bool {
		return !s.Def.Reach.Has(signal.ReachNode) || s.Def.QuietBeside()
	})
	if len(strikes) == 0 {
		return
	}
	lives := map[uint32]heard{}
	for item, l := range c.q.lines {
		root := c.rootOf(uint32(item))
		if h, ok := lives[root]; ok {
			lives[root] = heard{min(h.first, l.at), max(h.last, l.at)}
		} else {
			lives[root] = heard{l.at, l.at}
		}
	}
	ends := slices.DeleteFunc(slices.Clone(strikes), func(s *signal.Signal) bool { return !s.Def.Ends && !s.Def.Down })
	times, endTimes := make([][]int64, len(c.q.places)), make([][]int64, len(c.q.places))
	for i, p := range c.q.places {
		times[i], endTimes[i] = timesOf(strikes, p), timesOf(ends, p)
	}
	for item, l := range c.q.lines {
		if life := lives[c.rootOf(uint32(item))]; life.meets(times[l.place]) || life.isBefore(endTimes[l.place]) {
			c.want(item)
		}
	}
}

// timesOf are the times, in their order, of what happened to nodes that lines read
// at a place can be about.
func timesOf(strikes []*signal.Signal, p Place) (out []int64) {
	for _, s := range strikes {
		same := p.Cluster == "" || s.Cluster == "" || p.Cluster == s.Cluster
		if same && (p.Anywhere || nodename.Same(p.Node, s.Node)) {
			out = append(out, nanosOf(s))
		}
	}
	slices.Sort(out)
	return out
}

// meets says whether one of the times is around the pod's life, in which what happens on
// its node is of interest to it; a time that is not known is.
func (h heard) meets(times []int64) bool {
	if len(times) == 0 || h.first == undated || times[0] == undated {
		return len(times) > 0
	}
	i, _ := slices.BinarySearch(times, h.first-int64(nearby.Before))
	return i < len(times) && times[i] <= h.last+int64(nearby.After)
}

// isBefore says whether one of the times comes after the pod's life: what is quiet ended by nothing else.
func (h heard) isBefore(times []int64) bool { return len(times) > 0 && times[len(times)-1] > h.last }

// addLonely adds the pods of clusters of which few would be left out.
func (c *Choice) addLonely() {
	left := map[string]map[uint32]bool{}
	for item, l := range c.q.lines {
		cluster := c.q.places[l.place].Cluster
		if !c.has(item) && len(left[cluster]) < c.q.few {
			if left[cluster] == nil {
				left[cluster] = map[uint32]bool{}
			}
			left[cluster][c.rootOf(uint32(item))] = true
		}
	}
	for _, roots := range left {
		for root := range roots {
			c.wanted[root] = c.wanted[root] || len(roots) < c.q.few
		}
	}
}

// Each calls keep with the lines of the chosen.
func (c *Choice) Each(keep func(*signal.Signal)) {
	c.q.eachLine(c.has, func(item int, s *signal.Signal) {
		s.Cluster = c.q.places[c.q.lines[item].place].Cluster
		keep(s)
	})
}

// LeftOut are the places at which lines were read that were not chosen.
func (c *Choice) LeftOut() []Place {
	read := make([]bool, len(c.q.places))
	for item, l := range c.q.lines {
		read[l.place] = read[l.place] || !c.has(item)
	}
	var out []Place
	for i, p := range c.q.places {
		if read[i] {
			out = append(out, p)
		}
	}
	return out
}
