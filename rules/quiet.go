package rules

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// findQuiet marks the signals that are quiet together. It begins with all that
// end nothing and takes away those that some rule could decide by, until none can.
// members are the names of signals by how expressions spell them.
func (b *Rulebook) findQuiet(members map[string]string) {
	own, beside := map[string]bool{}, map[string]bool{}
	for _, d := range b.Signals {
		own[d.Name] = !d.Ends && !d.Exit && !d.Alarm
		beside[d.Name] = !d.Ends && d.Reach.Has(signal.ReachNode)
	}
	s := &sketch{book: b, members: members, own: own, beside: beside, facts: map[string]any{}}
	never := map[*Rule]bool{}
	for {
		r := b.firstLoud(s, never)
		if r == nil {
			break
		}
		if !removeNames(own, r.Deciding) && !removeNames(beside, r.Deciding) && !removeNames(own, r.Signals) &&
			!removeNames(beside, r.Signals) {
			return // a rule that fits without any line: nothing is quiet
		}
	}
	for _, d := range b.Signals {
		d.SetQuiet(own[d.Name], beside[d.Name])
	}
}

// Decides says whether the lines of a signal can be what a verdict of a label that lasts, on
// a case of that kind, stands on.
func (b *Rulebook) Decides(kind casefile.Kind, signal string) bool {
	return slices.ContainsFunc(b.Rules, func(r *Rule) bool {
		return r.Kind == kind && r.Label.Lasting() && slices.Contains(r.Deciding, signal)
	})
}

// removeNames takes names out of a set and says whether one was in it.
func removeNames(set map[string]bool, names []string) (found bool) {
	for _, name := range names {
		found = found || set[name]
		delete(set, name)
	}
	return found
}

// firstLoud is the first rule of another label than none that could fit a case
// with nothing but the signals of the sketch, nil where a rule of none fits before.
//
// What is certain stays so when signals are taken away: a fact that has a value is not worked
// out again, and a rule that cannot fit is in never.
func (b *Rulebook) firstLoud(s *sketch, never map[*Rule]bool) *Rule {
	for _, f := range b.Facts {
		if v := s.facts[f.Name]; v == nil || v == (open{}) || v == (notMine{}) {
			s.facts[f.Name] = s.programValue(f.value)
		}
	}
	for _, r := range b.Rules {
		if r.Kind != casefile.OfRunner || never[r] {
			continue
		}
		fits := s.ruleFits(r)
		switch {
		case fits == false:
			never[r] = true
		case r.Label != None:
			return r
		case fits == true:
			return nil
		}
	}
	return noRuleFits()
}

// noRuleFits stands for the verdict that a case has when no rule fits.
func noRuleFits() *Rule { return &Rule{Label: Unknown} }

// sketch works out what an expression gives for every case that has no evidence
// but some of the signals, and in which nothing ended. What depends on anything
// else is open.
type sketch struct {
	book        *Rulebook
	members     map[string]string // name of a signal by how expressions spell it
	own, beside map[string]bool   // signals about the pod, and about its node only
	facts       map[string]any
	any         bool // something can have ended, and lines can raise an alarm
}

// What a sketch of an expression is, if not a bool, an int or a string.
type (
	open     struct{} // it can be anything
	noRecord struct{} // a list without records
	notMine  struct{} // a list of records that do not name the pod
)

// ruleFits says whether a rule fits: true, false or open.
func (s *sketch) ruleFits(r *Rule) any {
	if r.when != nil && s.programValue(r.when) == false {
		return false
	}
	for _, p := range r.decisive {
		if s.programValue(p) != (noRecord{}) {
			return open{}
		}
	}
	if len(r.decisive) > 0 {
		return false
	}
	return s.programValue(r.when)
}

func (s *sketch) programValue(p *program) any { return s.nodeValue(p.vm.Node()) }

func (s *sketch) nodeValue(n ast.Node) any {
	switch n := n.(type) {
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.StringNode:
		return n.Value
	case *ast.IdentifierNode:
		return s.wordValue(n.Value)
	case *ast.MemberNode:
		return s.memberValue(n)
	case *ast.UnaryNode:
		if v, ok := s.nodeValue(n.Node).(bool); ok && (n.Operator == "not" || n.Operator == "!") {
			return !v
		}
	case *ast.BinaryNode:
		return s.binaryValue(n)
	case *ast.ConditionalNode:
		return s.conditional(n)
	case *ast.VariableDeclaratorNode:
		return s.nodeValue(n.Expr)
	case *ast.BuiltinNode:
		return s.builtinValue(n.Name, n.Arguments)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return s.builtinValue(callee.Value, n.Arguments)
		}
	case *ast.ArrayNode:
		if len(n.Nodes) == 0 {
			return noRecord{}
		}
	}
	return open{}
}

// wordValue is a word of the case or a fact.
func (s *sketch) wordValue(name string) any {
	switch name {
	case "recognised":
		return true
	case "ended", "alarmed", "died_known":
		if !s.any {
			return false
		}
	}
	if v, ok := s.facts[name]; ok {
		return v
	}
	return open{}
}

// memberValue is a signal's list of records, or a word of a part of the case.
func (s *sketch) memberValue(n *ast.MemberNode) any {
	of, ok1 := n.Node.(*ast.IdentifierNode)
	name, ok2 := n.Property.(*ast.StringNode)
	if _, ofRecord := n.Node.(*ast.PointerNode); ofRecord && ok2 && name.Value == "mine" {
		return false // only looked at where no record names the pod
	}
	switch {
	case !ok1 || !ok2:
		return open{}
	case !s.any && (of.Value == "exit" && name.Value == "known" || of.Value == "pod" && name.Value == "nobody"):
		return false
	case s.book.empty[of.Value] != nil:
		return s.listValue(of.Value, name.Value)
	}
	return open{}
}

// listValue is what records the case can have of a signal, as expressions spell it.
func (s *sketch) listValue(family, name string) any {
	switch signal := s.members[family+"."+name]; {
	case s.own[signal]:
		return open{}
	case s.beside[signal]:
		return notMine{}
	}
	return noRecord{}
}

func (s *sketch) binaryValue(n *ast.BinaryNode) any {
	x, y := s.nodeValue(n.Left), s.nodeValue(n.Right)
	switch n.Operator {
	case "and", "&&":
		return junction(x, y, false)
	case "or", "||":
		return junction(x, y, true)
	}
	i, ok1 := x.(int)
	j, ok2 := y.(int)
	if !ok1 || !ok2 {
		return open{}
	}
	switch n.Operator {
	case "==":
		return i == j
	case "!=":
		return i != j
	case "<":
		return i < j
	case "<=":
		return i <= j
	case ">":
		return i > j
	case ">=":
		return i >= j
	}
	return open{}
}

// junction is and (decides is false) or or (decides is true) of two values.
func junction(x, y any, decides bool) any {
	switch {
	case x == decides || y == decides:
		return decides
	case x == !decides && y == !decides:
		return !decides
	}
	return open{}
}

func (s *sketch) conditional(n *ast.ConditionalNode) any {
	switch s.nodeValue(n.Cond) {
	case true:
		return s.nodeValue(n.Exp1)
	case false:
		return s.nodeValue(n.Exp2)
	}
	if x, y := s.nodeValue(n.Exp1), s.nodeValue(n.Exp2); x == y {
		return x
	}
	return open{}
}

// builtinValue is what a function of lists gives where there are no records, or none
// that its condition can hold for.
func (s *sketch) builtinValue(name string, args []ast.Node) any {
	if len(args) == 0 {
		return open{}
	}
	list := s.nodeValue(args[0])
	if name == "concat" {
		for _, other := range args[1:] {
			list = together(list, s.nodeValue(other))
		}
		return list
	}
	if list == (notMine{}) && len(args) == 2 {
		switch never := s.neverHolds(args[1]); {
		case never && slices.Contains([]string{"any", "one", "filter", "count"}, name):
			list = noRecord{}
		case name == "filter" || name == "sortBy":
			return list
		}
	}
	if list != (noRecord{}) {
		return open{}
	}
	switch name {
	case "seen", "any", "one":
		return false
	case "all", "none":
		return true
	case "len", "count":
		return 0
	case "filter", "map", "sortBy":
		return noRecord{}
	}
	return open{}
}

// together is what a list is that two lists make.
func together(x, y any) any {
	isList := func(v any) bool { return v == noRecord{} || v == notMine{} }
	switch {
	case !isList(x) || !isList(y):
		return open{}
	case x == y:
		return x
	}
	return notMine{}
}

// neverHolds says whether a condition on a record holds for none that does not name the
// pod.
func (s *sketch) neverHolds(condition ast.Node) bool {
	p, ok := condition.(*ast.PredicateNode)
	return ok && s.nodeValue(p.Node) == false
}
