package rules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coroner/ingest"
	"coroner/rules/phrase"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

// LabelDef is what the rulebook says of a label.
type LabelDef struct {
	Label         Label
	Doc           string
	Domain, Retry string
	Advice        string
	ByLine        []LineAdvice // what to do where the cause or its initiator says more
	Death         bool         // false: it ends without harm
	BeforeStart   bool         // it is of a pod that never got to run
	LivesOn       bool         // the runner can live on after it, where its rules do not say otherwise
	Confused      []Confusion
	Needs         string          // what would decide it
	Sources       []ingest.Source // who would say it

	possible *program
	ruledOut []exclusion
}

// LineAdvice is what to do where the cause holds certain words, or somebody caused the end.
type LineAdvice struct {
	Says   *regexp.Regexp
	OfWhom bool // Says is of the whole initiator
	Advice string
}

type exclusion struct {
	when    *program
	because *template
}

// LabelOrder is every label that a verdict of this rulebook can have: the built-in
// ones first, then those that its files add, as they stand there.
func (b *Rulebook) LabelOrder() []Label { return append(slices.Clone(Labels), b.added...) }

// NoDeaths are the labels that end without harm.
func (b *Rulebook) NoDeaths() []Label {
	return slices.DeleteFunc(b.LabelOrder(), b.isDeath)
}

// isDeath says whether a label of this rulebook names a death.
func (b *Rulebook) isDeath(l Label) bool {
	if def := b.Labels[l]; def != nil {
		return def.Death
	}
	return l.Death()
}

// beforeStart says whether a label is of a pod that never got to run.
func (b *Rulebook) beforeStart(l Label) bool {
	if def := b.Labels[l]; def != nil {
		return def.BeforeStart
	}
	return l.BeforeStart()
}

// labelForm is what a label can look like: it stands in addresses, in Loki's labels and
// in metrics.
var labelForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$`)

const longestLabel = 40

// declareLabels notes the labels that the files add to the built-in ones.
func (b *Rulebook) declareLabels(files []labelSpec, errs *yamlfile.Errors) {
	for _, s := range files {
		name := s.name.Value
		if slices.Contains(Labels, Label(name)) {
			continue
		}
		same := func(l Label) bool { return strings.EqualFold(string(l), name) }
		switch all := b.LabelOrder(); {
		case !labelForm.MatchString(name) || len(name) > longestLabel:
			errs.Add(s.name.Pos, "label %q: want words of letters and digits with hyphens between, "+
				"at most %d characters", name, longestLabel)
		case slices.ContainsFunc(all, same):
			errs.Add(s.name.Pos, "label %q: there is one that differs only in capital letters", name)
		case s.doc.Value == "" || s.domain.Value == "" || s.advice.Value == "" && s.death.Value != "false":
			errs.Add(s.name.Pos, "unknown label %q%s; a new label has doc, domain and advice",
				name, nearestLabel(name, all))
		}
		b.added = append(b.added, Label(name))
	}
}

func nearestLabel(name string, known []Label) string {
	var all []string
	for _, l := range known {
		all = append(all, string(l))
	}
	return yamlfile.Nearest(name, all)
}

func (b *builder) labelName(s yamlfile.Text) Label {
	if all := b.book.LabelOrder(); !slices.Contains(all, Label(s.Value)) {
		b.errs.Add(s.Pos, "unknown label %q%s", s.Value, nearestLabel(s.Value, all))
	}
	return Label(s.Value)
}

func (b *builder) compileLabel(s labelSpec) {
	name := b.labelName(s.name)
	l := &LabelDef{
		Label: name, Doc: s.doc.Value, Advice: s.advice.Value, Needs: s.needs.Value,
		Domain:      b.errs.OneOf(s.domain, "domain", "none", domains...),
		Retry:       b.errs.OneOf(s.retry, "retry", "unknown", retries...),
		Death:       ownTrait(&b.errs, s.death, name, "death", name.Death()),
		BeforeStart: ownTrait(&b.errs, s.beforeStart, name, "before_start", name.BeforeStart()),
		LivesOn:     b.errs.OneOf(s.livesOn, "lives_on", "false", "true", "false") == "true",
	}
	if len(s.sources) > 0 {
		l.Sources = signal.Sources(s.sources, s.name.Pos, &b.errs)
	}
	b.confusions(l, s.confused)
	if s.possible.Value != "" {
		l.possible = b.expression(s.possible, "bool")
	}
	for _, o := range s.byLine {
		ofWhom, whole := o.says.Value == "", "^(?:"+o.by.Value+")$"
		says, err := regexp.Compile(map[bool]string{true: whole, false: "(?i)" + o.says.Value}[ofWhom])
		if err != nil || (o.says.Value == "") == (o.by.Value == "") || o.advice.Value == "" {
			b.errs.Add(o.says.Pos, "advice_by_line needs says or by, an expression, and advice")
			continue
		}
		l.ByLine = append(l.ByLine, LineAdvice{says, ofWhom, o.advice.Value})
	}
	for _, o := range s.ruledOut {
		l.ruledOut = append(l.ruledOut, exclusion{
			b.expression(o.when, "bool"), b.template(o.because),
		})
	}
	b.book.Labels[l.Label] = l
}

// ownTrait reads what a file can say of its own labels only: who reads a verdict of a
// built-in one need not know the rulebook.
func ownTrait(errs *yamlfile.Errors, s yamlfile.Text, l Label, what string, fallback bool) bool {
	says := errs.OneOf(s, what, strconv.FormatBool(fallback), "true", "false") == "true"
	if says != fallback && slices.Contains(Labels, l) {
		errs.Add(s.Pos, "%s of the built-in label %s cannot be changed", what, l)
	}
	return says
}

func (l *LabelDef) excluded(env map[string]any) (string, bool) {
	for _, x := range l.ruledOut {
		if x.when.isTrue(env) {
			return x.because.renderText(env), true
		}
	}
	return "", false
}

// possibleBeside says whether the label is thought of beside a verdict: every one
// beside a death, and beside a job that ended only what can kill a part of it.
func (l *LabelDef) possibleBeside(v *Verdict) bool {
	return v.Death() || v.Label == Completed && l.Label == ChildOOM
}

// adviceOn is what to do where these lines decided and somebody caused the end: what goes with the
// words of the cause, or else of any line, or else with who that was, or else the label's own advice.
func (l *LabelDef) adviceOn(lines []any, initiator string) string {
	texts := []string{phrase.Gist(lines)}
	for _, r := range lines {
		m, _ := r.(map[string]any)
		text, _ := m["text"].(string)
		texts = append(texts, text)
	}
	for _, text := range texts {
		for _, by := range l.ByLine {
			if !by.OfWhom && by.Says.MatchString(text) {
				return by.Advice
			}
		}
	}
	for _, by := range l.ByLine {
		if by.OfWhom && by.Says.MatchString(initiator) {
			return by.Advice
		}
	}
	return l.Advice
}
