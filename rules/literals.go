package rules

import (
	"regexp/syntax"
	"strings"
)

// plainPart returns the longest run of s that reads the same however a log
// format quotes it: without quotes, backslashes and control characters.
func plainPart(s string) string {
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

// requiredLiterals returns texts of which at least one is in every string
// that the pattern matches; nil when there is no such set.
func requiredLiterals(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return required(re.Simplify())
}

// required walks a pattern: of a sequence the best part counts, of an
// alternation all parts do.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return nil
		}
		if p := plainPart(string(re.Rune)); p != "" {
			return []string{p}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		return bestOf(re.Sub)
	case syntax.OpAlternate:
		return allOf(re.Sub)
	}
	return nil
}

func bestOf(parts []*syntax.Regexp) (best []string) {
	for _, p := range parts {
		if c := required(p); shortest(c) > shortest(best) {
			best = c
		}
	}
	return best
}

func allOf(parts []*syntax.Regexp) (all []string) {
	for _, p := range parts {
		c := required(p)
		if c == nil {
			return nil
		}
		all = append(all, c...)
	}
	return all
}

func shortest(list []string) int {
	n := 0
	for i, s := range list {
		if i == 0 || len(s) < n {
			n = len(s)
		}
	}
	return n
}
