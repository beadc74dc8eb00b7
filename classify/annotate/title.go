package annotate

import (
	"fmt"
	"slices"

	"coroner/rules"
)

// fate is what became of the runner, as far as its verdict says.
type fate int

const (
	ended fate = iota
	notStarted
	livedOn
	open // it can have lived on
)

// survived are the labels that mean that the runner lived on, and stopped those that mean that it
// was stopped: it lives on only until it is.
var (
	survived = []rules.Label{rules.ChildOOM, rules.WorkdirContaminated, rules.JobCancelled}
	stopped  = []rules.Label{rules.SIGTERMDrain, rules.NodeShutdown}
)

// fateOf is what became of a verdict's runner. It is open after anything else that the rulebook
// says that a runner can live on after, unless the container ended badly.
func fateOf(book *rules.Rulebook, v *rules.Verdict) fate {
	rule, def := book.Rule(v.Rule), book.Labels[v.Label]
	canLive := def != nil && def.LivesOn
	if rule != nil {
		canLive = rule.LivesOn
	}
	switch {
	case slices.Contains(survived, v.Label):
		return livedOn
	case slices.Contains(stopped, v.Label):
		return ended
	case canLive && (v.Exit.Code == nil || *v.Exit.Code == 0):
		return open
	case v.Label == rules.NeverRan || def != nil && def.BeforeStart:
		return notStarted
	}
	return ended
}

// opening begins a title, by the runner's fate: of the job's own doing, and of what is not.
var opening = map[fate]struct{ own, other string }{
	ended:      {"The job ended its runner", "The runner died, not your test"},
	notStarted: {"The job's own doing, the runner did not start", "Not your test, the runner did not start"},
	livedOn:    {"The job's own doing, and its runner lived on", "Not your test, and the runner lived on"},
	open:       {"The job's own doing", "Not your test"},
}

// title says in a few words whose doing it was, and what became of the runner where that is known.
func title(book *rules.Rulebook, v *rules.Verdict) string {
	begins := opening[fateOf(book, v)]
	switch {
	case v.Label == rules.Unknown && fateOf(book, v) == open:
		return "Something went wrong, nothing that was read says why"
	case v.Label == rules.Unknown:
		return "The runner died, nothing that was read says why"
	case v.Domain == "workload":
		return fmt.Sprintf("%s: %s (%s)", begins.own, v.Label, v.Confidence)
	}
	return fmt.Sprintf("%s: %s (%s)", begins.other, v.Label, v.Confidence)
}

// harmless says whether no job was harmed, as of one that somebody cancelled: it is nobody's business.
// What is not explained is nobody's known business, and a death.
func harmless(v *rules.Verdict) bool {
	return !v.Death() || v.Domain == "none" && v.Label != rules.Unknown
}
