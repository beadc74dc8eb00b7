package classify

import (
	"iter"
	"maps"
	"slices"
)

// perRecord yields the cluster of every signal, place and mark, with its document.
func (r *Record) perRecord() iter.Seq2[*string, string] {
	return func(yield func(*string, string) bool) {
		for _, s := range r.Signals {
			if !yield(&s.Cluster, s.Doc) {
				return
			}
		}
		if r.quiet != nil {
			for i := range r.quiet.Places() {
				if p := &r.quiet.Places()[i]; !yield(&p.Cluster, p.Doc) {
					return
				}
			}
		}
		for i := range r.left {
			if !yield(&r.left[i].Cluster, r.left[i].Doc) {
				return
			}
		}
		for i := range r.Marks {
			if !yield(&r.Marks[i].Cluster, r.Marks[i].Doc) {
				return
			}
		}
	}
}

// clusters are the clusters that the record speaks of, "" among them where a part
// of it names none.
func (r *Record) clusters() []string {
	all := map[string]bool{}
	for cluster := range r.perRecord() {
		all[*cluster] = true
	}
	if len(all) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(all))
}

// onlyCluster gives the one cluster that was named to documents that name none:
// what kubectl and journalctl wrote beside a log store's export. Where a document
// names a cluster, its records without one are of another, which is not known.
func (r *Record) onlyCluster() {
	only, names := "", map[string]bool{}
	for cluster, doc := range r.perRecord() {
		if *cluster == "" {
			continue
		}
		if only != "" && *cluster != only {
			return
		}
		only, names[doc] = *cluster, true
	}
	if only == "" {
		return
	}
	for cluster, doc := range r.perRecord() {
		if *cluster == "" && !names[doc] {
			*cluster = only
		}
	}
}
