package rules

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"coroner/ingest"
	"coroner/ingest/logtext"
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
		if any := b.vocabularies(kind); any != nil {
			sh.whole = append(sh.whole, any)
			d.literals = better(d.literals, literalsOf(any))
		}
	}
	sh.but = b.vocabularies(s.but)
	if shortest(d.literals) < minWord {
		b.errs.add(
			s.name.pos,
			"symptom %s needs words of at least %d fixed characters, of its phase or of what it says",
			s.name.value,
			minWord,
		)
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
		ingest.Job, ingest.Runner, ingest.Controller, ingest.Listener,
		ingest.Kube, ingest.Kubelet, ingest.Containerd, ingest.Systemd,
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
type vocabulary struct {
	name  string
	index int // among all of the rulebook
	words []word
}

// word is one of them, and the fixed texts of which one is in every line that says it.
type word struct {
	*pattern
	literals []string
	number   int32 // among all whose fixed texts are looked for, -1 for one without
}

// vocabularies are those of some names.
func (b *builder) vocabularies(names []scalar) (all []*vocabulary) {
	for _, name := range names {
		if v := b.vocabulary(name); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// vocabulary compiles the words of a name once.
func (b *builder) vocabulary(name scalar) *vocabulary {
	for _, v := range b.book.words {
		if v.name == name.value {
			return v
		}
	}
	i := slices.IndexFunc(b.specs.words, func(w wordsSpec) bool { return w.name.value == name.value })
	if i < 0 {
		b.errs.add(name.pos, "unknown words %q%s", name.value, nearest(name.value, b.wordNames()))
		return nil
	}
	v := &vocabulary{name: name.value, index: len(b.book.words)}
	for _, w := range b.specs.words[i].any {
		v.words = append(v.words, b.word(w))
	}
	if b.book.words = append(b.book.words, v); len(b.book.words) > maxWordLists {
		b.errs.add(name.pos, "there are more than %d lists of words", maxWordLists)
	}
	return v
}

func (b *builder) word(s scalar) word {
	w := word{b.pattern(s), requiredLiterals(s.value), -1}
	if shortest(w.literals) >= minLiteral {
		w.number = int32(len(b.wordDefs))
		b.wordDefs = append(b.wordDefs, &SignalDef{literals: w.literals})
	}
	return w
}

// literalsOf are the texts of which one is in every line that says a word of one of
// all; nil where there are none for some word.
func literalsOf(all []*vocabulary) (out []string) {
	for _, v := range all {
		for _, w := range v.words {
			if w.literals == nil {
				return nil
			}
			out = append(out, w.literals...)
		}
	}
	return out
}

// symptoms are those of an entry that no exact signal knows, or knows as a frame only.
// They have steps of their own.
func (m *matching) symptoms(b *Rulebook, all []int32, fields logtext.Fields) (found []Signal) {
	if len(all) == 0 {
		return nil
	}
	var room [64]int32
	m.steps, m.words = symptomSteps(m.e), b.spoken.all(bytesOf(begin(m.e.Text)), room[:0])
	for _, i := range all {
		d := b.Signals[i]
		if words, ok := m.recognise(d, fields); ok {
			found = append(found, d.signal(m.e, words))
		}
	}
	return found
}

// maxSymptomLine is the longest line that symptoms are looked for in: nobody says
// shortly what is wrong in a longer one, and what is found in it costs by its length.
const maxSymptomLine = 4 << 10

// begin is the part of a line that symptoms are looked for in: whoever says what is
// wrong says it soon, and what a job prints can be long.
func begin(text string) string { return text[:min(len(text), 1024)] }

func symptomSteps(e *ingest.Entry) int { return 4000 + 8*len(begin(e.Text)) }

// heard is what is known of a line and the lists of words: each is looked for once.
type heard [maxWordLists]int8

const (
	maxWordLists = 96
	said, unsaid = 1, 2
)

// says reports whether the line has a word of one of these lists.
func (m *matching) says(any []*vocabulary) bool { return slices.ContainsFunc(any, m.hears) }

func (m *matching) hears(v *vocabulary) bool {
	if m.heard[v.index] == 0 {
		m.heard[v.index] = unsaid
		text := begin(m.e.Text)
		for _, w := range v.words {
			if m.mayHave(w) && m.groups(w.pattern, text, false, nil) {
				m.heard[v.index] = said
				break
			}
		}
	}
	return m.heard[v.index] == said
}

func (m *matching) mayHave(w word) bool {
	_, found := slices.BinarySearch(m.words, w.number)
	return found || w.number < 0
}

func (b *builder) wordNames() (out []string) {
	for _, w := range b.specs.words {
		out = append(out, w.name.value)
	}
	return out
}
