package rules

import (
	"slices"
	"strconv"

	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/inline"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"

	"github.com/expr-lang/expr/types"
)

// Rule is one verdict rule: when it fits, its label is the verdict, unless a
// rule of higher precedence fits too.
type Rule struct {
	ID         string
	Label      Label
	Precedence int
	Doc        string
	Confidence Confidence      // the most that the rule can claim
	Domain     string          // platform | workload | provider | operator | none
	Retry      string          // helps | useless | unknown
	Needs      []ingest.Source // must be covered, or the verdict is one step weaker
	Signals    []string        // every signal that the rule looks at
	Deciding   []string        // those whose lines can be its decisive ones
	Tests      []inline.RuleTest

	Because string // why it is confirmed though CheckConfirmed misses something

	conditions
	texts texts
	pos   yamlfile.Pos
}

// conditions are when a rule fits.
type conditions struct {
	Kind     casefile.Kind // of the cases that it is tried on
	when     *program
	sure     *program // else the verdict is one step weaker
	waits    *program // what it says keeps the pod from starting, so that nothing ends
	decisive []*program
	LivesOn  bool       // the runner can live on after what the rule tells of: its life refutes nothing
	lines    []string   // the signals that those look at: without any of them no line can decide
	over     []*program // lines that show, after the decisive ones, that it is over
}

// texts are what a rule writes into its verdict.
type texts struct{ summary, advice, initiator, resource *template }

// firesOn says whether the rule fits, and with which deciding evidence. seen are the
// names of the case's signals.
func (r *Rule) firesOn(env map[string]any, seen map[string]bool) (decisive []map[string]any, ok bool) {
	if len(r.decisive) > 0 && !slices.ContainsFunc(r.lines, func(name string) bool { return seen[name] }) {
		return nil, false
	}
	if r.when != nil && !r.when.isTrue(env) {
		return nil, false
	}
	decisive = recordsOf(r.decisive, env)
	return decisive, len(r.decisive) == 0 || len(decisive) > 0
}

// recordsOf are the records that expressions give.
func recordsOf(all []*program, env map[string]any) (out []map[string]any) {
	for _, p := range all {
		for _, x := range p.evaluateList(env) {
			if rec, isRecord := x.(map[string]any); isRecord {
				out = append(out, rec)
			}
		}
	}
	return out
}

// When is the condition of the rule as it is written, "" for none.
func (r *Rule) When() string { return r.when.asWritten() }

// Decisive are the expressions for the rule's decisive lines, as they are written.
func (r *Rule) Decisive() (out []string) {
	for _, p := range r.decisive {
		out = append(out, p.asWritten())
	}
	return out
}

var (
	domains     = []string{"platform", "workload", "provider", "operator", "none"}
	retries     = []string{"helps", "useless", "unknown"}
	kinds       = []string{"runner", "pool", "job"}
	confidences = []string{string(Confirmed), string(Probable), string(Suspected)}
)

func (b *builder) compileRule(s ruleSpec) {
	label := b.labelName(s.verdict)
	def := b.book.Labels[label]
	if def == nil {
		def = &LabelDef{Domain: "none", Retry: "unknown"}
	}
	r := &Rule{
		ID: s.id.Value, Label: label, Precedence: s.place.precedence, Doc: s.doc.Value, Tests: s.tests, pos: s.id.Pos,
		Because:    s.because.Value,
		Confidence: Confidence(b.errs.OneOf(s.confidence, "confidence", string(Probable), confidences...)),
		Domain:     b.errs.OneOf(s.domain, "domain", def.Domain, domains...),
		Retry:      b.errs.OneOf(s.retry, "retry", def.Retry, retries...),
	}
	_ = r.Kind.UnmarshalText([]byte(b.errs.OneOf(s.kind, "kind", kinds[0], kinds...))) // it never fails
	r.LivesOn = b.errs.OneOf(s.livesOn, "lives_on", strconv.FormatBool(def.LivesOn), "true", "false") == "true"
	if s.livesOn.Value != "" && (r.Kind != casefile.OfRunner || !b.book.isDeath(label)) {
		b.errs.Add(s.livesOn.Pos, "lives_on of rule %s has no use: it tells of no runner's death", r.ID)
	}
	if len(s.needs) > 0 {
		r.Needs = signal.Sources(s.needs, s.id.Pos, &b.errs)
	}
	b.ruleExpressions(r, s)
	b.book.Rules = append(b.book.Rules, r)
}

func (b *builder) ruleExpressions(r *Rule, s ruleSpec) {
	use := func(p *program) *program {
		if p != nil {
			r.Signals = append(r.Signals, p.signals...)
		}
		return p
	}
	if s.when.Value == "" && len(s.decisive) == 0 {
		b.errs.Add(s.id.Pos, "rule %s has neither when nor decisive: it would fit everything", r.ID)
	}
	if s.when.Value != "" {
		r.when = use(b.expression(s.when, "bool"))
	}
	if s.sure.Value != "" {
		r.sure = b.expression(s.sure, "bool")
	}
	if s.beforeStart.Value != "" {
		r.waits = b.expression(s.beforeStart, "bool")
	}
	for _, d := range s.decisive {
		p := use(b.expression(d, "[]interface {}"))
		if r.decisive = append(r.decisive, p); p != nil {
			r.lines = append(r.lines, p.signals...)
		}
	}
	for _, d := range s.over {
		r.over = append(r.over, use(b.expression(d, "[]interface {}")))
	}
	if r.Confidence == Confirmed && len(s.decisive) == 0 {
		b.errs.Add(s.confidence.Pos, "rule %s claims confirmed but names no decisive line", r.ID)
	}
	if slices.Contains(r.decisive, nil) {
		return // the texts speak of what did not compile
	}
	b.scope.With(b.decisiveWords(r), func() {
		r.texts = texts{b.template(s.texts.summary), b.template(s.texts.advice), b.template(s.texts.initiator),
			b.template(s.texts.resource)}
	})
	if r.texts.summary == nil {
		b.errs.Add(s.id.Pos, "rule %s has no summary", r.ID)
	}
	slices.Sort(r.Signals)
	r.Signals = slices.Compact(r.Signals)
	r.Deciding = b.deciding(r)
}

// decisiveWords are the words of a rule's texts: lines are those that decide, d
// is the first, with the captures of every signal that can decide.
func (b *builder) decisiveWords(r *Rule) types.Map {
	d := types.Map{}
	for name, t := range recordBase {
		d[name] = t
	}
	for _, p := range r.decisive {
		if p == nil {
			continue
		}
		for _, s := range p.signals {
			for name, t := range b.records.of(b.book.Signal(s)) {
				if known, ok := d[name]; ok && !known.Equal(t) {
					t = types.Any
				}
				d[name] = t
			}
		}
	}
	return types.Map{"d": d, "lines": types.Array(types.Any)}
}

func (b *builder) compileFact(s factSpec) {
	if b.scope.Has(s.name.Value) {
		b.errs.Add(s.name.Pos, "fact %q has the name of something else", s.name.Value)
		return
	}
	alive := b.errs.OneOf(s.alive, "alive", "false", "true", "false") == "true"
	p := b.expression(s.value, map[bool]string{true: "[]interface {}"}[alive])
	if p == nil {
		return
	}
	unseen := p.evaluate(b.book.caseEnvironment(new(casefile.Case), casefile.Findings{}))
	f := &Fact{s.name.Value, s.doc.Value, alive, s.tests, p, unseen}
	b.book.Facts, b.facts[f.Name] = append(b.book.Facts, f), f
	b.scope.Add(f.Name, factType(p))
}

// factType is what later expressions may do with a fact.
func factType(p *program) types.Type {
	switch kindOf(p.vm) {
	case "bool":
		return types.Bool
	case "int":
		return types.Int
	case "float64":
		return types.Float64
	case "string":
		return types.String
	}
	return types.Any
}
