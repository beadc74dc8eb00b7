package regex

import "regexp/syntax"

// op is what a node does.
type op uint8

const (
	opText    op = iota // takes a fixed text
	opSpan              // takes as many characters of a set as it may
	opSave              // notes where a group begins or ends
	opWays              // goes on in the first of several ways that leads to a match
	opBegin             // holds at the text's begin
	opEnd               // holds at its end
	opLine              // holds where a line begins
	opLineEnd           // holds where one ends
	opWord              // holds between a word's character and another one
	opNoWord            // holds elsewhere
	opMatch             // is the end of the expression
)

// node is one step of an expression, and knows the next one.
type node struct {
	op       op
	text     string
	set      set
	min, max int     // how many characters of the set; max is below 0 for any number
	lazy     bool    // as few of them as will do
	sure     bool    // no second try: see settle
	slot     int     // where a group's begin or end is noted
	ways     []*node // in the order of preference
	next     *node

	settled bool // sure is known
	ahead
}

// ahead is what the next character can be.
type ahead struct {
	first set  // for this node and those after it to match
	bare  bool // they can match without a character here
	begun bool // both are known
}

// compiler makes nodes from the end of an expression to its begin.
type compiler struct {
	deep    int  // how many alternatives and repetitions there are around
	unknown bool // something is not known
	ascii   bool // something is known of ASCII texts only
}

// compile returns the node that tree begins with, nil if it holds something that
// only package regexp knows, and whether that holds for texts that are not ASCII.
func compile(tree *syntax.Regexp) (start *node, ascii bool) {
	c := compiler{}
	n := c.compileNode(tree, &node{op: opMatch, slot: 1})
	if c.unknown {
		return nil, true
	}
	n.settle()
	return n, c.ascii
}

// compileSet is setOf, and notes what it cannot say of texts that are not ASCII.
func (c *compiler) compileSet(re *syntax.Regexp) (set, bool) {
	s, partial, ok := setOf(re)
	c.ascii = c.ascii || partial
	return s, ok
}

var bounds = map[syntax.Op]op{
	syntax.OpBeginText: opBegin, syntax.OpEndText: opEnd, syntax.OpBeginLine: opLine,
	syntax.OpEndLine: opLineEnd, syntax.OpWordBoundary: opWord, syntax.OpNoWordBoundary: opNoWord,
}

// compileNode returns the step for re, after which next comes.
func (c *compiler) compileNode(re *syntax.Regexp, next *node) *node {
	if re.Op != syntax.OpLiteral || re.Flags&syntax.FoldCase != 0 {
		if s, ok := c.compileSet(re); ok {
			return &node{op: opSpan, set: s, min: 1, max: 1, next: next}
		}
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		return c.compileLiteral(re, next)
	case syntax.OpCapture:
		sure := c.deep == 0
		end := &node{op: opSave, slot: 2*re.Cap + 1, sure: sure, next: next}
		return &node{op: opSave, slot: 2 * re.Cap, sure: sure, next: c.compileNode(re.Sub[0], end)}
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			next = c.compileNode(re.Sub[i], next)
		}
		return next
	case syntax.OpAlternate, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		c.deep++
		defer func() { c.deep-- }()
		return c.compileBranch(re, next)
	}
	if b, ok := bounds[re.Op]; ok {
		return &node{op: b, next: next}
	}
	c.unknown = true
	return next
}

// compileLiteral takes a text as it stands, or letter by letter in both cases.
func (c *compiler) compileLiteral(re *syntax.Regexp, next *node) *node {
	if re.Flags&syntax.FoldCase == 0 {
		return &node{op: opText, text: string(re.Rune), next: next}
	}
	for i := len(re.Rune) - 1; i >= 0; i-- {
		c.ascii = c.ascii || beyondASCII(re.Rune[i], true)
		next = &node{op: opSpan, set: setOfRune(re.Rune[i], true), min: 1, max: 1, next: next}
	}
	return next
}

// compileBranch returns the step for what can be taken in more than one way.
func (c *compiler) compileBranch(re *syntax.Regexp, next *node) *node {
	lazy := re.Flags&syntax.NonGreedy != 0
	if re.Op == syntax.OpAlternate {
		n := &node{op: opWays}
		for _, sub := range re.Sub {
			n.ways = append(n.ways, c.compileNode(sub, next))
		}
		return n
	}
	if s, ok := c.compileSet(re.Sub[0]); ok {
		lo, hi := times(re)
		return &node{op: opSpan, set: s, min: lo, max: hi, lazy: lazy, next: next}
	}
	if re.Op == syntax.OpRepeat {
		return c.compileNode(re.Simplify(), next)
	}
	choice := &node{op: opWays}
	after := next
	if re.Op != syntax.OpQuest {
		after, c.unknown = choice, c.unknown || canBeEmpty(re.Sub[0])
	}
	body := c.compileNode(re.Sub[0], after)
	choice.ways = []*node{body, next}
	if lazy {
		choice.ways = []*node{next, body}
	}
	if re.Op == syntax.OpPlus {
		return body
	}
	return choice
}

// times is how often the character of a repetition may stand.
func times(re *syntax.Regexp) (lo, hi int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, -1
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpQuest:
		return 0, 1
	}
	return re.Min, re.Max
}

// canBeEmpty says whether re can match without taking a character.
func canBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return canBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || canBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !canBeEmpty(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if canBeEmpty(sub) {
				return true
			}
		}
		return false
	}
	return true
}
