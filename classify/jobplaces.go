package classify

import (
	"strings"

	"coroner/ingest"
	"coroner/rules/signal"
)

// In files nobody says which pods are controllers: their names make it likely. Where runners
// run, a job may be able to start a pod that is called so. What such a pod says there is a
// claim, however the text came and wherever in it the runner shows.

// jobPlaces are where runners run. Of equal names in two clusters it makes no difference.
type jobPlaces struct {
	namespaces map[string]bool
	others     bool // the output of a runner was read that does not tell its namespace
}

// have says whether a job may have written a controller's word: its pod is where runners run,
// or may be. Nobody's jobs run where controllers are installed.
func (p *jobPlaces) have(s *signal.Signal) bool {
	if s.Pod == "" || !s.Source.TellsOfOthers() {
		return false
	}
	return p.namespaces[s.Namespace] || p.others && !controllersPlaces[s.Namespace]
}

// controllersPlaces are the namespaces that actions-runner-controller's documentation installs
// controllers into.
var controllersPlaces = map[string]bool{"arc-systems": true, "actions-runner-system": true}

// jobPlaces finds the namespaces in which runners run: by whose output was read, by the pods
// that were told of, and by what a controller there says itself.
func (r *Record) jobPlaces() jobPlaces {
	out := jobPlaces{namespaces: map[string]bool{}}
	for i := range r.Marks {
		m := &r.Marks[i]
		switch {
		case ofNodesLogs(m): // of any place
		case m.Source == ingest.Runner && m.Namespace == "":
			out.others = true
		case runsJobs(m.Source, m.Pod, m.Container):
			out.namespaces[m.Namespace] = true
		}
	}
	for _, s := range r.Signals {
		if r.ofItsOwnPlace(s) || runsJobs(s.Source, s.Pod, s.Container) {
			out.namespaces[s.Namespace] = true
		}
	}
	delete(out.namespaces, "") // of one that is not known
	return out
}

// ofItsOwnPlace says whether a controller's word is of a runner in the namespace of its own pod.
func (r *Record) ofItsOwnPlace(s *signal.Signal) bool {
	return s.Source.TellsOfOthers() && s.Pod != "" && r.ids.namesOf(s).namespace == s.Namespace
}

// leavesPlaceOut says whether a controller's word names a pod and not where it is. Controllers
// name both; listeners seldom do, but a job has none where controllers are installed.
func (r *Record) leavesPlaceOut(s *signal.Signal) bool {
	n := r.ids.namesOf(s)
	return s.Source.TellsOfOthers() && s.Pod != "" && n.name != "" && n.namespace == "" &&
		!controllersPlaces[s.Namespace]
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
