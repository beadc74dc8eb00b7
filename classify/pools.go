package classify

import (
	"iter"
	"maps"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A pool is a case of its own: nothing of it need be dead. Its evidence is what
// signals say that are about pools, of the pool that they name or whose runner or
// listener they speak of.

// poolCases are the cases of all pools that the signals speak of. What names none is
// about the only pool that is named in its cluster; where there are several, or none,
// it is about a pool without a name.
func poolCases(signals []*signal.Signal) (out []*casefile.Case) {
	var about []*signal.Signal
	var named map[string]map[string]bool // of each cluster: its pools
	for _, s := range signals {
		if !s.Def.Reach.Has(signal.ReachPool) {
			continue
		}
		about = append(about, s)
		if pool := s.PoolName(); pool != "" {
			named = addTo(named, s.Cluster, pool)
		}
	}
	if about == nil {
		return nil
	}
	cases := map[inCluster]*casefile.Case{}
	for _, s := range about {
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
	for _, of := range slices.SortedFunc(maps.Keys(cases), inCluster.compare) {
		out = append(out, cases[of])
	}
	return out
}

// JudgePool is the verdict on a pool of a cluster by entries that speak of it.
func JudgePool(entries iter.Seq[ingest.Entry], book *rules.Rulebook, cluster, pool string) rules.Verdict {
	record := Join([]*Part{Take(entries, book)})
	for _, c := range poolCases(record.viewFor(Options{}).Signals) {
		if c.Cluster == cluster && c.Name == pool {
			return book.Judge(c)
		}
	}
	return book.Judge(&casefile.Case{Kind: casefile.OfPool, Cluster: cluster, Name: pool})
}

// Passed says whether what was wrong with a pool was over so soon that nobody felt it.
func Passed(v *rules.Verdict) bool {
	return v.State == rules.Resolved && v.Since != nil && v.Until.Sub(*v.Since) < 2*time.Minute
}

// addTo adds a name to the set of a cluster.
func addTo(sets map[string]map[string]bool, cluster, name string) map[string]map[string]bool {
	if sets == nil {
		sets = map[string]map[string]bool{}
	}
	if sets[cluster] == nil {
		sets[cluster] = map[string]bool{}
	}
	sets[cluster][name] = true
	return sets
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
