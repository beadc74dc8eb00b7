// Package regex matches regular expressions of Go's syntax with Go's meaning,
// several times as fast as package regexp on what log lines are: short, ASCII,
// and mostly fixed words around a few captures.
//
// It follows the expression through the text and goes back where that fails, as
// Perl does; where one class ends where the next thing begins, which is nearly
// always, there is nothing to go back to. What it cannot do in a number of steps
// that grows with the text, and what it does not know (texts that are not ASCII,
// a repetition of what can be empty), package regexp does.
//
// Invariant: it finds what package regexp finds, groups included (a fuzz test
// compares them). Any text takes time linear in its length.
//
// Crash behaviour: there is no state; package regexp's form of an expression is
// made when it is first needed.
package regex

import (
	"math"
	"regexp"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// Regexp is a compiled regular expression. It may be used by many at a time.
type Regexp struct {
	expr  string
	names []string
	start *node // nil: package regexp does it all
	ascii bool  // start is for ASCII texts only
	slow  func() *regexp.Regexp
}

// Compile reads an expression in the syntax of package regexp, whose errors it
// returns.
func Compile(expr string) (*Regexp, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return New(expr, tree), nil
}

// New is Compile for an expression that syntax.Parse has read with syntax.Perl.
func New(expr string, tree *syntax.Regexp) *Regexp {
	names := make([]string, tree.MaxCap()+1)
	copy(names, tree.CapNames())
	start, only := compile(tree)
	return &Regexp{
		expr: expr, names: names, start: start, ascii: only,
		slow: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }),
	}
}

// MustCompile is Compile for expressions that are part of the program.
func MustCompile(expr string) *Regexp {
	re, err := Compile(expr)
	if err != nil {
		panic(err)
	}
	return re
}

// String returns the expression.
func (re *Regexp) String() string { return re.expr }

// SubexpNames returns the names of the groups, "" for those that have none. The
// first stands for the whole match.
func (re *Regexp) SubexpNames() []string { return re.names }

// Size is how many numbers Find notes.
func (re *Regexp) Size() int { return 2 * len(re.names) }

// MatchString says whether s contains a match.
func (re *Regexp) MatchString(s string) bool {
	var room [32]int
	return re.Find(s, re.Room(room[:]))
}

// Part returns what a group of the leftmost match in s holds, group 0 the match
// itself; "" where it took no part or nothing matches.
func (re *Regexp) Part(s string, group int) string {
	var room [32]int
	at := re.Room(room[:])
	if !re.Find(s, at) || at[2*group] < 0 {
		return ""
	}
	return s[at[2*group]:at[2*group+1]]
}

// Room returns as much of room as Find needs, or a new one.
func (re *Regexp) Room(room []int) []int {
	if n := re.Size(); n <= len(room) {
		return room[:n]
	}
	return make([]int, re.Size())
}

// Find looks for the leftmost match in s and notes in at, which has room for
// Size numbers, where it and its groups begin and end; -1 for a group that took
// no part. After false at holds nothing.
func (re *Regexp) Find(s string, at []int) bool {
	steps := math.MaxInt
	found, _ := re.FindWithin(s, at, &steps)
	return found
}

// Steps are counted such that each takes about a nanosecond on a processor of
// 2020, on any text.
const (
	ownSteps   = 2048 // that this package tries before package regexp does, for each search
	ownPerByte = 32   // and for each byte
	slowSteps  = 2000 // that package regexp takes, for each search
	slowByte   = 100  // and for each byte
	lookBytes  = 8    // that are looked at in one step, where nothing else is done
)

// FindWithin is Find in so many steps at most, of which it takes away what it
// used. When they are not enough it found nothing, sure is false, and no steps
// are left.
func (re *Regexp) FindWithin(s string, at []int, steps *int) (found, sure bool) {
	*steps -= len(s) / lookBytes
	plain := isASCII(s)
	if re.start != nil && (plain || !re.ascii && utf8.ValidString(s)) {
		most := min(*steps, ownSteps+ownPerByte*len(s))
		found, left := re.start.find(s, at, most, !plain)
		if *steps -= most - max(left, 0); left >= 0 {
			return found, true
		}
	}
	if *steps -= slowSteps + slowByte*len(s); *steps < 0 {
		*steps = 0
		return false, false
	}
	return copy(at, re.slow().FindStringSubmatchIndex(s)) > 0, true
}

// isASCII says whether every byte of s is a character of its own.
func isASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if (s[0]|s[1]|s[2]|s[3]|s[4]|s[5]|s[6]|s[7])&0x80 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
