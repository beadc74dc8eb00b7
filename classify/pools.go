package classify

import (
	"maps"
	"slices"

	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A pool is a case of its own: nothing of it need be dead. Its evidence is what
// signals say that are about pools, of the pool that they name or whose runner or
// listener they speak of.

// poolCases are the cases of all pools that the signals speak of. What names none is
// about the only pool that is named in its cluster; where there are several, or none,
// it is about a pool without a name.
func poolCases(signals []*signal.Signal) []*casefile.Case {
	named := map[string]map[string]bool{} // of each cluster: its pools
	for _, s := range signals {
		if pool := s.PoolName(); pool != "" && s.Def.Reach.Has(signal.ReachPool) {
			if named[s.Cluster] == nil {
				named[s.Cluster] = map[string]bool{}
			}
			named[s.Cluster][pool] = true
		}
	}
	cases := map[inCluster]*casefile.Case{}
	for _, s := range signals {
		if !s.Def.Reach.Has(signal.ReachPool) {
			continue
		}
		pool, told := s.PoolName(), true
		if pool == "" {
			pool, told = onlyOf(named[s.Cluster]), false
		}
		of := inCluster{s.Cluster, pool}
		if cases[of] == nil {
			cases[of] = &casefile.Case{Kind: casefile.OfPool, Cluster: s.Cluster, Name: pool}
		}
		cases[of].Evidence = append(cases[of].Evidence, casefile.Evidence{
			Signal: s, Mine: true, Proven: told && s.Proven(),
		})
	}
	var out []*casefile.Case
	for _, of := range slices.SortedFunc(maps.Keys(cases), inCluster.compare) {
		out = append(out, cases[of])
	}
	return out
}

// onlyOf is the one name of a set that has one.
func onlyOf(names map[string]bool) string {
	if len(names) != 1 {
		return ""
	}
	for name := range names {
		return name
	}
	return ""
}
