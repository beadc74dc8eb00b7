package regex

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// set is a set of bytes, a bit each. The bytes of the characters that are not
// ASCII are in it together or not at all.
type set [4]uint64

func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *set) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }
func (s set) or(t set) set     { return set{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]} }
func (s set) meets(t set) bool { return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0 }
func (s *set) span(text string) (n int) {
	for n < len(text) && s.has(text[n]) {
		n++
	}
	return n
}

// everything are all bytes.
var everything = set{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// setOf returns the characters that one step of re takes; ok is false when it
// is no single character. It is exact for ASCII texts, and for others unless
// partial says so.
func setOf(re *syntax.Regexp) (s set, partial, ok bool) {
	switch re.Op {
	case syntax.OpAnyChar:
		return everything, false, true
	case syntax.OpAnyCharNotNL:
		s = everything
		s[0] &^= 1 << '\n'
		return s, false, true
	case syntax.OpCharClass:
		s, partial = setOfClass(re.Rune)
		return s, partial, true
	case syntax.OpLiteral:
		if len(re.Rune) == 1 {
			fold := re.Flags&syntax.FoldCase != 0
			return setOfRune(re.Rune[0], fold), beyondASCII(re.Rune[0], fold), true
		}
	}
	return s, false, false
}

// setOfClass is a class that is given as pairs of bounds.
func setOfClass(bounds []rune) (s set, partial bool) {
	for i := 0; i < len(bounds); i += 2 {
		from, to := bounds[i], bounds[i+1]
		for c := from; c <= min(to, 0x7f); c++ {
			s.add(byte(c))
		}
		switch {
		case from <= 0x80 && to == unicode.MaxRune:
			s[2], s[3] = ^uint64(0), ^uint64(0)
		case to >= 0x80:
			partial = true
		}
	}
	return s, partial
}

// beyondASCII says whether r, or one of its other cases, is not ASCII: k is the
// Kelvin sign too.
func beyondASCII(r rune, fold bool) bool {
	if !fold {
		return r >= utf8.RuneSelf
	}
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		if c >= utf8.RuneSelf {
			return true
		}
	}
	return r >= utf8.RuneSelf
}

// setOfRune is r and, where fold says so, its other case.
func setOfRune(r rune, fold bool) (s set) {
	if r >= utf8.RuneSelf {
		return s // nothing that is ASCII: an ASCII text has no such character
	}
	s.add(byte(r))
	if c := byte(r) | 0x20; fold && 'a' <= c && c <= 'z' {
		s.add(c)
		s.add(c &^ 0x20)
	}
	return s
}
