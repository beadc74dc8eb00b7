package rules

import (
	"errors"
	"maps"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/optimizer"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// scope is the words that an expression may use, with their types. They are worked
// out once, and not for each of the expressions, which expr.Compile would do: a
// rulebook has many.
type scope struct{ config *conf.Config }

// newScope is the scope of these words and of the functions that every expression has.
func newScope(words types.Map) scope {
	c := conf.CreateNew()
	for _, option := range append([]expr.Option{expr.Env(words), expr.MaxNodes(2000)}, exprOptions...) {
		option(c)
	}
	c.Check()
	return scope{c}
}

func (s scope) words() map[string]nature.Nature { return s.config.Env.Fields }

func (s scope) has(word string) bool {
	_, ok := s.words()[word]
	return ok
}

// add gives the scope one more word.
func (s scope) add(word string, t types.Type) { s.words()[word] = t.Nature() }

// with gives the scope more words while f compiles: a copy for each rule would take longer
// than all their expressions. They hide words of the same name.
func (s scope) with(more types.Map, f func()) {
	hidden := map[string]nature.Nature{}
	for word, t := range more {
		if was, ok := s.words()[word]; ok {
			hidden[word] = was
		}
		s.add(word, t)
	}
	f()
	for word := range more {
		delete(s.words(), word)
	}
	maps.Copy(s.words(), hidden)
}

// compile is expr.Compile in this scope.
func (s scope) compile(text string) (*vm.Program, error) {
	tree, err := checker.ParseCheck(text, s.config)
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
