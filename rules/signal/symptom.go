package signal

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/rules/literal"
	"coroner/rules/yamlfile"
)

// Symptoms are what all programs share: words for what went wrong, beside words
// for what was going on. A row of the table says which words of both kinds stand
// in one line, who may say so, and which label that makes worth a suspicion. A
// row is the signal symptom.NAME; all rows of a label are the fact suspect_LABEL.

// wordsSpec is a vocabulary: texts that mean the same, in whatever program.
type wordsSpec struct {
	name, doc yamlfile.Text
	any       []yamlfile.Text
}

// symptomSpec is a row of the table.
type SymptomSpec struct {
	name, doc, Verdict, when yamlfile.Text

	source, phase, says, but []yamlfile.Text
	tests                    []Test
}

func (r reader) readWords(n *yaml.Node) (s wordsSpec) {
	s.name.Pos = r.Pos(n)
	r.Object(n, "words", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc), "any": r.Patterns(&s.any),
	})
	return s
}

func (r reader) readSymptom(n *yaml.Node) (s SymptomSpec) {
	s.name.Pos = r.Pos(n)
	r.Object(n, "symptom", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc), "verdict": r.Text(&s.Verdict), "when": r.Text(&s.when),
		"source": r.Texts(&s.source), "phase": r.Texts(&s.phase), "says": r.Texts(&s.says), "but": r.Texts(&s.but),
		"tests": r.List(func(n *yaml.Node) { s.tests = append(s.tests, r.signalTest(n)) }),
	})
	return s
}

// Lines is the row as an expression: the lines that show it.
func (s SymptomSpec) Lines() string {
	list := "symptom." + s.name.Value
	if s.when.Value != "" {
		list = "(" + s.when.Value + ") ? " + list + " : []"
	}
	return list
}

// compileSymptom makes a row to a signal: a line that has one of the words of each kind,
// in any order, and none of those that take it back. It is looked for by the words
// that are longer.
func (c *compiler) compileSymptom(s SymptomSpec) {
	d := &Def{
		Name: "symptom." + s.name.Value, Family: "symptom", Doc: s.doc.Value, Printed: "any program", Reach: ReachPod,
		Sources: c.symptomSources(s), Tests: s.tests, Fills: map[string]string{}, at: s.name.Pos,
	}
	if !namePattern.MatchString(d.Name) {
		c.errs.Add(s.name.Pos, "symptom name %q must be some-name", s.name.Value)
		return
	}
	sh := shape{}
	for _, kind := range [][]yamlfile.Text{s.says, s.phase} {
		if any := c.vocabularies(kind); any != nil {
			sh.whole = append(sh.whole, any)
			d.literals = literal.Better(d.literals, literalsOf(any))
		}
	}
	sh.but = c.vocabularies(s.but)
	if literal.Shortest(d.literals) < literal.FastLength {
		c.errs.Add(
			s.name.Pos,
			"symptom %s needs words of at least %d fixed characters, of its phase or of what it says",
			s.name.Value,
			literal.FastLength,
		)
		return
	}
	d.shapes = []shape{sh}
	c.captures(d, signalSpec{name: s.name, captures: symptomNames})
	c.book.Signals = append(c.book.Signals, d)
	c.book.byName[d.Name] = d
}

// symptomSources are who may say so: nearly everybody, for the programs of CI servers
// are many, and their lines look like those of others. The kernel has its own words.
func (c *compiler) symptomSources(s SymptomSpec) []ingest.Source {
	if len(s.source) > 0 {
		return Sources(s.source, s.name.Pos, c.errs)
	}
	return []ingest.Source{
		ingest.Job, ingest.Runner, ingest.Controller, ingest.Listener,
		ingest.Kube, ingest.Kubelet, ingest.Containerd, ingest.Systemd,
	}
}

// symptomNames are the fields that name a pod, and say what is wrong, in the lines of
// many programs.
var symptomNames = []yamlfile.Pair{
	{Key: yamlfile.Text{Value: "pod"}, Value: yamlfile.Text{Value: "pod"}},
	{Key: yamlfile.Text{Value: "pod_uid"}, Value: yamlfile.Text{Value: "pod-uid podUID"}},
	{Key: yamlfile.Text{Value: "runner"}, Value: yamlfile.Text{Value: "runner ephemeralrunner.name"}},
	{Key: yamlfile.Text{Value: "message"}, Value: yamlfile.Text{Value: "string"}}, // what the summary quotes
	{Key: yamlfile.Text{Value: "err"}, Value: yamlfile.Text{Value: "string"}},
	{Key: yamlfile.Text{Value: "error"}, Value: yamlfile.Text{Value: "string"}},
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
func (c *compiler) vocabularies(names []yamlfile.Text) (all []*vocabulary) {
	for _, name := range names {
		if v := c.vocabulary(name); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// vocabulary compiles the words of a name once.
func (c *compiler) vocabulary(name yamlfile.Text) *vocabulary {
	for _, v := range c.book.words {
		if v.name == name.Value {
			return v
		}
	}
	i := slices.IndexFunc(c.specs.words, func(w wordsSpec) bool { return w.name.Value == name.Value })
	if i < 0 {
		c.errs.Add(name.Pos, "unknown words %q%s", name.Value, yamlfile.Nearest(name.Value, c.wordNames()))
		return nil
	}
	v := &vocabulary{name: name.Value, index: len(c.book.words)}
	for _, w := range c.specs.words[i].any {
		v.words = append(v.words, c.compileWord(w))
	}
	if c.book.words = append(c.book.words, v); len(c.book.words) > maxWordLists {
		c.errs.Add(name.Pos, "there are more than %d lists of words", maxWordLists)
	}
	return v
}

func (c *compiler) compileWord(s yamlfile.Text) word {
	p, tree := c.compilePattern(s)
	w := word{p, literal.Required(tree), -1}
	if literal.Shortest(w.literals) >= literal.MinLength {
		w.number = int32(len(c.wordTexts))
		c.wordTexts = append(c.wordTexts, w.literals)
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
func (m *matching) symptoms(b *Book, all []int32, fields logtext.Fields) (found []Signal) {
	if len(all) == 0 {
		return nil
	}
	var room [64]int32
	m.steps, m.words = symptomSteps(m.e), b.spoken.All(bytesOf(beginningOf(m.e.Text)), room[:0])
	for _, i := range all {
		d := b.Signals[i]
		if words, ok := m.recognise(d, fields); ok {
			found = append(found, d.newSignal(m.e, words))
		}
	}
	return found
}

// maxSymptomLine is the longest line that symptoms are looked for in: nobody says
// shortly what is wrong in a longer one, and what is found in it costs by its length.
const maxSymptomLine = 4 << 10

// beginningOf is the part of a line that symptoms are looked for in: whoever says what is
// wrong says it soon, and what a job prints can be long.
func beginningOf(text string) string { return text[:min(len(text), 1024)] }

func symptomSteps(e *ingest.Entry) int { return 4000 + 8*len(beginningOf(e.Text)) }

// heard is what is known of a line and the lists of words: each is looked for once.
type heard [maxWordLists]int8

const (
	maxWordLists = 128
	said, unsaid = 1, 2
)

// hasWordOfAny reports whether the line has a word of one of these lists.
func (m *matching) hasWordOfAny(any []*vocabulary) bool { return slices.ContainsFunc(any, m.hasWordOf) }

func (m *matching) hasWordOf(v *vocabulary) bool {
	if m.heard[v.index] == 0 {
		m.heard[v.index] = unsaid
		text := beginningOf(m.e.Text)
		for _, w := range v.words {
			if m.mayHave(w) && m.matchGroups(w.pattern, text, false, nil) {
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

func (c *compiler) wordNames() (out []string) {
	for _, w := range c.specs.words {
		out = append(out, w.name.Value)
	}
	return out
}
