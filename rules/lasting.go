package rules

import (
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules/casefile"
)

// standingOf says since when it lasts what a finding is about, and whether something
// after its last sign shows that it is over. What is proven is not over because somebody
// claims so. A record that says how long it has been so already tells of its beginning.
func standingOf(f *finding) (l Standing) {
	l.State = Open
	var last time.Time
	for _, d := range f.decisive {
		at, _ := d["at"].(time.Time)
		last = ingest.LaterOf(last, at)
		if at.IsZero() {
			continue
		}
		if seconds, ok := d["lasts"].(int); ok {
			at = at.Add(-time.Duration(seconds) * time.Second)
		}
		if l.Since == nil || at.Before(*l.Since) {
			l.Since = &at
		}
	}
	proven := slices.ContainsFunc(f.decisive, f.isProven)
	for _, d := range recordsOf(f.rule.over, f.env) {
		at, _ := d["at"].(time.Time)
		if !at.After(last) || last.IsZero() || proven && !f.canEnd(d) {
			continue
		}
		if l.Until == nil || at.Before(*l.Until) {
			l.State, l.Until = Resolved, &at
		}
	}
	return l
}

// runnerVerdictOf is the last verdict on a runner that a job's lines tell of, nil where none does.
func runnerVerdictOf(c *casefile.Case) *RunnerVerdict {
	for i := len(c.Evidence) - 1; i >= 0; i-- {
		e := &c.Evidence[i]
		if e.Def.Fills["runner.verdict"] != "" && e.Mine {
			part := func(of string) string { return limitText(e.Str(e.Def.Fills["runner."+of]), maxName) }
			return &RunnerVerdict{part("name"), part("namespace"), part("pod_uid"), Label(part("verdict")),
				Confidence(part("confidence"))}
		}
	}
	return nil
}

// isProven says whether a record is of a line that is.
func (f *finding) isProven(d map[string]any) bool { return f.c.Evidence[d[indexKey].(int)].Proven }

// canEnd says whether a record can show that what is proven is over. The log of a listener
// that names no pool is of the only pool that is named, as far as anybody can tell: what it
// proves of itself counts here, though its pool is a guess.
func (f *finding) canEnd(d map[string]any) bool {
	e := &f.c.Evidence[d[indexKey].(int)]
	return e.Proven || f.c.Kind == casefile.OfPool && e.Mine && e.Signal.Proven()
}
