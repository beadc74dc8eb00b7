// Package groups says of many deaths which are alike, whether there are more of them than
// usual, and what the dead have in common. It is pure: times and counts are arguments.
//
// Invariant: it counts and never names a cause. What everything that ran has in common is
// not told as what the dead have in common.
//
// Crash behaviour: it keeps no state.
package groups

import (
	"cmp"
	"math"
	"slices"
	"time"

	"coroner/rules"
)

// End is one end of a runner, a death or not.
type End struct {
	Cluster, Pool, Node, Repository string
	Label                           rules.Label
	Alike                           int64     // the number of its kind, see package alike; 0 = it is not known
	At                              time.Time // of the death, else of the verdict
}

// Key is what deaths that are alike share.
type Key struct {
	Cluster string
	Label   rules.Label
	Pool    string
	Alike   int64
}

// Key is by what an end is grouped.
func (e *End) Key() Key { return Key{e.Cluster, e.Label, e.Pool, e.Alike} }

// Group is deaths that are alike.
type Group struct {
	Key
	N           int
	First, Last time.Time
	Before      int // that there were in the time before, where News says something
	News        News
	Common      []Common
	members     []End
}

// News says whether deaths like these are known.
type News string

// What there is to say; nothing where the time before is not known.
const (
	New   News = "new"             // the time before had none
	More  News = "more than usual" // than the time before leads one to expect
	Again News = "again"
)

// Alike groups deaths, the largest group first.
func Alike(dead []End) []Group {
	var out []Group
	place := map[Key]int{}
	for _, e := range dead {
		i, ok := place[e.Key()]
		if !ok {
			i = len(out)
			place[e.Key()] = i
			out = append(out, Group{Key: e.Key(), First: e.At, Last: e.At})
		}
		g := &out[i]
		g.N++
		g.members = append(g.members, e)
		if e.At.Before(g.First) {
			g.First = e.At
		}
		if e.At.After(g.Last) {
			g.Last = e.At
		}
	}
	slices.SortStableFunc(out, compare)
	return out
}

func compare(a, b Group) int {
	return cmp.Or(b.N-a.N, b.Last.Compare(a.Last), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Pool, b.Pool),
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Alike, b.Alike))
}

// Past is what is known of the time before the one that is looked at.
type Past struct {
	Span  time.Duration // how long it is; 0 = nothing is known of it
	Ends  map[Key]int   // deaths in it
	Pools []string      // whose deaths were counted; nil = those of all
	Since time.Duration // how long the time is that is looked at
}

// least is how many deaths are more than usual at the least: two of one kind are no crowd.
const least = 4

// Tell says of each group how new it is, and puts those first that somebody should look at:
// more than usual, then new, then the others. Where of some deaths in the time before the kind is
// not known, nothing is said of those of their label and pool.
func Tell(all []Group, past Past) {
	for i := range all {
		g := &all[i]
		if past.Span <= 0 || past.Pools != nil && !slices.Contains(past.Pools, g.Pool) {
			continue
		}
		unknown := g.Key
		if unknown.Alike = 0; unknown != g.Key && past.Ends[unknown] > 0 {
			continue
		}
		g.Before = past.Ends[g.Key]
		g.News = newsOf(g.N, g.Before, past)
	}
	slices.SortStableFunc(all, func(a, b Group) int { return cmp.Or(a.News.urgency()-b.News.urgency(), compare(a, b)) })
}

// newsOf compares with what as much of the time before had. Chance alone gives counts that
// spread as their root does: more than usual is three times that beyond it.
func newsOf(n, before int, past Past) News {
	if before == 0 {
		return New
	}
	usual := float64(before) * float64(past.Since) / float64(past.Span)
	if n >= least && float64(n) > 2*usual && float64(n) > usual+3*math.Sqrt(usual) {
		return More
	}
	return Again
}

func (n News) urgency() int {
	switch n {
	case More:
		return 0
	case New:
		return 1
	}
	return 2
}
