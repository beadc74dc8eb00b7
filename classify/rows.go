package classify

import (
	"time"

	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A row of kubectl's tables has the name of its pod and an age: neither a UID nor a
// time. An earlier pod of the name may be meant, whose events are kept for an hour.

// learnAges notes how old each pod was when somebody listed it.
func (r *Roster) learnAges(signals []*signal.Signal) {
	for _, s := range signals {
		if s.Def.Name != "kube.row" || ageOf(s) == 0 {
			continue
		}
		age := ageOf(s)
		if r.ages == nil {
			r.ages = map[*Pod]time.Duration{}
		}
		if p, ok := r.podNamed(r.namesOf(s), s); ok && (r.ages[p] == 0 || age < r.ages[p]) {
			r.ages[p] = age
		}
	}
}

// unties says whether a line is a row that need not be about the pod: the pod is known
// by its UID and the row has none, or what it tells of happened before the pod was made. So it is
// with a status that is only claimed, as the copy that a runner's object has of its pod's.
func (r *Roster) unties(p *Pod, s *signal.Signal) bool {
	event := s.Def.Name == "kube.event" && s.Str("object") != ""
	row := s.Def.Name == "kube.row" || s.Def.Name == "kube.status" && !s.Proven()
	if s.Source != ingest.Kube || !s.At.IsZero() || !event && !row {
		return false
	}
	if n := r.namesOf(s); n.uid != "" || len(n.ids) > 0 || n.name != p.Name {
		return false
	}
	return p.UID != "" || event && r.ages[p] > 0 && ageOf(s) > r.ages[p]+clocksApart
}

// ageOf is the age in a row, 0 where it has none.
func ageOf(s *signal.Signal) time.Duration {
	return time.Duration(casefile.SecondsOfAge(s.Str("age"))) * time.Second
}
