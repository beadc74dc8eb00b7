package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// Judge gives the verdict of a case: the rule of highest precedence that fits,
// as sure as its evidence and the coverage allow, with what else was ruled out
// or stays open. It always gives one; without any fitting rule it is unknown.
//
// What better evidence confirms by itself stands, whatever is claimed beside
// it: a claim can add to a verdict, it cannot take a proven cause away. Nor does a claim of
// others make an all-clear where proven lines and the runner's own make a cause probable. What
// is doubtful counts only where nothing else says anything.
func (b *Rulebook) Judge(c *casefile.Case) Verdict {
	all := b.examineCase(c)
	if f := b.examineSome(c, notDoubtful); f != nil && f.foundLabel() != Unknown {
		all = f
	}
	all = all.holdDoubted(b)
	for _, better := range []func(*casefile.Evidence) bool{isProven, orOwnWords, isSigned} {
		if f := b.examineSome(c, better); f != nil && f.outweighs(all, b) {
			return b.writeVerdict(c, f, all)
		}
	}
	if all.isAllClear(b) {
		if f := b.examineSome(c, orOwnWords); f != nil && f.confidence != Suspected && b.isDeath(f.foundLabel()) {
			return b.writeVerdict(c, f, all)
		}
	}
	return b.writeVerdict(c, all, all)
}

func isProven(e *casefile.Evidence) bool { return e.Proven }

// orOwnWords adds to what is proven what the runner printed itself, in a log that holds nothing else.
func orOwnWords(e *casefile.Evidence) bool {
	return e.Proven || e.Source.Forgeable() && !e.Unsigned && !e.Shared
}

func isSigned(e *casefile.Evidence) bool { return !e.Unsigned }

// isAllClear says whether it was found that nobody was harmed, and more than suspected.
func (f *finding) isAllClear(b *Rulebook) bool {
	label := f.foundLabel()
	return f.confidence != Suspected && !b.isDeath(label) && !label.Lasting()
}

func notDoubtful(e *casefile.Evidence) bool { return e.Doubt != casefile.Doubtful }

// holdDoubted takes what lines add of which it is not sure whose they are for no more than a
// suspicion. What the rest says stands; but where a job can have printed them the rest
// is such a job's word, too.
func (f *finding) holdDoubted(b *Rulebook) *finding {
	for _, doubt := range []casefile.Doubt{casefile.Beside, casefile.Untied} {
		has := func(e casefile.Evidence) bool { return e.Doubt == doubt }
		if !slices.ContainsFunc(f.c.Evidence, has) {
			continue
		}
		sure := b.examineSome(f.c, func(e *casefile.Evidence) bool { return !has(*e) })
		if sure != nil && (sure.foundLabel() == f.foundLabel() || doubt == casefile.Untied && sure.ends()) {
			f = sure
		} else {
			f.confidence = Suspected
		}
	}
	return f
}

// ends says whether it was found how something ended, and more than suspected.
func (f *finding) ends() bool { return f.foundLabel() != None && f.confidence != Suspected }

// examineSome looks at a part of the evidence only; nil where that is all of
// it, or nothing.
func (b *Rulebook) examineSome(c *casefile.Case, some func(*casefile.Evidence) bool) *finding {
	only := c.WithOnly(some)
	if only == nil {
		return nil
	}
	return b.examineCase(only)
}

// outweighs says whether a finding of better evidence stands against all. An
// all-clear never does: what is claimed against it may be true.
func (f *finding) outweighs(all *finding, b *Rulebook) bool {
	label := f.foundLabel()
	return f.confidence == Confirmed && b.isDeath(label) && (label != all.foundLabel() || all.confidence != Confirmed)
}

// finding is a case with the rule that it fits.
type finding struct {
	casefile.Findings
	env        map[string]any
	rule       *Rule // nil: none fits
	decisive   []map[string]any
	confidence Confidence
	c          *casefile.Case
}

func (b *Rulebook) examineCase(c *casefile.Case) *finding {
	f := &finding{Findings: casefile.Examine(c), c: c, confidence: Suspected}
	f.env = b.caseEnvironment(c, f.Findings)
	if b.takeFirstFit(f, c.SignalNames()); f.rule != nil {
		f.confidence = f.confidenceOf()
	}
	return f
}

func (f *finding) foundLabel() Label {
	if f.rule == nil {
		return Unknown
	}
	return f.rule.Label
}

// writeVerdict writes down what was found; all is what all evidence says.
func (b *Rulebook) writeVerdict(c *casefile.Case, found, all *finding) Verdict {
	f := found.Findings
	v := Verdict{
		Cluster: c.Cluster, Runner: runnerOf(c, all.Findings), Namespace: c.Namespace,
		Node: c.Node, PodUID: c.UID,
		Pool: poolOf(c, all.Findings), JudgedBy: JudgedBy{Rulebook: b.Hash}, Revision: 1,
		Job:  jobOf(all.Findings),
		Exit: Exit{Reason: f.Exit.Reason, Signal: f.Exit.Signal},
	}
	if f.Exit.Known {
		v.Exit.Code = &f.Exit.Code
	}
	if !f.Died.IsZero() {
		died := f.Died
		v.DiedAt = &died
	}
	b.fillCause(&v, found)
	v.Kind, v.Attempt = c.Kind, c.Attempt
	if c.Kind == casefile.OfJob {
		v.Job.ID = cmp.Or(c.Name, v.Job.ID)
	}
	if f.Died.IsZero() && v.DiedAt != nil {
		f = f.At(found.c, *v.DiedAt)
	}
	v.Evidence, v.EvidenceOmitted = evidenceLines(c, f, found.deciding())
	v.RuledOut, v.Open, v.Missing = []RuledOut{}, []OpenLabel{}, []string{}
	b.differential(&v, all.env, c, f)
	if claimed := all.foundLabel(); claimed != found.foundLabel() && b.isDeath(claimed) && claimed != Unknown {
		const why = "lines that nobody attests say so; they do not outweigh what is proven"
		v.Open = append(v.Open, OpenLabel{claimed, why})
	}
	if v.Death() || len(c.Evidence) == 0 {
		v.Missing = casefile.Missing(c, f)
	}
	if def := b.Labels[Unknown]; def != nil && v.Label == Unknown && len(v.Missing) == 0 && v.Advice == def.Advice {
		v.Advice = adviceAllRead
	}
	if v.Death() {
		v.Coverage = c.Spans(f.Died)
	}
	v.limitSizes()
	return v
}

// adviceAllRead is what to do about a death that nothing explains though nothing is missing.
const adviceAllRead = "Look at the last lines before it that no signal knows, on its node too; " +
	"a rule of your own can name what they tell."

// runnerOf is the name of the runner that a case is about, "" for a pool.
func runnerOf(c *casefile.Case, f casefile.Findings) string {
	if c.Kind != casefile.OfRunner {
		return ""
	}
	return cmp.Or(c.Name, f.Fills["runner"])
}

// poolOf is the pool that a case is, else the one that its runner is of as lines say.
func poolOf(c *casefile.Case, f casefile.Findings) string {
	if c.Kind == casefile.OfPool {
		return c.Name
	}
	if c.Kind == casefile.OfJob && f.Fills["pool"] == "" && len(c.Evidence) > 0 {
		return c.Evidence[0].PoolName()
	}
	return f.Fills["pool"]
}

// deciding are the signals of the lines that decide.
func (f *finding) deciding() map[*signal.Signal]bool {
	out := map[*signal.Signal]bool{}
	for _, d := range f.decisive {
		out[f.c.Evidence[d[indexKey].(int)].Signal] = true
	}
	return out
}

// jobOf is what is known of the runner's job.
func jobOf(f casefile.Findings) Job {
	return Job{Name: f.Fills["job.name"], ID: f.Fills["job.id"], RunID: f.Fills["job.run_id"],
		Repository: repository(
			f.Fills["job.owner"],
			f.Fills["job.repository"],
		), Step: f.Fills["job.step"], Claimed: f.ClaimedJob}
}

// repository is OWNER/NAME, where both are told apart or together.
func repository(owner, name string) string {
	if owner == "" || name == "" || strings.Contains(name, "/") {
		return name
	}
	return owner + "/" + name
}

// takeFirstFit evaluates the rules from the highest precedence down, and takes the first that
// fits and that the runner's life does not refute.
func (b *Rulebook) takeFirstFit(f *finding, seen map[string]bool) {
	for _, r := range b.Rules {
		if r.Kind != f.c.Kind {
			continue
		}
		if decisive, ok := r.firesOn(f.env, seen); ok {
			if f.rule, f.decisive = r, decisive; !f.isRefuted(b) {
				return
			}
		}
	}
	f.rule, f.decisive = nil, nil
}

// fillCause fills in what the winning rule says.
func (b *Rulebook) fillCause(v *Verdict, f *finding) {
	r, env := f.rule, f.env
	v.Confidence = f.confidence
	if r == nil && f.c.Kind != casefile.OfRunner {
		v.Label, v.Domain, v.Initiator, v.Retry = None, "none", "unknown", "unknown"
		v.Summary = "Nothing that was read is wrong with it."
		return
	}
	if r == nil {
		v.Label, v.Domain, v.Initiator, v.Retry = Unknown, "none", "unknown", "unknown"
		v.Summary = "No rule of the rulebook fits."
		return
	}
	lines := make([]any, len(f.decisive))
	for i, d := range f.decisive {
		lines[i] = d
	}
	env["d"], env["lines"] = map[string]any{}, lines
	if len(f.decisive) > 0 {
		env["d"] = f.decisive[0]
	}
	v.Label, v.Rule, v.Domain, v.Retry = r.Label, r.ID, r.Domain, r.Retry
	if v.Label.Lasting() {
		v.Standing = standingOf(f)
		v.RunnerVerdict = runnerVerdictOf(f.c)
	}
	if v.Label.Lasting() && f.c.Kind == casefile.OfRunner && (f.Ended || f.Exit.Known) {
		v.State, v.Until = Resolved, v.DiedAt
	}
	v.Waits = b.beforeStart(r.Label) || r.waits != nil && r.waits.isTrue(env)
	v.NoDeath = r.Label.Death() && !b.isDeath(r.Label)
	if v.DiedAt == nil && v.Death() {
		v.DiedAt = firstTime(f.decisive) // no end was seen: the cause's time is the best there is
	}
	v.Summary = r.texts.summary.renderText(env)
	v.Resource = r.texts.resource.renderText(env)
	v.Initiator = cmp.Or(r.texts.initiator.renderText(env), "unknown")
	v.Advice = r.texts.advice.renderText(env)
	if def := b.Labels[r.Label]; def != nil && v.Advice == "" {
		v.Advice = def.adviceOn(lines, v.Initiator)
	}
}

func firstTime(decisive []map[string]any) *time.Time {
	for _, d := range decisive {
		if at, _ := d["at"].(time.Time); !at.IsZero() {
			return &at
		}
	}
	return nil
}

// confidenceOf is the rule's own claim, held down by what cannot be trusted and
// by what was not seen: confirmed takes a decisive line that nobody in the job
// could have written; what the rule asks for to be sure, and sources that it
// needs covered, cost one step where they are missing. Where it is open whose
// container ended, or whose line decides, nothing is more than a suspicion.
func (f *finding) confidenceOf() Confidence {
	conf := f.rule.Confidence
	if f.openWhose() || f.loose() || f.isDoubtful() {
		return Suspected
	}
	if conf == Confirmed && (!anyProven(f.decisive, f.c, f.Findings) || f.Ended && !f.Findings.Proven) {
		conf = Probable
	}
	if f.isClearedByOthers() {
		return Suspected
	}
	unread := slices.ContainsFunc(f.rule.Needs, func(s ingest.Source) bool { return !f.Covered[s] })
	if unread || f.rule.sure != nil && !f.rule.sure.isTrue(f.env) {
		return conf.oneStepWeaker()
	}
	return conf
}

// loose says whether the verdict stands on loose sentences only: no time, no
// writer and no program's frame around them. Whoever tells of a death quotes such.
func (f *finding) loose() bool {
	framed := func(e *casefile.Evidence) bool { return !e.Unsigned || e.Clock != ingest.NoClock }
	return len(f.decisive) > 0 && !slices.ContainsFunc(f.evidenceOf(f.decisive), framed)
}

// isClearedByOthers says whether an all-clear stands on nothing but claims of others than the runner.
func (f *finding) isClearedByOthers() bool {
	stands := func(e *casefile.Evidence) bool { return e.Proven || e.Source.Forgeable() }
	return f.rule.Label == None && len(f.decisive) > 0 && !slices.ContainsFunc(f.evidenceOf(f.decisive), stands)
}

// isDoubtful says whether all that the verdict stands on is.
func (f *finding) isDoubtful() bool {
	certain := func(e *casefile.Evidence) bool { return e.Doubt != casefile.Doubtful }
	return len(f.decisive) > 0 && !slices.ContainsFunc(f.evidenceOf(f.decisive), certain)
}

// openWhose says whether what the verdict stands on tells of one container of the
// pod, and another one that can as well be the runner's is not over.
func (f *finding) openWhose() bool {
	c := f.c
	if f.rule.Label == None || c.Nobody() || c.Kind != casefile.OfRunner || c.SandboxOver() {
		return false
	}
	if f.Exit.Known && !c.OpenWhose(f.Exit.ID, f.Exit.Container, f.Died) || !f.Exit.Known && len(f.decisive) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.evidenceOf(f.decisive), func(e *casefile.Evidence) bool {
		return !e.Mine || !c.OpenWhose(c.ContainerIDOf(e), c.ContainerOf(e), e.At)
	})
}

// anyProven says whether a decisive line is proven, and where the death has a
// time, has one too: an old line must not explain a new death.
func anyProven(decisive []map[string]any, c *casefile.Case, f casefile.Findings) bool {
	for _, d := range decisive {
		e := &c.Evidence[d[indexKey].(int)]
		if e.Proven && (f.Died.IsZero() || !e.At.IsZero() && e.At.Sub(f.Died) < casefile.ToldLater(e.Source)) {
			return true
		}
	}
	return false
}

// differential sorts the other labels into ruled out and open. A label that
// the picture does not suggest is in neither list.
func (b *Rulebook) differential(v *Verdict, env map[string]any, c *casefile.Case, f casefile.Findings) {
	for _, name := range b.LabelOrder() {
		l := b.Labels[name]
		if l == nil || name == v.Label || l.possible == nil || !l.possibleBeside(v) || !l.possible.isTrue(env) {
			continue
		}
		if because, ok := l.excluded(env); ok {
			v.RuledOut = append(v.RuledOut, RuledOut{name, because})
		} else if v.Confidence != Confirmed {
			v.Open = append(v.Open, OpenLabel{name, l.Needs + casefile.Undecided(c, l.Sources, f)})
		}
	}
}

// SourceNoun says what the log of a source is called.
func SourceNoun(source ingest.Source) string { return casefile.SourceNoun(source) }

func lineOf(e *casefile.Evidence, decisive bool) EvidenceLine {
	l := EvidenceLine{
		Source: string(
			e.Source,
		), Node: limitText(e.Node, maxName), Signal: e.Def.Name, Text: limitText(e.Text, maxLineText),
		Decisive: decisive, Mine: e.Mine, Of: limitText(e.Of, maxName), Where: limitText(e.Doc, maxWords),
	}
	if line := e.LineNumber(); line > 0 {
		l.Where = fmt.Sprintf("%s:%d", l.Where, line)
	}
	if !e.At.IsZero() {
		at := e.At
		l.At = &at
	}
	return l
}
