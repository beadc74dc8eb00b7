package docket

import (
	"cmp"
	"context"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// outcome is what becomes of one case.
type outcome struct {
	ledger.Case
	death
	later []death       // new ones of further lives of its container, which was started again
	had   bool          // one of its deaths has a verdict already
	own   *ingest.Entry // what coroner itself says of it, which a verdict stands on
	jobs  []string      // the jobs that were given to it
	again time.Time     // when it is judged once more if it stays open; zero if nothing is waited for
}

// death is one death of a pod's container.
type death struct {
	id      string         // that its verdict is kept under
	last    *rules.Verdict // the one that it has; nil if there is none
	verdict *rules.Verdict // a new one; nil if there is none
}

// addDeath takes in one of the case's deaths.
func (o *outcome) addDeath(one death) {
	o.had = o.had || one.last != nil
	if one.id == o.ID {
		o.death = one
	} else if one.verdict != nil {
		o.later = append(o.later, one)
	}
}

// newDeaths are the deaths that a verdict can be new of, the first first.
func (o *outcome) newDeaths() []death { return append([]death{o.death}, o.later...) }

// verdictBefore is the verdict that a death of the case has, nil if it has none, and
// whether evidence that it stands on is lost.
func verdictBefore(ctx context.Context, q ledger.Questions, c *ledger.Case, id string) (
	last *rules.Verdict, lost bool, err error,
) {
	if c.Revision == 0 && id == c.ID {
		return nil, false, nil
	}
	record, had, err := q.LastVerdict(ctx, id)
	if err != nil || !had {
		return nil, false, err
	}
	lost, err = incomplete(ctx, q, c)
	return &record.Verdict, lost, err
}

// newVerdict is what a death's verdict becomes by v, what the evidence says that there is; nil
// where the last one stands. Of one that is open the end is news, whatever was lost since.
func newVerdict(last, v *rules.Verdict, lost bool) *rules.Verdict {
	switch {
	case last == nil:
		return v
	case lost && last.State == rules.Open && v.DiedAt != nil:
		if !v.Death() || slices.Contains(endsOfTheUseless, v.Label) {
			died, exit := v.DiedAt, v.Exit
			v = resolvedAt(last, *died)
			v.DiedAt, v.Exit = died, exit
		}
		return v
	case lost || saysNothingNew(last, v):
		return nil
	}
	return v
}

// endsOfTheUseless are deaths that only end what was of no use: it was taken away, or nothing says
// how it ended.
var endsOfTheUseless = []rules.Label{rules.SIGTERMDrain, rules.ForceDeleted, rules.Unknown}

func nameOf(c *ledger.Case) string {
	switch {
	case c.UID != "":
		return c.UID
	case c.Namespace != "":
		return c.Namespace + "/" + c.Name
	}
	return c.Name
}

// pickOwn takes the verdicts of the case's own pod, for a name can be the start of
// another's: one for each life.
func pickOwn(all []rules.Verdict, c *ledger.Case) (own []*rules.Verdict) {
	for i := range all {
		v := &all[i]
		life := func(other *rules.Verdict) bool { return max(other.Attempt, 1) == max(v.Attempt, 1) }
		if v.Runner == c.Name && (c.UID == "" || v.PodUID == c.UID) && !slices.ContainsFunc(own, life) {
			own = append(own, v)
		}
	}
	if own == nil {
		return []*rules.Verdict{&all[0]}
	}
	slices.SortFunc(own, func(a, b *rules.Verdict) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return own
}

// saysNothingNew says whether a new verdict of one death says nothing new: more evidence for
// the same finding is no revision.
func saysNothingNew(a, b *rules.Verdict) bool {
	return a.Label == b.Label && a.Confidence == b.Confidence && a.Rule == b.Rule && a.Initiator == b.Initiator &&
		a.Resource == b.Resource && a.State == b.State && sameJudged(a.RunnerVerdict, b.RunnerVerdict) &&
		a.Exit.Reason == b.Exit.Reason && sameCode(a.Exit.Code, b.Exit.Code)
}

func sameJudged(a, b *rules.RunnerVerdict) bool { return a == b || a != nil && b != nil && *a == *b }

func sameCode(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// incomplete says whether evidence of the case may have been swept: then a new
// judgement knows less than the one before, and that one stands.
func incomplete(ctx context.Context, q ledger.Questions, c *ledger.Case) (bool, error) {
	swept, err := q.SweptTo(ctx)
	return c.Opened.Before(swept), err
}
