package groups

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Trait is something that ends can share.
type Trait string

// The traits that are looked at.
const (
	ByNode       Trait = "node"
	ByPool       Trait = "pool"
	ByCluster    Trait = "cluster"
	ByRepository Trait = "repository"
	ByHour       Trait = "hour"
)

// traits say what an end has of each; "" is nothing that is known.
var traits = []struct {
	Trait
	of func(*End) string
}{
	{ByNode, func(e *End) string { return e.Node }},
	{ByPool, func(e *End) string { return e.Pool }},
	{ByCluster, func(e *End) string { return e.Cluster }},
	{ByRepository, func(e *End) string { return e.Repository }},
	{ByHour, func(e *End) string { return e.At.UTC().Truncate(time.Hour).Format("15:04") }},
}

// Common is what some of the dead share, counted beside all that ended in that time, the
// dead among them.
type Common struct {
	Trait   Trait
	Value   string
	Dead    int
	OfDead  int
	Ended   int
	OfEnded int
	order   int
}

const (
	strongest = 3   // of the traits are told
	slight    = 0.1 // a share that is larger by less is told of nothing
)

// Ended is all that ended in a time, counted by its traits.
type Ended struct {
	n   int
	had []map[string]int // a trait's values
}

// Count counts what ended, the dead among it.
func Count(all []End) Ended {
	out := Ended{n: len(all)}
	for _, t := range traits {
		out.had = append(out.had, tally(all, t.of))
	}
	return out
}

// InCommon says what the dead share, the strongest first. A trait is told where it is more
// frequent among the dead than among all that ended then, by a tenth of them at least, and is
// that of most of at least four deaths, or of at least three at more than twice its share.
// What its group has by definition is left out.
func InCommon(dead []End, ended Ended, without ...Trait) (out []Common) {
	for i, t := range traits {
		if slices.Contains(without, t.Trait) {
			continue
		}
		for value, n := range tally(dead, t.of) {
			c := Common{t.Trait, value, n, len(dead), max(n, ended.had[i][value]), max(len(dead), ended.n), i}
			if c.telling() {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b Common) int {
		return cmp.Or(cmp.Compare(b.excess(), a.excess()), a.order-b.order, cmp.Compare(a.Value, b.Value))
	})
	return out[:min(strongest, len(out))]
}

func tally(all []End, of func(*End) string) map[string]int {
	out := map[string]int{}
	for i := range all {
		if v := of(&all[i]); v != "" {
			out[v]++
		}
	}
	return out
}

// excess is how much larger its share is among the dead.
func (c *Common) excess() float64 { return c.share() - c.usual() }

func (c *Common) share() float64 { return float64(c.Dead) / float64(c.OfDead) }
func (c *Common) usual() float64 { return float64(c.Ended) / float64(c.OfEnded) }

func (c *Common) telling() bool {
	switch {
	case c.excess() < slight:
		return false
	case c.OfDead >= 4 && 2*c.Dead > c.OfDead:
		return true
	}
	return c.Dead >= 3 && c.share() > 2*c.usual()
}

// String says it with its counts.
func (c Common) String() string {
	what := ""
	switch c.Trait {
	case ByNode:
		what = "on node " + c.Value
	case ByPool:
		what = "in pool " + c.Value
	case ByCluster:
		what = "in cluster " + c.Value
	case ByRepository:
		what = "ran jobs of " + c.Value
	case ByHour:
		at, _ := time.Parse("15:04", c.Value) // as it was written above
		what = fmt.Sprintf("between %s and %s UTC", c.Value, at.Add(time.Hour).Format("15:04"))
	}
	return fmt.Sprintf("%d of %d %s (%d of all %d that ended then)", c.Dead, c.OfDead, what, c.Ended, c.OfEnded)
}

// Share fills in what the deaths of each group have in common beside its key.
func Share(all []Group, ended Ended) {
	for i := range all {
		all[i].Common = InCommon(all[i].members, ended, ByPool, ByCluster)
	}
}
