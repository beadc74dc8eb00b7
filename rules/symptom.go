package rules

import (
	"slices"
	"strings"

	"coroner/ingest"

	"go.yaml.in/yaml/v4"
)

// Symptoms are what all programs share: words for what went wrong, beside words
// for what was going on. A row of the table says which words of both kinds stand
// in one line, who may say so, and which label that makes worth a suspicion. A
// row is the signal symptom.NAME; all rows of a label are the fact suspect_LABEL.

// wordsSpec is a vocabulary: texts that mean the same, in whatever program.
type wordsSpec struct {
	name, doc scalar
	any       []scalar
}

// symptomSpec is a row of the table.
type symptomSpec struct {
	name, doc, verdict, when scalar

	source, phase, says, but []scalar
	tests                    []SignalTest
}

func (r *reader) words(n *yaml.Node) (s wordsSpec) {
	s.name.pos = r.pos(n)
	r.object(n, "words", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc), "any": r.texts(&s.any),
	})
	return s
}

func (r *reader) symptom(n *yaml.Node) (s symptomSpec) {
	s.name.pos = r.pos(n)
	r.object(n, "symptom", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc), "verdict": r.text(&s.verdict), "when": r.text(&s.when),
		"source": r.texts(&s.source), "phase": r.texts(&s.phase), "says": r.texts(&s.says), "but": r.texts(&s.but),
		"tests": r.list(func(n *yaml.Node) { s.tests = append(s.tests, r.signalTest(n)) }),
	})
	return s
}

// symptoms makes the rows to signals and facts.
func (b *builder) symptoms() {
	lines, order := map[Label][]string{}, []Label{}
	for _, s := range b.specs.symptoms {
		b.symptom(s)
		label := b.labelName(s.verdict)
		if lines[label] == nil {
			order = append(order, label)
		}
		lines[label] = append(lines[label], s.lines())
	}
	for _, l := range order {
		b.specs.facts = append(b.specs.facts, factSpec{
			name:  scalar{value: "suspect_" + strings.ReplaceAll(string(l), "-", "_")},
			doc:   scalar{value: "The symptoms of " + string(l) + "."},
			value: scalar{value: "concat([], " + strings.Join(lines[l], ", ") + ")"},
		})
	}
}

// lines is the row as an expression: the lines that show it.
func (s symptomSpec) lines() string {
	list := "symptom." + s.name.value
	if s.when.value != "" {
		list = "(" + s.when.value + ") ? " + list + " : []"
	}
	return list
}

// symptom makes a row to a signal: a line that has one of the words of each kind,
// in any order, and none of those that take it back. It is looked for by the words
// that are longer.
func (b *builder) symptom(s symptomSpec) {
	d := &SignalDef{
		Name: "symptom." + s.name.value, Family: "symptom", Doc: s.doc.value, Printed: "any program", Reach: ReachPod,
		Sources: b.symptomSources(s), Tests: s.tests, Fills: map[string]string{}, pos: s.name.pos,
	}
	if !namePattern.MatchString(d.Name) {
		b.errs.add(s.name.pos, "symptom name %q must be some-name", s.name.value)
		return
	}
	sh := shape{}
	for _, kind := range [][]scalar{s.says, s.phase} {
		if v := b.vocabulary(kind); v != nil {
			sh.whole = append(sh.whole, v)
			d.literals = better(d.literals, v.literals())
		}
	}
	sh.but = b.vocabulary(s.but)
	if shortest(d.literals) < minWord {
		b.errs.add(s.name.pos, "symptom %s needs words of at least %d fixed characters, of its phase or of what it says", s.name.value, minWord)
		return
	}
	d.shapes = []shape{sh}
	b.captures(d, signalSpec{name: s.name, captures: symptomNames})
	b.book.Signals = append(b.book.Signals, d)
	b.book.byName[d.Name] = d
}

// minWord is the length of a fixed text from which on it slows no line down: the
// finder's stride and gram fit into it.
const minWord = stride + minLiteral - 1

// symptomSources are who may say so: nearly everybody, for the programs of CI servers
// are many, and their lines look like those of others. The kernel has its own words.
func (b *builder) symptomSources(s symptomSpec) []ingest.Source {
	if len(s.source) > 0 {
		return b.sources(s.source, s.name.pos)
	}
	return []ingest.Source{
		ingest.Job, ingest.Runner, ingest.Controller, ingest.Listener, ingest.Kube, ingest.Kubelet, ingest.Containerd, ingest.Systemd,
	}
}

// symptomNames are the fields that name a pod, and say what is wrong, in the lines of
// many programs.
var symptomNames = []pair{
	{scalar{value: "pod"}, scalar{value: "pod"}},
	{scalar{value: "pod_uid"}, scalar{value: "pod-uid podUID"}},
	{scalar{value: "runner"}, scalar{value: "runner ephemeralrunner.name"}},
	{scalar{value: "message"}, scalar{value: "string"}}, // what the summary quotes
	{scalar{value: "err"}, scalar{value: "string"}},
	{scalar{value: "error"}, scalar{value: "string"}},
}

// A vocabulary is a list of words that mean the same.
type vocabulary []word

// word is one of them, and the fixed texts of which one is in every line that says it.
type word struct {
	*pattern
	literals []string
}

// vocabulary compiles the words of some names.
func (b *builder) vocabulary(names []scalar) (v vocabulary) {
	for _, name := range names {
		i := slices.IndexFunc(b.specs.words, func(w wordsSpec) bool { return w.name.value == name.value })
		if i < 0 {
			b.errs.add(name.pos, "unknown words %q%s", name.value, nearest(name.value, b.wordNames()))
			continue
		}
		for _, w := range b.specs.words[i].any {
			v = append(v, word{b.pattern(w), requiredLiterals(w.value)})
		}
	}
	return v
}

// literals are the texts of which one is in every line that says a word of v; nil
// where there are none for some word.
func (v vocabulary) literals() (all []string) {
	for _, w := range v {
		if w.literals == nil {
			return nil
		}
		all = append(all, w.literals...)
	}
	return all
}

// symptoms are those of an entry that no exact signal knows, or knows as a frame only.
// They have steps of their own.
func (m *matching) symptoms(b *Rulebook, all []int32, fields ingest.Fields) (found []Signal) {
	m.steps = symptomSteps(m.e)
	for _, i := range all {
		d := b.Signals[i]
		if !d.mayBeSaid(begin(m.e.Text)) {
			continue
		}
		if words, ok := m.recognise(d, fields); ok {
			found = append(found, d.signal(m.e, words))
		}
	}
	return found
}

// begin is the part of a line that symptoms are looked for in: whoever says what is
// wrong says it soon, and what a job prints can be long.
func begin(text string) string { return text[:min(len(text), 1024)] }

func symptomSteps(e *ingest.Entry) int { return 4000 + 16*len(begin(e.Text)) }

// mayBeSaid says whether text has the fixed texts of a symptom's words of each kind.
func (d *SignalDef) mayBeSaid(text string) bool {
	for i := range d.shapes {
		for _, v := range d.shapes[i].whole {
			if !slices.ContainsFunc(v, func(w word) bool { return w.mayBeIn(text) }) {
				return false
			}
		}
	}
	return true
}

func (w *word) mayBeIn(text string) bool {
	return w.literals == nil || slices.ContainsFunc(w.literals, func(l string) bool { return strings.Contains(text, l) })
}

// says reports whether the line has a word of v.
func (m *matching) says(v vocabulary) bool {
	text := begin(m.e.Text)
	return slices.ContainsFunc(v, func(w word) bool { return w.mayBeIn(text) && m.groups(w.pattern, text, false, nil) })
}

func (b *builder) wordNames() (out []string) {
	for _, w := range b.specs.words {
		out = append(out, w.name.value)
	}
	return out
}
