package docket

import (
	"strings"

	"coroner/classify"
	"coroner/ingest"
)

// Origin says whose word entries are. The zero value is an agent whose node was not
// checked, and what the server hears itself.
type Origin struct {
	Shipper bool   // plain streams: whoever sends them follows no node, so its silence proves nothing
	Placed  Placed // where the API server has pods; nil: entries are taken at their word
}

// Placed says whether a pod is, or was, on the node that the entries come from.
// known is false where nobody can say. Any part of the subject may be missing.
type Placed func(s classify.Subject) (here, known bool)

// mayFile says whether an entry may be filed that stands in a pod's stream, or speaks
// of pods: what contradicts the API server is refused, what it does not know is
// made a claim, unless it is what happened to the whole node.
func (b *batch) mayFile(e *ingest.Entry, subjects []classify.Subject, wide bool) (bool, error) {
	if b.from.Placed == nil {
		return true, nil
	}
	for i := range subjects {
		here, known, err := b.locatePod(&subjects[i])
		if err != nil {
			return false, err
		}
		if known && !here {
			b.elsewhere++
			return false, nil
		}
		if !known {
			b.unplaced[podOf(&subjects[i])] = true
		}
		if !known && !wide {
			makeClaim(e)
		}
	}
	return true, nil
}

// streamOf is the pod whose stream an entry or a mark stands in, if it is one's.
func streamOf(e *ingest.Entry) []classify.Subject {
	if s := classify.StreamSubject(e); s.Named() || len(s.IDs) > 0 {
		return []classify.Subject{s}
	}
	return nil
}

// ofHost says whether a source speaks of its own node's pods only. A controller
// speaks of pods on every node.
func ofHost(s ingest.Source) bool {
	switch s {
	case ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd:
		return true
	}
	return false
}

// locatePod looks for a subject by its names and by whose its ids are known to be.
func (b *batch) locatePod(s *classify.Subject) (here, known bool, err error) {
	here, known = b.from.Placed(*s)
	for _, id := range s.IDs {
		if known && !here {
			return false, true, nil
		}
		c, _, err := b.cases.findCase(&classify.Subject{Cluster: s.Cluster, IDs: []string{id}})
		if err != nil {
			return false, false, err
		}
		if c == nil {
			continue
		}
		its := classify.Subject{Cluster: c.Cluster, Namespace: c.Namespace, Name: c.Name, UID: c.UID}
		if h, k := b.from.Placed(its); k {
			here, known = h, true
		}
	}
	return here, known, nil
}

// makeClaim makes a claim of an entry whose pod nobody knows. A controller that is not
// known to run there is none.
func makeClaim(e *ingest.Entry) {
	if fromController(e) {
		e.Source = ingest.Job
	}
	e.Trust = ingest.Claimed
}

// podOf is a key for a subject of the batch.
func podOf(s *classify.Subject) string {
	if s.Named() {
		return strings.Join([]string{s.Cluster, s.UID, s.Namespace, s.Name}, " ")
	}
	return s.Cluster + " id " + subjectOf(s).ids
}

// asTeacher is an entry as a case may learn from it: where a pod is that nobody knows
// it cannot say.
func (b *batch) asTeacher(e *ingest.Entry, s *classify.Subject) *ingest.Entry {
	if !b.unplaced[podOf(s)] {
		return e
	}
	claim := *e
	claim.Node = ""
	return &claim
}
