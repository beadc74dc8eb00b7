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

// Differ says whether two names are given and are not the same node's.
func Differ(a, b string) bool { return a != "" && b != "" && !Same(a, b) }

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

// IsDefault says whether it is the name of a machine to which nobody gave one. Many have it, so a line
// with it may be another machine's.
func IsDefault(name string) bool {
	short, _, _ := strings.Cut(name, ".")
	return short == "localhost" || short == "(none)"
}

// Index finds names that can mean the same node of a cluster. The zero value is empty.
type Index struct{ clusters map[string]names }

// names are those of one cluster: what stands before the first point -> the names, sorted.
type names map[string][]string

// Add takes in the name of a node of a cluster; one that is there already stays once.
func (x *Index) Add(cluster, name string) {
	if x.clusters == nil {
		x.clusters = map[string]names{}
	}
	if x.clusters[cluster] == nil {
		x.clusters[cluster] = names{}
	}
	x.clusters[cluster].add(name)
}

func (x names) add(name string) {
	short, _, _ := strings.Cut(name, ".")
	at, known := slices.BinarySearch(x[short], name)
	if !known {
		x[short] = slices.Insert(x[short], at, name)
	}
}

// Like returns the names that can mean the same node of the cluster as name, sorted.
func (x *Index) Like(cluster, name string) []string { return x.clusters[cluster].like(name) }

func (x names) like(name string) (out []string) {
	if name == "" {
		for _, some := range x {
			out = append(out, some...)
		}
		slices.Sort(out)
		return out
	}
	short, _, _ := strings.Cut(name, ".")
	out = make([]string, 0, len(x[short])+2) // the unknown name, and one that a caller may add
	if unknown := x[""]; short != "" && len(unknown) > 0 && unknown[0] == "" {
		out = append(out, "")
	}
	for _, known := range x[short] {
		if Same(known, name) {
			out = append(out, known)
		}
	}
	return out
}
