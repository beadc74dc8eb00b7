package classify

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"coroner/classify/quiet"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// Options say whose death is asked for.
type Options struct {
	Runner string // name, prefix of a name, or pod UID; "" = every candidate
	// Strict: records that name nobody are nobody's, for they come from everywhere and
	// not from a folder about one runner.
	Strict bool
}

// question is what decides which of the quiet signals matter.
func (o Options) question() quiet.Question {
	r := NewRoster()
	q := quiet.Question{Names: func(s *signal.Signal) []string {
		n := r.namesOf(s)
		return n.all()
	}}
	if o.Runner != "" {
		q.Asked = o.asksFor
	}
	return q
}

// asksFor says whether a signal can be about the runner that is asked for.
func (o Options) asksFor(s *signal.Signal) bool {
	if o.Runner == "" {
		return false
	}
	n := (&Roster{}).namesOf(s)
	name := o.Runner[strings.LastIndexByte(o.Runner, '/')+1:]
	return strings.HasPrefix(n.name, name) || strings.HasPrefix(n.uid, name)
}

// Replay is the one way from entries to verdicts: scan, learn who is who,
// attribute, judge. It returns at least one verdict, deaths first, the better
// founded before the less, then by time. When nothing died it is one verdict
// none.
func Replay(entries iter.Seq[ingest.Entry], book *rules.Rulebook, o Options) []rules.Verdict {
	return Join([]*Part{Take(entries, book)}).Verdicts(book, o)
}

// ReplayScanned is Replay for entries that were scanned with the same rulebook, that nobody
// changes while a verdict is in use, and of which the operator said whose pods are controllers.
func ReplayScanned(entries iter.Seq[*Scanned], book *rules.Rulebook, o Options) []rules.Verdict {
	r := newRecord(book)
	r.words, r.live = nil, true // nothing is copied
	for e := range entries {
		r.addEntry(&e.Entry, e.Signals)
	}
	return Join([]*Part{{record: r}}).Verdicts(book, o)
}

// Cases are all that Replay would judge: runners, life by life, then pools and jobs, then what
// names nobody.
func Cases(entries iter.Seq[ingest.Entry], book *rules.Rulebook) (out []*casefile.Case) {
	r := Join([]*Part{Take(entries, book)})
	files := assemble(r.viewFor(Options{}), Options{})
	files.tellRunners(book)
	pods := listedBy(r.Signals)
	for _, f := range files.named {
		pods.tellMissing(f, book)
		out = append(out, f.Attempts()...)
	}
	return append(append(out, files.standing...), files.unnamed...)
}

// Verdicts judges everything in the record.
func (r *Record) Verdicts(book *rules.Rulebook, o Options) []rules.Verdict {
	files := assemble(r.viewFor(o), o)
	if files.hasJob(o.Runner) { // what is known of its runner counts
		another := func(v rules.Verdict) bool { return v.Kind != casefile.OfJob || v.Job.ID != o.Runner }
		if own := slices.DeleteFunc(r.Verdicts(book, Options{Strict: o.Strict}), another); len(own) > 0 {
			return own
		}
	}
	files.tellRunners(book)
	pods := listedBy(r.Signals)
	var named, all []rules.Verdict
	for _, f := range files.named {
		if o.Runner == "" && pods.isStranger(f) {
			continue
		}
		pods.tellMissing(f, book)
		for _, life := range f.Attempts() {
			v := book.Judge(life)
			files.tellJobs(f, &v, book)
			all = append(all, v)
			if v.Label != rules.None {
				named = append(named, v)
			}
		}
	}
	standing := judgeStandings(files.standing, book, o)
	if o.Runner != "" {
		return byDeath(orStandings(all, standing))
	}
	out := append(named, standing...)
	for _, f := range files.unnamed {
		if v := book.Judge(f); worthTelling(f, v, named) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, nothingDied(all, book, files))
	}
	return byDeath(out)
}

// judgeStandings are the verdicts of the pools and jobs that something is wrong with, of
// one where it is asked for by its name.
func judgeStandings(cases []*casefile.Case, book *rules.Rulebook, o Options) (out []rules.Verdict) {
	for _, c := range cases {
		if o.Runner != "" && o.Runner != c.Name {
			continue
		}
		if v := book.Judge(c); v.Label != rules.None && !Passed(&v) {
			out = append(out, v)
		}
	}
	return out
}

// orStandings are the verdicts of the runner that was asked for; where the name is a
// pool's or a job's that something is wrong with, those of it.
func orStandings(runner, standing []rules.Verdict) []rules.Verdict {
	if len(standing) > 0 {
		return standing
	}
	return runner
}

// worthTelling says whether what no name of its cluster explains is worth a
// verdict of its own: always when nothing named died there, unless the node's log only
// suspects what a runner lived through; else only a real cause, of a pod's evidence and
// not only the node's.
func worthTelling(c *casefile.Case, v rules.Verdict, named []rules.Verdict) bool {
	if v.Label == rules.None || len(c.Evidence) == 0 {
		return false
	}
	cause := func(v rules.Verdict) bool { return v.Death() && v.Label != rules.Unknown }
	here := func(n rules.Verdict) bool { return n.Cluster == v.Cluster && cause(n) }
	own := slices.ContainsFunc(c.Evidence, func(e casefile.Evidence) bool { return e.Mine })
	if !slices.ContainsFunc(named, here) {
		well := func(n rules.Verdict) bool { return n.Cluster == v.Cluster && endedWell(n) }
		return own || v.Confidence != rules.Suspected || !slices.ContainsFunc(named, well)
	}
	told := func(n rules.Verdict) bool { return n.Cluster == v.Cluster && n.Label == v.Label }
	return own && !slices.ContainsFunc(named, told) && cause(v)
}

func endedWell(v rules.Verdict) bool { return !v.Death() && v.Label != rules.None }

// nothingDied is the one verdict of an input in which nothing died.
func nothingDied(all []rules.Verdict, book *rules.Rulebook, files *caseFiles) rules.Verdict {
	if len(all) == 1 && !files.left {
		return all[0]
	}
	for _, f := range files.unnamed {
		if len(all) == 0 && !files.left && len(f.Evidence) > 0 {
			return book.Judge(f)
		}
	}
	return book.Judge(&casefile.Case{
		Coverage: files.unnamed[0].Coverage, Around: files.unnamed[0].Around,
		Crowd: len(all) > 0 || files.left || files.hasPools(),
	})
}

func byDeath(all []rules.Verdict) []rules.Verdict {
	slices.SortStableFunc(all, func(a, b rules.Verdict) int {
		switch {
		case rank(a) != rank(b):
			return rank(a) - rank(b)
		case a.Confidence != b.Confidence:
			return boolFirst(a.Confidence.Better(b.Confidence))
		case a.DiedAt != nil && b.DiedAt != nil && !a.DiedAt.Equal(*b.DiedAt):
			return a.DiedAt.Compare(*b.DiedAt)
		case (a.DiedAt == nil) != (b.DiedAt == nil):
			return boolFirst(a.DiedAt != nil)
		}
		return cmp.Or(cmp.Compare(a.Runner, b.Runner), cmp.Compare(a.PodUID, b.PodUID),
			cmp.Compare(a.Cluster, b.Cluster))
	})
	return all
}

// rank puts first what has a cause and is more than suspected, deaths before what is wrong
// with a pool or a job. An end that nothing explains says the least of what is wrong.
func rank(v rules.Verdict) int {
	suspected := 0
	if v.Confidence == rules.Suspected {
		suspected = 2
	}
	switch {
	case v.Death() && v.Label != rules.Unknown:
		return suspected
	case v.Wrong() && !v.Death():
		return suspected + 1
	case v.Death():
		return 4
	}
	return 5
}

func boolFirst(b bool) int {
	if b {
		return -1
	}
	return 1
}
