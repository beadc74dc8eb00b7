package signal

import (
	"regexp"

	"coroner/ingest"
	"coroner/rules/yamlfile"

	"go.yaml.in/yaml/v4"
)

// The spec types are the YAML as written, with positions; compile.go makes
// definitions of them.

// Specs are the sections of rulebook files that say what lines mean, as written.
type Specs struct {
	Symptoms []SymptomSpec

	signals []signalSpec
	secrets []secretSpec
	words   []wordsSpec
}

// reader reads these sections.
type reader struct{ *yamlfile.Reader }

// Sections are the sections by their names in a file.
func (s *Specs) Sections(file *yamlfile.Reader) map[string]func(*yaml.Node) {
	r := reader{file}
	return map[string]func(*yaml.Node){
		"signals":  r.List(func(n *yaml.Node) { s.signals = append(s.signals, r.readSignal(n)) }),
		"secrets":  r.List(func(n *yaml.Node) { s.secrets = append(s.secrets, r.readSecret(n)) }),
		"words":    r.List(func(n *yaml.Node) { s.words = append(s.words, r.readWords(n)) }),
		"symptoms": r.List(func(n *yaml.Node) { s.Symptoms = append(s.Symptoms, r.readSymptom(n)) }),
	}
}

// LayOver lays what later files say over what was read before them.
func (s *Specs) LayOver(above Specs, mistakes *yamlfile.Errors) {
	yamlfile.Overlay(mistakes, &s.signals, above.signals, func(x signalSpec) yamlfile.Text { return x.name })
	yamlfile.Overlay(mistakes, &s.words, above.words, func(x wordsSpec) yamlfile.Text { return x.name })
	yamlfile.Overlay(mistakes, &s.Symptoms, above.Symptoms, func(x SymptomSpec) yamlfile.Text { return x.name })
	yamlfile.Overlay(mistakes, &s.secrets, above.secrets, func(x secretSpec) yamlfile.Text { return x.name })
}

// ReasonTexts are the expressions of the signals that name reasons of events, pods,
// containers and nodes.
func (s *Specs) ReasonTexts() (out []string) {
	for _, d := range s.signals {
		for _, w := range d.writers {
			out = append(out, w.Key.Value)
		}
		for _, sh := range d.shapes {
			for _, w := range sh.where {
				if w.Key.Value == "reason" || w.Key.Value == "err" {
					out = append(out, w.Value.Value)
				}
			}
		}
	}
	return out
}

type signalSpec struct {
	name, doc, printed, once yamlfile.Text
	source, subject, reach   []yamlfile.Text
	captures, fills, writers []yamlfile.Pair
	within                   []yamlfile.Pair
	effect                   Effect
	traits
	shapes []shapeSpec // the first is the signal's own, or: gives the others
	tests  []Test
}

type traits struct{ frame, down bool }

type shapeSpec struct {
	match    yamlfile.Text
	messages []yamlfile.Text
	where    []yamlfile.Pair
}

func (r reader) readSignal(n *yaml.Node) (s signalSpec) {
	s.name.Pos = r.Pos(n)
	var own shapeSpec
	var others []shapeSpec
	r.Object(n, "signal", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc), "printed": r.Text(&s.printed),
		"source": r.Texts(&s.source), "message": r.Texts(&own.messages), "match": r.Pattern(&own.match),
		"where": r.PatternPairs(&own.where), "captures": r.Pairs(&s.captures), "fills": r.Pairs(&s.fills),
		"writers": r.Pairs(&s.writers),
		"or":      r.List(func(n *yaml.Node) { others = append(others, r.readShape(n)) }),
		"subject": r.Texts(&s.subject), "reach": r.Texts(&s.reach), "within": r.Pairs(&s.within),
		"once": r.Text(&s.once),
		"ends": r.Bool(&s.effect.Ends), "starts": r.Bool(&s.effect.Starts), "exit": r.Bool(&s.effect.Exit),
		"alarm": r.Bool(&s.effect.Alarm), "node_down": r.Bool(&s.down), "frame": r.Bool(&s.frame),
		"tests": r.List(func(n *yaml.Node) { s.tests = append(s.tests, r.signalTest(n)) }),
	})
	s.shapes = append([]shapeSpec{own}, others...)
	return s
}

func (r reader) readShape(n *yaml.Node) (s shapeSpec) {
	r.Object(n, "shape", map[string]func(*yaml.Node){
		"message": r.Texts(&s.messages), "match": r.Pattern(&s.match), "where": r.PatternPairs(&s.where),
	})
	return s
}

func (r reader) signalTest(n *yaml.Node) Test {
	t := Test{pos: r.Pos(n), Want: map[string]string{}}
	var line, not, source yamlfile.Text
	into := func(m map[string]string) func(*yaml.Node) {
		return r.Each(func(k, v yamlfile.Text) { m[k.Value] = v.Value })
	}
	r.Object(n, "signal test", map[string]func(*yaml.Node){
		"line": r.Text(&line), "not": r.Text(&not), "source": r.Text(&source), "want": into(t.Want),
		"object": func(n *yaml.Node) { t.Fields = map[string]string{}; into(t.Fields)(n) },
	})
	t.Line, t.Not, t.Source = line.Value+not.Value, not.Value != "", ingest.Source(source.Value)
	return t
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*\.[a-z][a-z0-9]*(?:-[a-z0-9]+)*$`)
