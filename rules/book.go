package rules

import (
	"io/fs"

	"coroner/rules/casefile"
	"coroner/rules/inline"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

// Rulebook is a compiled set of signals, facts, verdict rules and labels. It
// is immutable and safe for concurrent use.
type Rulebook struct {
	*signal.Book
	Facts    []*Fact
	Rules    []*Rule             // highest precedence first
	Labels   map[Label]*LabelDef // LabelOrder has them in their order
	Harmless []Harmless

	added []Label         // labels that are not built in, as they were declared
	empty map[string]any  // the environment of a case without evidence
	named map[string]bool // reasons that signals, facts and rules name
}

// Fact is a named expression that rules use like a word.
type Fact struct {
	Name, Doc string
	Alive     bool // its lines are signs of life: they refute suspicions of a death before them
	Tests     []inline.FactTest
	value     *program
	unseen    any // its value where none of its signals was seen; counts if no word of the case decides, too
}

// in is the fact's value in an environment. Of most facts no signal was seen.
func (f *Fact) in(env map[string]any, lists *recordLists) any {
	if f.value.ofCase || lists.haveSome(f.value.signals) {
		return f.value.evaluate(env)
	}
	return f.unseen
}

// ValueIn is what the fact is in a case, by the rulebook that it stands in.
func (f *Fact) ValueIn(c *casefile.Case, b *Rulebook) any {
	env := b.caseEnvironment(c, casefile.Examine(c))
	return f.in(env, env[listsKey].(*recordLists))
}

// Load reads the *.yaml files of each file system and compiles them. Entries
// of a later file system replace those of the same name in an earlier one.
// The error joins every mistake found, each a *Error.
func Load(systems ...fs.FS) (*Rulebook, error) {
	layers, err := yamlfile.ReadLayers(systems)
	if err != nil {
		return nil, err
	}
	b := &builder{facts: map[string]*Fact{}, records: recordTypes{}}
	for _, layer := range layers {
		var s specs
		for _, f := range layer {
			r := reader{yamlfile.NewReader(f, &b.errs)}
			r.document(r.Root(), &s)
		}
		b.mergeLayer(s)
	}
	book := b.compileAll(layers)
	if err := b.errs.Join(); err != nil {
		return nil, err
	}
	return book, nil
}

// Rule returns the verdict rule with that id, or nil.
func (b *Rulebook) Rule(id string) *Rule {
	for _, r := range b.Rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}
