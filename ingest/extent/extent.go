// Package extent tells which time a document's lines span, boot by boot of each node, and which long
// silences in it are holes: lines that were left out, not a quiet node.
//
// Invariant: no time in which a line stands is in a hole, in whatever order the lines come; and memory is
// bounded, however many they are.
//
// Crash behaviour: the package holds no state outside the document being read.
package extent

import (
	"cmp"
	"slices"
	"time"

	"coroner/ingest"
)

// maxBoots bounds how many boots of how many nodes one document tells apart.
const maxBoots = 1024

type key struct{ node, boot string }

// boot is what was read of one boot, and who spoke in it.
type boot struct {
	key
	runs  runs
	trust PerSource[ingest.Trust]
}

// Boots are the boots that a document has lines of. The zero value is ready.
type Boots struct {
	all  map[key]*boot
	last *boot
	cuts int // marks of a cut so far
}

// Any says whether any boot was met.
func (b *Boots) Any() bool { return len(b.all) > 0 }

// Saw takes note that a source wrote at that time, zero if it is not known, in that boot of that node.
func (b *Boots) Saw(node, id string, src ingest.Source, trust ingest.Trust, at time.Time) {
	s := b.boot(key{node, id})
	if s == nil {
		return
	}
	if !at.IsZero() {
		s.runs.saw(at, b.cuts)
	}
	if best := s.trust.ValueOf(src); *best < trust {
		*best = trust
	}
}

// Cut takes note of a mark in the text that says that lines were left out here.
func (b *Boots) Cut() { b.cuts++ }

// CutAfter takes note that what follows the last line of that boot was not written down.
func (b *Boots) CutAfter(node, id string) {
	if s := b.boot(key{node, id}); s != nil {
		s.runs.cuts = -1
	}
}

// boot returns that of k, nil once there are too many.
func (b *Boots) boot(k key) *boot {
	if b.last != nil && b.last.key == k {
		return b.last
	}
	s := b.all[k]
	if s == nil {
		if len(b.all) >= maxBoots {
			return nil
		}
		if b.all == nil {
			b.all = make(map[key]*boot)
		}
		s = &boot{key: k}
		b.all[k] = s
	}
	b.last = s
	return s
}

// Marks yields what was covered: a program that spoke in a boot was read for all the time of the boot
// that is in no hole.
func (b *Boots) Marks(yield func(ingest.Entry, ingest.Mark)) {
	boots := make([]*boot, 0, len(b.all))
	for _, s := range b.all {
		if len(s.runs.all) > 0 {
			boots = append(boots, s)
		}
	}
	slices.SortFunc(boots, func(a, b *boot) int {
		return cmp.Or(cmp.Compare(a.node, b.node), a.runs.all[0].from.Compare(b.runs.all[0].from),
			cmp.Compare(a.boot(), b.boot()))
	})
	for _, s := range boots {
		read := s.runs.read(len(s.trust))
		for _, src := range ingest.Sources {
			trust := s.trust.LookUp(src)
			if trust == nil {
				continue
			}
			for _, r := range read {
				yield(ingest.Entry{Source: src, Trust: *trust, Node: s.node, Boot: s.key.boot},
					ingest.Mark{Kind: ingest.Covered, From: r.from, To: r.to})
			}
		}
	}
}

func (b *boot) boot() string { return b.key.boot }

// PerSource has a value for each source that was met, of which there are few.
type PerSource[T any] []struct {
	source ingest.Source
	value  T
}

// LookUp returns the value of src, nil if it was not met.
func (p PerSource[T]) LookUp(src ingest.Source) *T {
	for i := range p {
		if p[i].source == src {
			return &p[i].value
		}
	}
	return nil
}

// ValueOf returns the value of src, which is met now.
func (p *PerSource[T]) ValueOf(src ingest.Source) *T {
	if v := p.LookUp(src); v != nil {
		return v
	}
	*p = append(*p, struct {
		source ingest.Source
		value  T
	}{source: src})
	return &(*p)[len(*p)-1].value
}
