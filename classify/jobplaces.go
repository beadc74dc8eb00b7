package classify

import (
	"strings"

	"coroner/ingest"
	"coroner/rules/signal"
)

// In files nobody says which pods are controllers: their names make it likely. Where runners
// run, a job may be able to start a pod that is called so. What such a pod says there is a
// claim, however the text came and wherever in it the runner shows.

// jobPlaces finds the namespaces in which runners run: by whose output was read, by the pods
// that were told of, and by what a controller there says itself. Of equal names in two clusters
// it makes no difference.
func (r *Record) jobPlaces() map[string]bool {
	out := map[string]bool{}
	for i := range r.Marks {
		m := &r.Marks[i]
		if runsJobs(m.Source, m.Pod, m.Container) {
			out[m.Namespace] = true
		}
	}
	for _, s := range r.Signals {
		if r.ofItsOwnPlace(s) || runsJobs(s.Source, s.Pod, s.Container) {
			out[s.Namespace] = true
		}
	}
	delete(out, "") // of one that is not known
	return out
}

// ofItsOwnPlace says whether a controller's word is of a runner in the namespace of its own pod.
func (r *Record) ofItsOwnPlace(s *signal.Signal) bool {
	return s.Source.TellsOfOthers() && s.Pod != "" && r.ids.namesOf(s).namespace == s.Namespace
}

// leavesPlaceOut says whether a controller's word names a pod and not where it is: the real
// ones name both.
func (r *Record) leavesPlaceOut(s *signal.Signal) bool {
	n := r.ids.namesOf(s)
	return s.Source.TellsOfOthers() && s.Pod != "" && n.name != "" && n.namespace == ""
}

// runsJobs says whether what is known of a pod makes it a runner.
func runsJobs(source ingest.Source, pod, container string) bool {
	switch {
	case pod == "":
		return false
	case source == ingest.Runner:
		return true
	case source != ingest.Kube && source != ingest.Job:
		return false
	}
	controls := strings.HasSuffix(pod, "-listener") || strings.Contains(pod, "-controller-")
	return container == "runner" || strings.Contains(pod, "-runner-") && !controls
}
