package classify

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A name is used again: a controller makes a pod anew under the name of the one
// before, a StatefulSet within a second. So a line that has only the name is
// about the pod that had it when the line was written, and never about one that
// was made afterwards.

// clockKind is whose clock a record's time was read from.
type clockKind int

const (
	nodeClock clockKind = iota // the kernel's and the host programs' of a node
	apiClock                   // the API server's, and those of programs beside it
	clocks
)

// clockOf is the clock of whoever wrote the record: an event has its writer's, and
// many are the kubelet's.
func clockOf(s *signal.Signal) clockKind {
	if s.Source.Host() || s.Source == ingest.Kube && strings.HasPrefix(s.Str("from"), "kubelet") {
		return nodeClock
	}
	return apiClock
}

// apiUnit is what the API's times are rounded down to.
const apiUnit = time.Second

// clocksApart is how far two clocks can be apart that nobody compares.
const clocksApart = 2 * time.Minute

// moment is when something was written, and where, for lines of the same second.
type moment struct {
	at   time.Time
	doc  string
	line int
}

// follows reports whether the moment came after the line.
func (m moment) follows(s *signal.Signal) bool {
	if !s.At.Equal(m.at) {
		return s.At.Before(m.at)
	}
	return s.Doc != "" && s.Doc == m.doc && s.Line < m.line
}

// standing says whether a line that has only the pod's name can be about the pod.
type standing int

const (
	before standing = iota // the pod was not made yet
	likely                 // it may have been made already: two clocks tell, or nothing does
	there                  // it had been made
)

// standing says how a line stands to the pod's making.
func (p *Pod) standing(s *signal.Signal) standing {
	if s.At.IsZero() {
		return there
	}
	own, other := p.made[clockOf(s)], p.made[clocks-1-clockOf(s)]
	switch {
	case !own.at.IsZero():
		ahead := own.at.Sub(s.At)
		if own.follows(s) && !(s.Def.Starts && ahead < startsWithin || s.Source == ingest.Kube && ahead < apiUnit) {
			return before
		}
		return there
	case !other.at.IsZero():
		if s.At.Before(other.at.Add(-clocksApart)) {
			return before
		}
		if s.At.Before(other.at) {
			return likely
		}
		return there
	case !p.First.IsZero() && s.At.Before(p.First.Add(-clocksApart)):
		return likely
	}
	return there
}

// doubtOf says why a line need not be about the pod that it names.
func (a *assembler) doubtOf(p *Pod, s *signal.Signal) casefile.Doubt {
	switch printed := a.roster.printed.doubtOf(s); {
	case printed != casefile.NoDoubt:
		return printed
	case a.roster.doubts(p, s):
		return casefile.Doubtful
	case a.roster.unties(p, s):
		return casefile.Untied
	}
	return casefile.NoDoubt
}

// doubts says whether a line need not be about the pod: it has only the name and was
// written before the pod was made, by clocks that nobody compares.
func (r *Roster) doubts(p *Pod, s *signal.Signal) bool {
	n := r.namesOf(s)
	return n.uid == "" && len(n.ids) == 0 && n.name == p.Name && n.name != "" &&
		p.standing(s) == likely && s.At.Before(p.made[clocks-1-clockOf(s)].at)
}

// startWithin is how long a pod may wait for its first container.
const startWithin = 10 * time.Minute

// listsWithin is how soon a kubelet that was started lists the pods that it has.
const listsWithin = 30 * time.Second

// startsWithin is how long the records of one start take.
const startsWithin = 2 * time.Second

// madeAgain is what a runtime prints where it makes a pod's sandbox another time.
var madeAgain = regexp.MustCompile(`(?i)\battempt: ?[1-9]`)

// tellsBirth reports whether a record says that a whole pod was made: a start
// that names no container.
func tellsBirth(s *signal.Signal, n names) bool {
	if !s.Def.Starts || s.Source.Forgeable() || s.At.IsZero() || n.several {
		return false
	}
	for _, id := range n.ids {
		if !slices.Contains(n.sandboxes, id) {
			return false
		}
	}
	return !madeAgain.MatchString(s.Text)
}

// learnBirths notes when each pod that has a UID was made. A record without one
// is of the pod of that name that is heard of next; a kubelet that was started
// again adds the pods that it has had all along.
func (r *Roster) learnBirths(signals []*signal.Signal) {
	var restarts []*signal.Signal
	for _, s := range signals {
		if s.Def.Name == "kubelet.started" {
			restarts = append(restarts, s)
		}
	}
	for _, s := range signals {
		n := r.namesOf(s)
		if !tellsBirth(s, n) || s.Source == ingest.Kubelet && listed(s, restarts) {
			continue
		}
		p := r.byUID[n.in(n.uid)]
		if n.uid == "" {
			p = r.bornWith(n, s)
		}
		if p == nil || p.known != notKnown && !s.Proven() {
			continue // a claim takes no line from a pod that trusted records know
		}
		if made := &p.made[clockOf(s)]; made.at.IsZero() || s.At.Before(made.at) {
			*made = moment{s.At, s.Doc, s.Line}
		}
	}
}

// listed reports whether a kubelet says of a pod what it says of all when it is started.
func listed(s *signal.Signal, restarts []*signal.Signal) bool {
	return slices.ContainsFunc(restarts, func(start *signal.Signal) bool {
		since := s.At.Sub(start.At)
		return s.Cluster == start.Cluster && nodename.Same(s.Node, start.Node) && since >= 0 && since < listsWithin
	})
}

// bornWith is the pod of a name that is first heard of after a record.
func (r *Roster) bornWith(n names, s *signal.Signal) (next *Pod) {
	for _, p := range r.podsCalled(n.in(n.name), n.namespace) {
		heard := p.heard[clockOf(s)]
		if heard.IsZero() || heard.Before(s.At.Add(-startsWithin)) || heard.After(s.At.Add(startWithin)) {
			continue
		}
		if next == nil || heard.Before(next.heard[clockOf(s)]) {
			next = p
		}
	}
	return next
}

// certain reports whether a name means this pod and no other in a line: at one
// time one pod of a namespace has a name.
func (r *Roster) certain(n names, p *Pod, s *signal.Signal) bool {
	called := r.podsCalled(n.in(n.name), n.namespace)
	if s.At.IsZero() {
		return len(called) == 1
	}
	if p.standing(s) != there {
		return false
	}
	made := p.made[clockOf(s)].at
	for _, q := range called {
		later := q.standing(s) == before
		earlier := !made.IsZero() && !q.heard[clockOf(s)].IsZero() && q.heard[clockOf(s)].Before(made)
		if q != p && (q.Namespace != p.Namespace || !later && !earlier) {
			return false
		}
	}
	return true
}

// A UID is no UID where somebody gave several pods the same.

// voidUIDs finds the UIDs that trusted records give to pods of different names.
func (r *Roster) voidUIDs(signals []*signal.Signal) {
	named := map[inCluster]string{}
	for _, s := range signals {
		n := r.namesOf(s)
		if n.uid == "" || n.name == "" || n.several || !mayTeach(s) || s.Source == ingest.Controller {
			continue
		}
		uid := n.in(n.uid)
		if was := named[uid]; was != "" && was != n.name {
			if r.void == nil {
				r.void = map[inCluster]bool{}
			}
			r.void[uid] = true
		}
		named[uid] = n.name
	}
	if r.void == nil {
		return
	}
	for s, n := range r.names {
		if r.void[n.in(n.uid)] {
			n.uid, n.anyUID = "", true
			r.names[s] = n
		}
	}
}
