package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

// program is a compiled expression and the signals that it looks at.
type program struct {
	text    string
	vm      *vm.Program
	signals []string      // members of the environment, family.name
	facts   []*Fact       // that it names
	lists   []*signal.Def // whose records it names
	ofCase  bool          // names a word of the case, by itself or through facts
}

// asWritten is the expression as the rulebook has it.
func (p *program) asWritten() string {
	if p == nil {
		return ""
	}
	return strings.Join(strings.Fields(p.text), " ")
}

// expression compiles s in a scope; want is what it must yield ("" = any).
func (b *builder) expression(s yamlfile.Text, want string) *program {
	p, err := b.scope.Compile(s.Value)
	if err != nil {
		b.expressionError(s, err)
		return nil
	}
	if got := kindOf(p); want != "" && got != want && got != "interface {}" {
		b.errs.Add(s.At(1, 1), "must be %s, is %s", want, got)
	}
	used := b.usedIn(p.Node())
	return &program{s.Value, p, used.found, used.named, used.lists, used.ofCase}
}

func kindOf(p *vm.Program) string {
	if t := p.Node().Type(); t != nil {
		return t.String()
	}
	return "interface {}"
}

// expressionError places a compile error in the rulebook file and speaks of
// signals, fields and words instead of the compiler's terms.
func (b *builder) expressionError(s yamlfile.Text, err error) {
	var fe *file.Error
	if !errors.As(err, &fe) {
		b.errs.Add(s.Pos, "%v", err)
		return
	}
	at := s.At(fe.Line, fe.Column+1)
	msg := fe.Message
	if word, ok := strings.CutPrefix(msg, "unknown field "); ok {
		msg = fmt.Sprintf("unknown signal or field %s%s", word, yamlfile.Nearest(word, b.knownWords()))
	} else if word, ok := strings.CutPrefix(msg, "unknown name "); ok {
		msg = fmt.Sprintf("unknown name %s%s", word, yamlfile.Nearest(word, b.knownWords()))
	}
	b.errs.Add(at, "%s", msg)
}

// knownWords lists everything that an expression can name, for suggestions.
func (b *builder) knownWords() []string {
	set := map[string]bool{}
	for _, name := range b.scope.Words() {
		set[name] = true
	}
	for _, d := range b.book.Signals {
		set[memberName(d.Name)] = true
		for name := range d.CaptureTypes() {
			set[name] = true
		}
	}
	for name := range recordBase {
		set[name] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// usedIn finds the signals that an expression looks at, by itself or through facts,
// and the facts that it names.
func (b *builder) usedIn(n ast.Node) *memberVisitor {
	v := &memberVisitor{book: b.book, known: b.members, facts: b.facts}
	ast.Walk(&n, v)
	return v
}

type memberVisitor struct {
	book  *Rulebook
	known map[string]string // family.member -> signal
	facts map[string]*Fact

	found []string      // signals that are looked at
	lists []*signal.Def // those of them that are named
	named []*Fact

	ofCase bool
}

func (v *memberVisitor) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok {
		if f := v.facts[id.Value]; f != nil && !slices.Contains(v.named, f) {
			v.named, v.found = append(v.named, f), append(v.found, f.value.signals...)
			v.ofCase = v.ofCase || f.value.ofCase
		}
		v.ofCase = v.ofCase || caseWord(id.Value)
		return
	}
	m, ok := (*n).(*ast.MemberNode)
	if !ok {
		return
	}
	id, ok1 := m.Node.(*ast.IdentifierNode)
	prop, ok2 := m.Property.(*ast.StringNode)
	if !ok1 || !ok2 {
		return
	}
	if name, ok := v.known[id.Value+"."+prop.Value]; ok {
		v.found, v.lists = append(v.found, name), append(v.lists, v.book.Signal(name))
	}
}

// evaluate evaluates the program, and first the records and facts that it names where
// nothing asked for them before. The environment is closed and typed, so an error
// can only be an index out of range or the like: it counts as "no". Verify
// finds such expressions.
func (p *program) evaluate(env map[string]any) any {
	out, err := p.tryEvaluate(env)
	if err != nil {
		return nil
	}
	return out
}

func (p *program) tryEvaluate(env map[string]any) (any, error) {
	if p == nil {
		return nil, nil
	}
	lists := env[listsKey].(*recordLists)
	lists.makeRecords(env, p.lists)
	for _, f := range p.facts {
		if _, known := env[f.Name]; !known {
			env[f.Name] = f.in(env, lists)
		}
	}
	out, err := expr.Run(p.vm, env)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.text, err)
	}
	return out, nil
}

func (p *program) isTrue(env map[string]any) bool {
	v, _ := p.evaluate(env).(bool)
	return v
}

func (p *program) evaluateList(env map[string]any) []any {
	v, _ := p.evaluate(env).([]any)
	return v
}
