package rules

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"coroner/rules/yamlfile"
)

// Confusion is another label that people mistake a label for.
type Confusion struct {
	Label Label
	Apart string // how the two are told apart
}

// confusions reads confused_with: a label, and what tells it from this one.
func (b *builder) confusions(l *LabelDef, list []yamlfile.Pair) {
	for _, c := range list {
		other := b.labelName(c.Key)
		switch {
		case other == l.Label:
			b.errs.Add(c.Key.Pos, "label %s cannot be confused with itself", l.Label)
		case strings.TrimSpace(c.Value.Value) == "":
			b.errs.Add(c.Key.Pos, "say how %s and %s are told apart", l.Label, other)
		}
		l.Confused = append(l.Confused, Confusion{other, c.Value.Value})
	}
}

// mirrorConfusions gives every pair to both of its labels: one that is
// confused with another is what the other is confused with.
func (b *Rulebook) mirrorConfusions() {
	written := map[Label][]Confusion{}
	for _, name := range b.LabelOrder() {
		if l := b.Labels[name]; l != nil {
			written[name] = l.Confused
		}
	}
	for _, name := range b.LabelOrder() {
		for _, c := range written[name] {
			if other := b.Labels[c.Label]; other != nil && !other.confusedWith(name) {
				other.Confused = append(slices.Clip(other.Confused), Confusion{name, c.Apart})
			}
		}
	}
}

func (l *LabelDef) confusedWith(other Label) bool {
	return slices.ContainsFunc(l.Confused, func(c Confusion) bool { return c.Label == other })
}

// Exclusions are the facts that rule the label out, in words.
func (l *LabelDef) Exclusions() []string {
	var out []string
	for _, x := range l.ruledOut {
		out = append(out, x.because.plainWords())
	}
	return out
}

// Says is what a verdict of the rule reads like: ‹name› stands for a value, […]
// for what is said only where it applies.
func (r *Rule) Says() string { return r.texts.summary.plainWords() }

// Advice is what to do where it differs from the label's, or "".
func (r *Rule) Advice() string { return r.texts.advice.plainWords() }

// plainWords is the text with a name in place of every value that only a case has.
func (t *template) plainWords() string {
	return t.textWith(func(p *program) string { return nodeWords(p.vm.Node()) })
}

// nodeWords is what an expression would put into a sentence: of alternatives
// the first, of a value its name.
func nodeWords(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.ConditionalNode:
		return choiceWords(n)
	case *ast.BinaryNode:
		if t := n.Type().String(); t == "int" || t == "float64" {
			return placeholder("number")
		}
		return nodeWords(n.Left) + nodeWords(n.Right)
	case *ast.IdentifierNode:
		return placeholder(n.Value)
	case *ast.MemberNode:
		if name, ok := n.Property.(*ast.StringNode); ok {
			return placeholder(name.Value)
		}
	case *ast.CallNode:
		return callWords(n.Callee.String(), n.Arguments)
	case *ast.BuiltinNode:
		return callWords(n.Name, n.Arguments)
	}
	return "…"
}

// choiceWords: of two texts the first; a text that may be left out is in brackets.
func choiceWords(n *ast.ConditionalNode) string {
	first, second := nodeWords(n.Exp1), nodeWords(n.Exp2)
	switch {
	case second == "" || strings.HasPrefix(second, "["):
		return "[" + first + "]"
	case first == "":
		return "[" + second + "]"
	}
	return first
}

// callWords: a function that only formats a value goes by the value's name.
func callWords(function string, args []ast.Node) string {
	switch function {
	case "gist":
		return placeholder("line")
	case "victim":
		return placeholder("process")
	case "len":
		return placeholder("number")
	case "clock", "size", "secs", "string", "or_else":
		return nodeWords(args[0])
	}
	return "…"
}

func placeholder(name string) string {
	if name == "at" {
		name = "time"
	}
	return "‹" + strings.ReplaceAll(name, "_", " ") + "›"
}

// deciding lists the signals whose lines the rule can name as decisive: not
// those that its conditions only look at.
func (b *builder) deciding(r *Rule) (out []string) {
	for _, p := range r.decisive {
		out = append(out, b.signalsIn(p.vm.Node())...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// signalsIn lists the signals that a list of evidence can hold.
func (b *builder) signalsIn(n ast.Node) (out []string) {
	switch n := n.(type) {
	case *ast.ConditionalNode:
		return append(b.signalsIn(n.Exp1), b.signalsIn(n.Exp2)...)
	case *ast.BuiltinNode: // filter(list, …), concat(list, list)
		for _, a := range n.Arguments {
			out = append(out, b.signalsIn(a)...)
		}
	case *ast.MemberNode:
		if name, ok := b.members[n.String()]; ok {
			return []string{name}
		}
	case *ast.IdentifierNode:
		return b.factYields(n.Value)
	}
	return out
}

func (b *builder) factYields(name string) []string {
	for _, f := range b.book.Facts {
		if f.Name == name {
			return b.signalsIn(f.value.vm.Node())
		}
	}
	return nil
}
