package rules

import (
	"strings"

	"github.com/expr-lang/expr/types"

	"coroner/rules/scope"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

// builder collects specs and mistakes, then compiles.
type builder struct {
	specs   specs
	errs    yamlfile.Errors
	book    *Rulebook
	scope   scope.Scope       // of all but the texts of rules
	members map[string]string // signal as expressions spell it -> its name
	facts   map[string]*Fact
	records recordTypes
}

// mergeLayer lays one layer over what was read before it. The tests of facts beneath were written
// for the signals beneath, which the layer may replace: they prove nothing of the two together.
func (b *builder) mergeLayer(s specs) {
	for i := range b.specs.facts {
		b.specs.facts[i].tests = nil
	}
	b.specs.signals.LayOver(s.signals, &b.errs)
	yamlfile.Overlay(&b.errs, &b.specs.facts, s.facts, func(x factSpec) yamlfile.Text { return x.name })
	yamlfile.Overlay(&b.errs, &b.specs.verdicts, s.verdicts, func(x ruleSpec) yamlfile.Text { return x.id })
	yamlfile.Overlay(&b.errs, &b.specs.labels, s.labels, func(x labelSpec) yamlfile.Text { return x.name })
	yamlfile.Overlay(&b.errs, &b.specs.order, s.order, func(x familySpec) yamlfile.Text { return x.name })
	b.specs.harmless = append(b.specs.harmless, s.harmless...)
}

func (b *builder) compileAll(from yamlfile.Layers) *Rulebook {
	taken := func(name string) bool { return recordBase[name] != nil }
	b.book = &Rulebook{
		Book:   signal.Compile(&b.specs.signals, from, taken, &b.errs),
		Labels: map[Label]*LabelDef{},
	}
	b.book.declareLabels(b.specs.labels, &b.errs)
	b.suspects()
	b.harmless()
	b.environment()
	for _, s := range b.specs.facts {
		b.compileFact(s)
	}
	for _, s := range b.specs.labels {
		b.compileLabel(s)
	}
	b.book.mirrorConfusions()
	for _, s := range b.specs.verdicts {
		b.compileRule(s)
	}
	b.orderRules()
	if len(b.errs) == 0 {
		b.book.findQuiet(b.members)
	}
	return b.book
}

// suspects makes facts of the symptoms: all rows of a label are the fact
// suspect_LABEL. What Kubernetes says of a container that is not the runner's is none.
func (b *builder) suspects() {
	lines, order := map[Label][]string{}, []Label{}
	for _, s := range b.specs.signals.Symptoms {
		label := b.labelName(s.Verdict)
		if lines[label] == nil {
			order = append(order, label)
		}
		lines[label] = append(lines[label], s.Lines())
	}
	for _, l := range order {
		b.specs.facts = append(b.specs.facts, factSpec{
			name: yamlfile.Text{Value: "suspect_" + strings.ReplaceAll(string(l), "-", "_")},
			doc:  yamlfile.Text{Value: "The symptoms of " + string(l) + "."},
			value: yamlfile.Text{
				Value: "filter(concat([], " + strings.Join(lines[l], ", ") + `), .own or .source != "kube")`,
			},
		})
	}
}

// recordTypes are the types of signals' records, each worked out once.
type recordTypes map[*signal.Def]types.Map

// of is the expr type of one piece of evidence of signal d.
func (all recordTypes) of(d *signal.Def) types.Map {
	if m := all[d]; m != nil {
		return m
	}
	m := d.CaptureTypes()
	all[d] = m
	for name, t := range recordBase {
		if _, captured := m[name]; !captured {
			m[name] = t
		}
	}
	return m
}
