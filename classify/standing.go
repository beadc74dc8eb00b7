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

// Pools and jobs are cases of their own: nothing of them need be dead. Their evidence is
// what signals say that are about them: of the pool that they name or whose runner or
// listener they speak of, of the job that they name.

// standingKind is a kind of such cases.
type standingKind struct {
	kind   casefile.Kind
	reach  signal.Reach                // of the signals that are about them
	nameOf func(*signal.Signal) string // which one a signal is about, "" if it does not tell
}

var standingKinds = []standingKind{
	{casefile.OfPool, signal.ReachPool, (*signal.Signal).PoolName},
	{casefile.OfJob, signal.ReachJob, (*signal.Signal).JobID},
}

// standingCases are the cases of all pools and jobs that the signals speak of.
func standingCases(signals []*signal.Signal) (out []*casefile.Case) {
	for _, k := range standingKinds {
		out = append(out, k.casesOf(signals)...)
	}
	return out
}

// casesOf are the cases of one kind. What names none is about the only one that is named
// in its cluster; where there are several, or none, it is about one without a name.
func (k *standingKind) casesOf(signals []*signal.Signal) (out []*casefile.Case) {
	var about []*signal.Signal
	var named map[string]map[string]bool // of each cluster: those that are named
	for _, s := range signals {
		if !s.Def.Reach.Has(k.reach) {
			continue
		}
		about = append(about, s)
		if name := k.nameOf(s); name != "" {
			named = addTo(named, s.Cluster, name)
		}
	}
	if about == nil {
		return nil
	}
	cases := map[inCluster]*casefile.Case{}
	for _, s := range about {
		name, told := k.nameOf(s), true
		if name == "" {
			name, told = onlyOf(named[s.Cluster]), false
		}
		of := inCluster{s.Cluster, name}
		if cases[of] == nil {
			cases[of] = &casefile.Case{Kind: k.kind, Cluster: s.Cluster, Name: name}
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

// JudgeStanding is the verdict on a pool or a job of a cluster by entries that speak of it.
func JudgeStanding(
	entries iter.Seq[ingest.Entry], book *rules.Rulebook, kind casefile.Kind, cluster, name string,
) rules.Verdict {
	record := Join([]*Part{Take(entries, book)})
	for _, c := range standingCases(record.viewFor(Options{}).Signals) {
		if c.Kind == kind && c.Cluster == cluster && c.Name == name {
			return book.Judge(c)
		}
	}
	return book.Judge(&casefile.Case{Kind: kind, Cluster: cluster, Name: name})
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
	return slices.Collect(maps.Keys(names))[0]
}
