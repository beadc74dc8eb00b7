package classify

import (
	"slices"
	"strings"
	"time"

	"coroner/classify/nearby"
	"coroner/classify/sequence"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// Subject is a pod as one record names it. Any part can be missing.
type Subject struct {
	Cluster              string // that all of its names are of
	Namespace, Name, UID string
	Node                 string   // where it runs, if the record itself says so
	IDs                  []string // container and sandbox ids
}

// Named says whether the pod can be told from others without its ids.
func (s Subject) Named() bool { return s.Name != "" || s.UID != "" }

// Filing says where one recognised entry belongs, so that it can be found
// again when its runner's case is judged, and what it sets in motion.
type Filing struct {
	Keys     []string  // every name that it can be found by in its cluster
	Subjects []Subject // the pods that it speaks of; several for a list
	Wide     string    // what it says of everything on its node, see Signal.Says; "": nothing
	Ends     bool      // after it a container or a pod was over
	Runner   bool      // it says that its subject is a runner
	JobOver  bool      // it can say that its runner's job is over
	Standing []Standing
	Steady   string // of an entry about a pool only: what it says, the same for each that says the same
	Short    bool   // not all of it was matched, see rules.Rulebook.ScanWithin
}

// Standing is a pool or a job that an entry speaks of, in its cluster.
type Standing struct {
	Kind    casefile.Kind
	Name    string
	Telling bool // a verdict on it can stand on the entry
}

// Key is the name that the entry can be found by as one about it.
func (s Standing) Key() string { return string(s.Kind) + "/" + s.Name }

// The kinds of keys.
const (
	KeyUID  = "uid:"
	KeyName = "pod:" // the bare name; the namespace is told apart by the roster
	KeyID   = "id:"
	KeyPID  = "pid:" // node/pid, which means one process for seconds only

	KeyHelps = "helps:" // the runner that a pod works for which its job's steps run in
)

// File scans one entry and says where it belongs; ok is false when the
// rulebook recognises nothing in it that is about a pod, a node, or a pool that it
// names.
func File(e *ingest.Entry, book *rules.Rulebook) (f Filing, ok bool) {
	signals, short := book.ScanWithin(e)
	signals = slices.DeleteFunc(signals, func(s signal.Signal) bool {
		return s.Def.Reach&^standingReach == 0 && s.PoolName() == "" && s.JobID() == ""
	})
	f = FileSignals(signals)
	f.Short = short
	for i := range signals {
		f.addStanding(&signals[i], book)
		f.addTies(&signals[i])
		f.JobOver = f.JobOver || SaysJobOver(&signals[i], book)
	}
	return f, len(signals) > 0
}

// SaysJobOver says whether a signal can say that its runner's job is over: a verdict on a
// runner that lives can stand on it.
func SaysJobOver(s *signal.Signal, book *rules.Rulebook) bool {
	return book.Decides(casefile.OfRunner, s.Def.Name) && s.Str("status") != "in_progress"
}

// standingReach is what is about pools and jobs.
const standingReach = signal.ReachPool | signal.ReachJob

// addStanding notes the pool and the job that a signal is about.
func (f *Filing) addStanding(s *signal.Signal, book *rules.Rulebook) {
	for _, k := range standingKinds {
		if !s.Def.Reach.Has(k.reach) {
			continue
		}
		name := k.nameOf(s)
		if name == "" {
			continue
		}
		one := Standing{k.kind, name, book.Decides(k.kind, s.Def.Name)}
		same := func(o Standing) bool { return o.Kind == one.Kind && o.Name == one.Name }
		if i := slices.IndexFunc(f.Standing, same); i >= 0 {
			f.Standing[i].Telling = f.Standing[i].Telling || one.Telling
		} else {
			f.Standing = append(f.Standing, one)
		}
	}
	if s.Def.Reach == signal.ReachPool {
		f.Steady += s.Def.Name + sequence.ValuesText(s)
	}
}

// addTies notes what else a job is found by than its number.
func (f *Filing) addTies(s *signal.Signal) {
	for _, key := range jobTies(s) {
		if JobOfTie(key) == "" {
			f.addKey("", key)
		}
	}
}

// FileSignals says where an entry with these signals belongs.
func FileSignals(signals []signal.Signal) (f Filing) {
	for i := range signals {
		f.addSignal(&signals[i])
	}
	return f
}

func (f *Filing) addSignal(s *signal.Signal) {
	if s.Def.Reach&^standingReach == 0 {
		return
	}
	n := (&Roster{}).namesOf(s)
	if s.Def.Reach.Has(signal.ReachNode) {
		f.Wide = firstSet(f.Wide, s.Says())
	}
	f.Ends = f.Ends || s.Def.Ends || s.Def.Exit
	f.Runner = f.Runner || tellsRunner(s)
	if n.several {
		f.addList(s)
		return
	}
	node := s.Str(s.Def.Fills["node"])
	subject := Subject{Cluster: n.cluster, Namespace: n.namespace, Name: n.name, UID: n.uid, Node: node, IDs: n.ids}
	if n.howStrong() > 0 && !slices.ContainsFunc(f.Subjects, subject.sameAs) {
		f.Subjects = append(f.Subjects, subject)
	}
	f.addSubject(subject)
	if n.pid != "" {
		f.addKey(KeyPID, s.Node+"/"+n.pid)
	}
}

// tellsRunner says whether a record by itself makes its pod a runner: its own
// output does, whom the controller and its listener speak of is one, and so is
// an object of a runner pool.
func tellsRunner(s *signal.Signal) bool {
	return s.Source == ingest.Runner || s.Source.TellsOfOthers() ||
		s.Source == ingest.Kube && s.Str("pool") != "" && !strings.HasSuffix(s.Str("component"), "-listener")
}

func (s Subject) sameAs(t Subject) bool {
	return s.Cluster == t.Cluster && s.Namespace == t.Namespace && s.Name == t.Name && s.UID == t.UID &&
		slices.Equal(s.IDs, t.IDs)
}

// addList files a record that names several pods under each of them.
func (f *Filing) addList(s *signal.Signal) {
	for ns, name := range podsIn(s) {
		subject := Subject{Cluster: s.Cluster, Namespace: ns, Name: name}
		f.Subjects = append(f.Subjects, subject)
		f.addSubject(subject)
	}
}

func (f *Filing) addSubject(s Subject) {
	f.addKey(KeyUID, s.UID)
	f.addKey(KeyName, s.Name)
	f.addKey(KeyHelps, runnerOfJobPod(s.Name))
	for _, id := range s.IDs {
		f.addKey(KeyID, id)
	}
}

func (f *Filing) addKey(kind, value string) {
	if k := kind + value; value != "" && !slices.Contains(f.Keys, k) {
		f.Keys = append(f.Keys, k)
	}
}

// StreamSubject is the pod whose stream an entry or a mark stands in.
func StreamSubject(e *ingest.Entry) Subject {
	s := Subject{Cluster: e.Cluster, Namespace: e.Namespace, Name: e.Pod, UID: e.PodUID}
	if e.ContainerID != "" {
		s.IDs = []string{e.ContainerID}
	}
	return s
}

// Keys are the names that the subject can be found by in its cluster.
func (s Subject) Keys() []string {
	var f Filing
	f.addSubject(s)
	return f.Keys
}

// Window is the time around a pod's life in which what happens on its node is
// of interest to it.
func Window(first, last time.Time) (from, to time.Time) {
	return first.Add(-nearby.Before), last.Add(nearby.After)
}
