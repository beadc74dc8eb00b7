// Package sequence puts signals into their one order, and drops those that were
// delivered twice.
//
// Invariant: the order is total: signals that compare equal are the same record. So
// a verdict does not depend on the order in which its evidence came.
//
// Crash behaviour: the package is pure; there is no state to lose.
package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

// Compare orders by time; records of one moment by source, node,
// document and line. What has no time stands where its document has it, whoever wrote it.
func Compare(a, b *signal.Signal) int {
	if c := PlaceInTime(a).Compare(PlaceInTime(b)); c != 0 {
		return c
	}
	switch timed := !a.At.IsZero(); {
	case timed != !b.At.IsZero() && timed:
		return -1
	case timed != !b.At.IsZero():
		return 1
	case !timed:
		if c := cmp.Or(cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Line, b.Line)); c != 0 {
			return c
		}
	}
	if c := cmp.Or(cmp.Compare(sourceOrder[a.Source], sourceOrder[b.Source]), cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text),
		cmp.Compare(a.Def.Name, b.Def.Name)); c != 0 {
		return c
	}
	if c := cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.PodUID, b.PodUID),
		cmp.Compare(a.Container, b.Container)); c != 0 {
		return c // before what costs the most
	}
	return cmp.Or(cmp.Compare(ValuesText(a), ValuesText(b)), -cmp.Compare(a.Trust, b.Trust))
}

// PlaceInTime is when a record was written, or for one without a time when the
// record before it was.
func PlaceInTime(s *signal.Signal) time.Time {
	if s.At.IsZero() {
		return s.After
	}
	return s.At
}

// ValuesText tells signals of one text apart that differ in what travelled
// beside the text.
func ValuesText(s *signal.Signal) string { return fmt.Sprint(s.Captures()) }

var sourceOrder = func() map[ingest.Source]int {
	m := map[ingest.Source]int{}
	for i, s := range ingest.Sources {
		m[s] = i
	}
	return m
}()

// record is what, with their values, makes two signals the same record,
// delivered twice. Lines without a time can be alike and yet two.
type record struct {
	def                                                 *signal.Def
	at                                                  time.Time
	source                                              ingest.Source
	cluster, node, namespace, pod, uid, container, text string
	doc                                                 string
	line                                                int
}

// WithoutRepeats drops repetitions from signals that are in their order. The one that stays
// has the best trust of them, and knows where the others stood.
func WithoutRepeats(signals []*signal.Signal) []*signal.Signal {
	seen, out := map[record][]*signal.Signal{}, signals[:0]
	for i, s := range signals {
		if standsAlone(signals, i) || !seenBefore(seen, s) {
			out = append(out, s)
		}
	}
	clear(signals[len(out):])
	return out
}

// standsAlone says whether no signal stands beside one that was written at its moment:
// most have no repetition, and need not be remembered.
func standsAlone(signals []*signal.Signal, i int) bool {
	s := signals[i]
	same := func(t *signal.Signal) bool { return PlaceInTime(t).Equal(s.At) }
	return !s.At.IsZero() && (i == 0 || !same(signals[i-1])) && (i == len(signals)-1 || !same(signals[i+1]))
}

// seenBefore says whether a signal was seen before, and remembers it.
func seenBefore(seen map[record][]*signal.Signal, s *signal.Signal) bool {
	k := record{def: s.Def, at: s.At.UTC(), source: s.Source, cluster: s.Cluster, node: s.Node,
		namespace: s.Namespace, pod: s.Pod, uid: s.PodUID, container: s.Container, text: s.Text}
	if s.At.IsZero() {
		k.doc, k.line = s.Doc, s.Line
	}
	for _, first := range seen[k] { // most often none
		if ValuesText(first) == ValuesText(s) {
			first.Trust = max(first.Trust, s.Trust)
			if s.Doc != first.Doc && !slices.Contains(first.Again, s.Doc) {
				first.Again = append(first.Again, s.Doc)
			}
			return true
		}
	}
	seen[k] = append(seen[k], s)
	return false
}
