package rules

import (
	"maps"
	"strings"

	"go.yaml.in/yaml/v4"

	"coroner/rules/inline"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

// The spec types are the YAML as written, with positions; compile.go and
// rule.go compile them.

type factSpec struct {
	name, doc, value, alive yamlfile.Text
	tests                   []inline.FactTest
}

type ruleSpec struct {
	conditionsSpec
	id, kind, verdict, confidence, because, retry, domain yamlfile.Text
	doc                                                   yamlfile.Text
	texts                                                 textsSpec
	needs                                                 []yamlfile.Text
	place                                                 placeSpec
	tests                                                 []inline.RuleTest
}

type conditionsSpec struct {
	when, sure, beforeStart, livesOn yamlfile.Text
	decisive, over                   []yamlfile.Text
}

// placeSpec is where a rule stands in the order, if it says so itself.
type placeSpec struct {
	precedence    int
	before, after yamlfile.Text
}

type textsSpec struct{ summary, advice, initiator, resource yamlfile.Text }

type labelSpec struct {
	name, doc, domain, retry, possible, needs, advice yamlfile.Text
	death, beforeStart, livesOn                       yamlfile.Text   // true or false
	confused                                          []yamlfile.Pair // label -> how the two are told apart
	sources                                           []yamlfile.Text
	ruledOut                                          []ruledOutSpec
	byLine                                            []byLineSpec
}

type ruledOutSpec struct{ when, because yamlfile.Text }

type byLineSpec struct{ says, by, advice yamlfile.Text }

// familySpec is a part of the order in which the rules are tried.
type familySpec struct {
	name  yamlfile.Text
	at    int // the precedence of its first rule
	rules []yamlfile.Text
}

// specs are the sections of rulebook files, as written.
type specs struct {
	signals  signal.Specs
	facts    []factSpec
	verdicts []ruleSpec
	order    []familySpec
	labels   []labelSpec
	harmless []harmlessSpec
}

// reader reads the sections that say what signals together mean.
type reader struct{ *yamlfile.Reader }

func (r reader) document(n *yaml.Node, into *specs) {
	if n == nil {
		return
	}
	sections := into.signals.Sections(r.Reader)
	maps.Copy(sections, map[string]func(*yaml.Node){
		"facts":    r.List(func(n *yaml.Node) { into.facts = append(into.facts, r.readFact(n)) }),
		"verdicts": r.List(func(n *yaml.Node) { into.verdicts = append(into.verdicts, r.readRule(n)) }),
		"order":    r.List(func(n *yaml.Node) { into.order = append(into.order, r.readFamily(n)) }),
		"labels":   r.List(func(n *yaml.Node) { into.labels = append(into.labels, r.readLabel(n)) }),
		"harmless": r.List(func(n *yaml.Node) { into.harmless = append(into.harmless, r.harmless(n)) }),
		"tests": func(n *yaml.Node) {
			r.Mistake(n, "tests stand beside their fact, or in a file of their own, whose name ends in _test.yaml")
		},
	})
	r.Object(n, "rulebook file", sections)
}

func (r reader) readFact(n *yaml.Node) (s factSpec) {
	r.Object(n, "fact", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc), "value": r.Text(&s.value), "alive": r.Text(&s.alive),
		"tests": r.List(func(n *yaml.Node) { s.tests = append(s.tests, inline.ReadFactTest(r.Reader, n)) }),
	})
	return s
}

func (r reader) readFamily(n *yaml.Node) (s familySpec) {
	s.name.Pos = r.Pos(n)
	r.Object(n, "family of the order", map[string]func(*yaml.Node){
		"family": r.Text(&s.name), "at": r.Int(&s.at), "rules": r.Texts(&s.rules),
	})
	return s
}

func (r reader) readRule(n *yaml.Node) (s ruleSpec) {
	s.id.Pos = r.Pos(n)
	r.Object(n, "verdict rule", map[string]func(*yaml.Node){
		"id": r.Text(&s.id), "kind": r.Text(&s.kind), "verdict": r.Text(&s.verdict), "doc": r.Text(&s.doc),
		"precedence": r.Int(&s.place.precedence), "before": r.Text(&s.place.before), "after": r.Text(&s.place.after),
		"when": r.Text(&s.when), "decisive": r.Texts(&s.decisive), "over": r.Texts(&s.over),
		"confidence": r.Text(&s.confidence), "confirmed_because": r.Text(&s.because),
		"initiator": r.Text(&s.texts.initiator), "retry": r.Text(&s.retry),
		"domain": r.Text(&s.domain), "summary": r.Text(&s.texts.summary), "advice": r.Text(&s.texts.advice),
		"resource": r.Text(&s.texts.resource), "needs": r.Texts(&s.needs), "sure": r.Text(&s.sure),
		"before_start": r.Text(&s.beforeStart), "lives_on": r.Text(&s.livesOn),
		"tests": r.List(func(n *yaml.Node) { s.tests = append(s.tests, inline.ReadRuleTest(r.Reader, n)) }),
	})
	return s
}

func (r reader) readLabel(n *yaml.Node) (s labelSpec) {
	s.name.Pos = r.Pos(n)
	r.Object(n, "label", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc), "domain": r.Text(&s.domain), "retry": r.Text(&s.retry),
		"possible": r.Text(&s.possible), "needs": r.Text(&s.needs), "advice": r.Text(&s.advice),
		"death": r.Text(&s.death), "before_start": r.Text(&s.beforeStart), "lives_on": r.Text(&s.livesOn),
		"confused_with": r.Pairs(&s.confused), "sources": r.Texts(&s.sources),
		"ruled_out": r.List(func(n *yaml.Node) {
			var o ruledOutSpec
			r.Object(
				n,
				"ruled_out",
				map[string]func(*yaml.Node){"when": r.Text(&o.when), "because": r.Text(&o.because)},
			)
			s.ruledOut = append(s.ruledOut, o)
		}),
		"advice_by_line": r.List(func(n *yaml.Node) {
			o := byLineSpec{says: yamlfile.Text{Pos: r.Pos(n)}}
			r.Object(
				n,
				"advice_by_line",
				map[string]func(*yaml.Node){
					"says": r.Pattern(&o.says), "by": r.Pattern(&o.by), "advice": r.Text(&o.advice)},
			)
			s.byLine = append(s.byLine, o)
		}),
	})
	return s
}

// memberName is the name of a signal as expressions see it.
func memberName(name string) string {
	_, short, _ := strings.Cut(name, ".")
	return strings.ReplaceAll(short, "-", "_")
}
