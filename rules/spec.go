package rules

import (
	"regexp"
	"strings"

	"coroner/ingest"

	"go.yaml.in/yaml/v4"
)

// The spec types are the YAML as written, with positions; book.go compiles
// them.

type signalSpec struct {
	name, doc, printed, reach scalar
	source, subject           []scalar
	captures, fills, writers  []pair
	ends, exit, alarm, starts bool
	frame                     bool
	shapes                    []shapeSpec // the first is the signal's own, or: gives the others
	tests                     []SignalTest
}

type shapeSpec struct {
	match    scalar
	messages []scalar
	where    []pair
}

type pair struct{ key, value scalar }

type factSpec struct{ name, doc, value scalar }

type ruleSpec struct {
	id, verdict, when, sure, confidence, initiator, retry, domain scalar
	summary, advice, resource, doc, before, after                 scalar
	decisive, needs                                               []scalar
	precedence                                                    int
	tests                                                         []RuleTest
}

type labelSpec struct {
	name, doc, domain, retry, possible, needs, advice scalar
	confused                                          []pair // label -> how the two are told apart
	sources                                           []scalar
	ruledOut                                          []ruledOutSpec
}

type ruledOutSpec struct{ when, because scalar }

// RuleTest is an inline test of a verdict rule: documents and the verdict that
// they must give. It is run by classify, through the same path as everything.
type RuleTest struct {
	Name       string
	Files      map[string]string
	Verdict    string
	Confidence string
	Rule       string
	pos        pos
}

// Pos says where the test stands in its rulebook file.
func (t RuleTest) Pos() string { return t.pos.String() }

type specs struct {
	signals  []signalSpec
	facts    []factSpec
	verdicts []ruleSpec
	labels   []labelSpec
	secrets  []secretSpec
	words    []wordsSpec
	symptoms []symptomSpec
	harmless []harmlessSpec
}

func (r *reader) document(n *yaml.Node, into *specs) {
	if n == nil {
		return
	}
	r.object(n, "rulebook file", map[string]func(*yaml.Node){
		"signals":  r.list(func(n *yaml.Node) { into.signals = append(into.signals, r.signal(n)) }),
		"facts":    r.list(func(n *yaml.Node) { into.facts = append(into.facts, r.fact(n)) }),
		"verdicts": r.list(func(n *yaml.Node) { into.verdicts = append(into.verdicts, r.rule(n)) }),
		"labels":   r.list(func(n *yaml.Node) { into.labels = append(into.labels, r.label(n)) }),
		"secrets":  r.list(func(n *yaml.Node) { into.secrets = append(into.secrets, r.secret(n)) }),
		"words":    r.list(func(n *yaml.Node) { into.words = append(into.words, r.words(n)) }),
		"harmless": r.list(func(n *yaml.Node) { into.harmless = append(into.harmless, r.harmless(n)) }),
		"symptoms": r.list(func(n *yaml.Node) { into.symptoms = append(into.symptoms, r.symptom(n)) }),
	})
}

func (r *reader) pairs(into *[]pair) func(*yaml.Node) {
	return r.each(func(k, v scalar) { *into = append(*into, pair{k, v}) })
}

func (r *reader) signal(n *yaml.Node) (s signalSpec) {
	s.name.pos = r.pos(n)
	var own shapeSpec
	var others []shapeSpec
	r.object(n, "signal", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc), "printed": r.text(&s.printed),
		"source": r.texts(&s.source), "message": r.texts(&own.messages), "match": r.text(&own.match),
		"where": r.pairs(
			&own.where,
		), "captures": r.pairs(&s.captures), "fills": r.pairs(&s.fills), "writers": r.pairs(&s.writers),
		"or":      r.list(func(n *yaml.Node) { others = append(others, r.shape(n)) }),
		"subject": r.texts(&s.subject), "reach": r.text(&s.reach),
		"ends": r.bool(
			&s.ends,
		), "starts": r.bool(&s.starts), "exit": r.bool(&s.exit), "frame": r.bool(&s.frame), "alarm": r.bool(&s.alarm),
		"tests": r.list(func(n *yaml.Node) { s.tests = append(s.tests, r.signalTest(n)) }),
	})
	s.shapes = append([]shapeSpec{own}, others...)
	return s
}

func (r *reader) shape(n *yaml.Node) (s shapeSpec) {
	r.object(n, "shape", map[string]func(*yaml.Node){
		"message": r.texts(&s.messages), "match": r.text(&s.match), "where": r.pairs(&s.where),
	})
	return s
}

func (r *reader) signalTest(n *yaml.Node) SignalTest {
	t := SignalTest{pos: r.pos(n), Want: map[string]string{}}
	var line, not, source scalar
	into := func(m map[string]string) func(*yaml.Node) {
		return r.each(func(k, v scalar) { m[k.value] = v.value })
	}
	r.object(n, "signal test", map[string]func(*yaml.Node){
		"line": r.text(&line), "not": r.text(&not), "source": r.text(&source), "want": into(t.Want),
		"object": func(n *yaml.Node) { t.Fields = map[string]string{}; into(t.Fields)(n) },
	})
	t.Line, t.Not, t.Source = line.value+not.value, not.value != "", ingest.Source(source.value)
	return t
}

func (r *reader) fact(n *yaml.Node) (s factSpec) {
	r.object(n, "fact", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc), "value": r.text(&s.value),
	})
	return s
}

func (r *reader) rule(n *yaml.Node) (s ruleSpec) {
	s.id.pos = r.pos(n)
	r.object(n, "verdict rule", map[string]func(*yaml.Node){
		"id": r.text(&s.id), "verdict": r.text(&s.verdict), "doc": r.text(&s.doc),
		"precedence": r.int(
			&s.precedence,
		), "before": r.text(&s.before), "after": r.text(&s.after),
		"when": r.text(&s.when), "decisive": r.texts(&s.decisive),
		"confidence": r.text(&s.confidence), "initiator": r.text(&s.initiator), "retry": r.text(&s.retry),
		"domain": r.text(&s.domain), "summary": r.text(&s.summary), "advice": r.text(&s.advice),
		"resource": r.text(&s.resource), "needs": r.texts(&s.needs), "sure": r.text(&s.sure),
		"tests": r.list(func(n *yaml.Node) { s.tests = append(s.tests, r.ruleTest(n)) }),
	})
	return s
}

func (r *reader) ruleTest(n *yaml.Node) RuleTest {
	t := RuleTest{pos: r.pos(n), Files: map[string]string{}}
	var name, verdict, confidence, rule scalar
	r.object(n, "verdict test", map[string]func(*yaml.Node){
		"name": r.text(&name), "verdict": r.text(&verdict),
		"confidence": r.text(&confidence), "rule": r.text(&rule),
		"files": r.each(func(k, v scalar) { t.Files[k.value] = v.value }),
	})
	t.Name, t.Verdict, t.Confidence, t.Rule = name.value, verdict.value, confidence.value, rule.value
	return t
}

func (r *reader) label(n *yaml.Node) (s labelSpec) {
	s.name.pos = r.pos(n)
	r.object(n, "label", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc), "domain": r.text(&s.domain), "retry": r.text(&s.retry),
		"possible": r.text(&s.possible), "needs": r.text(&s.needs), "advice": r.text(&s.advice),
		"confused_with": r.pairs(&s.confused), "sources": r.texts(&s.sources),
		"ruled_out": r.list(func(n *yaml.Node) {
			var o ruledOutSpec
			r.object(
				n,
				"ruled_out",
				map[string]func(*yaml.Node){"when": r.text(&o.when), "because": r.text(&o.because)},
			)
			s.ruledOut = append(s.ruledOut, o)
		}),
	})
	return s
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*\.[a-z][a-z0-9]*(?:-[a-z0-9]+)*$`)

// member is the name of a signal as expressions see it.
func member(name string) string {
	_, short, _ := strings.Cut(name, ".")
	return strings.ReplaceAll(short, "-", "_")
}
