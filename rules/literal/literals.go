package literal

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Plain returns the longest run of s that reads the same however a log
// format quotes it: without quotes, backslashes and control characters.
func Plain(s string) string {
	best := ""
	for _, part := range strings.FieldsFunc(s, func(r rune) bool {
		return r == '"' || r == '\\' || r == '\'' || r < ' ' || r > '~' || r == '<' || r == '>' || r == '&'
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// Required returns texts of which at least one is in every string that the
// pattern matches; nil when there is no such set. Of a sequence the best run
// counts, of an alternation all parts do.
func Required(re *syntax.Regexp) []string {
	begins, _ := prefixes(re)
	best := plainParts(begins)
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return Better(best, Required(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return Better(best, Required(re.Sub[0]))
		}
	case syntax.OpConcat:
		return Better(best, bestRun(re.Sub))
	case syntax.OpAlternate:
		return Better(best, allOf(re.Sub))
	}
	return best
}

// maxPrefixes bounds how many texts one part of a pattern may stand for.
const maxPrefixes = 16

// prefixes lists texts with one of which every match begins; whole says that
// they are all that there is to match. None are known: a list of "" alone.
func prefixes(re *syntax.Regexp) (all []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return spellings(re)
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary:
		return []string{""}, true
	case syntax.OpCapture:
		return prefixes(re.Sub[0])
	case syntax.OpPlus:
		all, _ = prefixes(re.Sub[0])
		return all, false
	case syntax.OpRepeat:
		if re.Min > 0 {
			all, _ = prefixes(re.Sub[0])
			return all, false
		}
	case syntax.OpQuest:
		if all, whole = prefixes(re.Sub[0]); whole && len(all) < maxPrefixes {
			return append([]string{""}, all...), true
		}
	case syntax.OpCharClass:
		return classMembers(re.Rune)
	case syntax.OpAlternate:
		return unionOf(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return []string{""}, false
}

// spellings lists those of a literal: [Kk] is one without case.
func spellings(re *syntax.Regexp) (all []string, whole bool) {
	if re.Flags&syntax.FoldCase == 0 {
		return []string{string(re.Rune)}, true
	}
	all = []string{""}
	for _, c := range re.Rune {
		spelled := []string{string(c)}
		for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
			spelled = append(spelled, string(f))
		}
		if all, whole = crossProduct(all, spelled); !whole {
			return all, false
		}
	}
	return all, true
}

// classMembers lists the texts of a class that is given as pairs of bounds.
func classMembers(bounds []rune) (all []string, whole bool) {
	for i := 0; i < len(bounds); i += 2 {
		for c := bounds[i]; c <= bounds[i+1]; c++ {
			if all = append(all, string(c)); len(all) > maxPrefixes {
				return []string{""}, false
			}
		}
	}
	return all, true
}

func unionOf(parts []*syntax.Regexp) (all []string, whole bool) {
	whole = true
	for _, p := range parts {
		one, w := prefixes(p)
		if all, whole = append(all, one...), whole && w; len(all) > maxPrefixes {
			return []string{""}, false
		}
	}
	return all, whole
}

func sequence(parts []*syntax.Regexp) (all []string, whole bool) {
	all = []string{""}
	for _, p := range parts {
		next, w := prefixes(p)
		longer, fits := crossProduct(all, next)
		if all = longer; !fits || !w {
			return all, false
		}
	}
	return all, true
}

// crossProduct lists every text of a followed by every text of b; a alone, and
// false, when they are too many.
func crossProduct(a, b []string) (all []string, fits bool) {
	if len(a)*len(b) > maxPrefixes {
		return a, false
	}
	for _, x := range a {
		for _, y := range b {
			all = append(all, x+y)
		}
	}
	return all, true
}

// bestRun is the best of what stands at the parts: each begins a run that goes
// on as long as its texts can be listed.
func bestRun(parts []*syntax.Regexp) (best []string) {
	for i, p := range parts {
		run, _ := sequence(parts[i:])
		best = Better(best, plainParts(run))
		if len(parts) > 1 {
			best = Better(best, Required(p))
		}
	}
	return best
}

func allOf(parts []*syntax.Regexp) (all []string) {
	for _, p := range parts {
		c := Required(p)
		if c == nil {
			return nil
		}
		all = append(all, c...)
	}
	return all
}

// plainParts is the plain part of every text, nil if one has none.
func plainParts(all []string) (out []string) {
	for _, s := range all {
		p := Plain(s)
		if p == "" {
			return nil
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// enough is a length beyond which a literal finds nothing faster.
const enough = 16

// Better is the set of which the shortest text is longer, or which is smaller.
func Better(a, b []string) []string {
	x, y := min(Shortest(a), enough), min(Shortest(b), enough)
	if y > x || y == x && len(b) < len(a) {
		return b
	}
	return a
}

// Shortest is the length of the shortest text, 0 if there is none.
func Shortest(list []string) int {
	n := 0
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}

// FastLength is the length of a fixed text from which on it slows no line down: the
// finder's stride and gram fit into it.
const FastLength = stride + MinLength - 1
