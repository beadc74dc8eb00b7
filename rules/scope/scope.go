// Package scope is the language of a rulebook's expressions: the words that they may use,
// with their types, and the functions that all of them have.
//
// Invariant: a scope is closed. An expression that names what is not in it does not compile, and
// one that compiled can fail only by an index out of range or the like.
//
// Crash behaviour: there is no state to lose.
package scope

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/optimizer"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"coroner/rules/casefile"
	"coroner/rules/phrase"
)

// Scope is the words that an expression may use, with their types. They are worked
// out once, and not for each of the expressions, which expr.Compile would do: a
// rulebook has many.
type Scope struct {
	config  *conf.Config
	hyphens *regexp.Regexp // names of signals, as the rulebook spells them
}

// New is the scope of these words and of the functions that every expression has. Families are
// the words that hold signals.
func New(words types.Map, families []string) Scope {
	c := conf.CreateNew()
	for _, option := range append([]expr.Option{expr.Env(words), expr.MaxNodes(2000)}, functions...) {
		option(c)
	}
	c.Check()
	names := `\b(?:` + strings.Join(families, "|") + `)\.[a-z][a-z0-9]*(?:-[a-z0-9]+)+`
	return Scope{c, regexp.MustCompile(names)}
}

var functions = []expr.Option{
	expr.Function("seen", func(p ...any) (any, error) { return len(p[0].([]any)) > 0, nil }, new(func([]any) bool)),
	functionOf("clock", phrase.Clock), functionOf("size", phrase.Size), functionOf("secs", phrase.Seconds),
	functionOf("aged", casefile.SecondsOfAge),
	expr.Function("gist", func(p ...any) (any, error) { return phrase.Gist(p[0]), nil }, new(func(any) string)),
	expr.Function("victim", func(p ...any) (any, error) { return phrase.Victim(p[0]), nil }, new(func(any) string)),
	expr.Function(
		"or_else",
		func(p ...any) (any, error) { return cmp.Or(p[0].(string), p[1].(string)), nil },
		new(func(string, string) string),
	),
}

// functionOf makes a function of one value known to expressions.
func functionOf[From, To any](name string, f func(From) To) expr.Option {
	return expr.Function(name, func(p ...any) (any, error) { return f(p[0].(From)), nil }, new(func(From) To))
}

func (s Scope) fields() map[string]nature.Nature { return s.config.Env.Fields }

// Words are the names of all words, sorted.
func (s Scope) Words() []string { return slices.Sorted(maps.Keys(s.fields())) }

// Has says whether there is such a word.
func (s Scope) Has(word string) bool {
	_, ok := s.fields()[word]
	return ok
}

// Add gives the scope one more word.
func (s Scope) Add(word string, t types.Type) { s.fields()[word] = t.Nature() }

// With gives the scope more words while f compiles: a copy for each rule would take longer
// than all their expressions. They hide words of the same name.
func (s Scope) With(more types.Map, f func()) {
	hidden := map[string]nature.Nature{}
	for word, t := range more {
		if was, ok := s.fields()[word]; ok {
			hidden[word] = was
		}
		s.Add(word, t)
	}
	f()
	for word := range more {
		delete(s.fields(), word)
	}
	maps.Copy(s.fields(), hidden)
}

// Compile is expr.Compile in this scope. An error of type *file.Error says where in the text.
func (s Scope) Compile(text string) (*vm.Program, error) {
	tree, err := checker.ParseCheck(s.flattenNames(text), s.config)
	if err != nil {
		return nil, err
	}
	if err := optimizer.Optimize(&tree.Node, s.config); err != nil {
		var placed *file.Error
		if errors.As(err, &placed) {
			return nil, placed.Bind(tree.Source)
		}
		return nil, err
	}
	return compiler.Compile(tree, s.config)
}

// flattenNames rewrites kernel.oom-kill to kernel.oom_kill, so that a signal
// has one spelling everywhere. The length stays, so positions do too. A
// subtraction needs spaces around its minus.
func (s Scope) flattenNames(text string) string {
	if !strings.Contains(text, "-") {
		return text
	}
	return s.hyphens.ReplaceAllStringFunc(text, func(m string) string { return strings.ReplaceAll(m, "-", "_") })
}
