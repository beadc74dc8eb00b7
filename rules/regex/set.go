package regex

import "regexp/syntax"

// set is a set of ASCII characters, a bit each.
type set [2]uint64

func (s *set) add(c byte)      { s[c>>6&1] |= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6&1]>>(c&63)&1 != 0 }
func (s set) or(t set) set     { return set{s[0] | t[0], s[1] | t[1]} }
func (s set) meets(t set) bool { return s[0]&t[0]|s[1]&t[1] != 0 }
func (s *set) span(text string) (n int) {
	for n < len(text) && s.has(text[n]) {
		n++
	}
	return n
}

// setOf returns the ASCII characters that one step of re takes; ok is false when
// it is no single character.
func setOf(re *syntax.Regexp) (s set, ok bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		return set{^uint64(0), ^uint64(0)}, true
	case syntax.OpAnyCharNotNL:
		s = set{^uint64(0), ^uint64(0)}
		s[0] &^= 1 << '\n'
		return s, true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= min(re.Rune[i+1], 0x7f); c++ {
				s.add(byte(c))
			}
		}
		return s, true
	case syntax.OpLiteral:
		if len(re.Rune) == 1 {
			return setOfRune(re.Rune[0], re.Flags&syntax.FoldCase != 0), true
		}
	}
	return s, false
}

// setOfRune is r and, where fold says so, its other case.
func setOfRune(r rune, fold bool) (s set) {
	if r >= 0x80 {
		return s // nothing that is ASCII: the text has no such character
	}
	s.add(byte(r))
	if c := byte(r) | 0x20; fold && 'a' <= c && c <= 'z' {
		s.add(c)
		s.add(c &^ 0x20)
	}
	return s
}
