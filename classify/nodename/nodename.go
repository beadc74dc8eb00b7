// Package nodename says which names can mean the same node, and finds them among many.
//
// Invariant: an Index gives every name that Same allows and no other, in an order
// that does not depend on the one in which they were added.
//
// Crash behaviour: the package is pure; there is no state to lose.
package nodename

import (
	"slices"
	"strings"
)

// Same compares the names of nodes: an unknown one is any, and a short name is the same
// as its fully qualified form.
func Same(a, b string) bool {
	if a == "" || b == "" || a == b {
		return true
	}
	shortA, restA, _ := strings.Cut(a, ".")
	shortB, restB, _ := strings.Cut(b, ".")
	return shortA == shortB && (restA == "" || restB == "")
}

// Index finds names that can mean the same node of a cluster. The zero value is empty.
type Index struct{ clusters map[string]*names }

// names are those of one cluster.
type names struct {
	all     map[string]bool
	byShort map[string][]string // what stands before the first point -> the names, sorted
}

// Add takes in the name of a node of a cluster; one that is there already stays once.
func (x *Index) Add(cluster, name string) {
	if x.clusters == nil {
		x.clusters = map[string]*names{}
	}
	if x.clusters[cluster] == nil {
		x.clusters[cluster] = &names{all: map[string]bool{}, byShort: map[string][]string{}}
	}
	x.clusters[cluster].add(name)
}

func (x *names) add(name string) {
	if x.all[name] {
		return
	}
	x.all[name] = true
	short, _, _ := strings.Cut(name, ".")
	at, _ := slices.BinarySearch(x.byShort[short], name)
	x.byShort[short] = slices.Insert(x.byShort[short], at, name)
}

// Like returns the names that can mean the same node of the cluster as name, sorted.
func (x *Index) Like(cluster, name string) []string {
	if x.clusters[cluster] == nil {
		return nil
	}
	return x.clusters[cluster].like(name)
}

func (x *names) like(name string) (out []string) {
	if name == "" {
		for name := range x.all {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	short, _, _ := strings.Cut(name, ".")
	if x.all[""] && short != "" {
		out = append(out, "")
	}
	for _, known := range x.byShort[short] {
		if Same(known, name) {
			out = append(out, known)
		}
	}
	return out
}
