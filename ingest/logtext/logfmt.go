package logtext

import (
	"strconv"
	"strings"
)

// unclosed counts the brackets of a line that were looked at and do not end. To
// see that takes a look at much of the line, and a line can be made of them.
type unclosed int

// maxUnclosed is how many there may be; a further one begins a word like any other.
const maxUnclosed = 16

// addPairs adds the `key=value` pairs that s starts with and returns what is
// left: all of it where there is no room for another. Values are bare words,
// Go-quoted strings, and klog's `{…}`, `[…]`, `&{…}` texts.
func (f Fields) addPairs(s string, open *unclosed) (all Fields, rest string) {
	for len(f) < MaxFields {
		s = strings.TrimLeft(s, " \t")
		n := keySize(s)
		if n == 0 {
			break
		}
		key, val := s[:n], ""
		val, s = pairValue(s[n+1:], open)
		if val != "" && (val[0] == '{' || strings.HasPrefix(val, "&{")) {
			f = f.addText(key, val)
		}
		f = append(f, Field{key, val})
	}
	return f, s
}

// keySize is the length of the key that s starts with, 0 if it is none.
func keySize(s string) int {
	for i := 0; i < len(s) && i < 100; i++ {
		switch c := s[i]; {
		case c == '=':
			return i
		case c <= ' ', c == '"', c == '{', c == '(', c == ')', c == ',', c == ';', c == ':', c >= 0x7f:
			return 0
		}
	}
	return 0
}

// pairValue reads one value and returns what follows it.
func pairValue(s string, open *unclosed) (val, rest string) {
	switch {
	case s == "":
		return "", ""
	case s[0] == '"':
		return Unquote(s)
	case *open < maxUnclosed && (s[0] == '{' || s[0] == '[' || strings.HasPrefix(s, "&{")):
		if n := Bracketed(s); n > 0 {
			return s[:n], s[n:]
		}
		*open++
	}
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' {
		i++
	}
	return s[:i], s[i:]
}

// Bracketed is the length of the bracketed text that s starts with; 0 if it does
// not end soon.
func Bracketed(s string) int {
	depth, quoted := 0, false
	for i := 0; i < min(len(s), 8<<10); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// Unquote reads the Go-quoted string that s starts with. A string that was cut
// off ends with the text.
func Unquote(s string) (val, rest string) {
	end := stringEnd(BytesOf(s), 1)
	if end < 0 {
		return Value{BytesOf(s[1:]), '"'}.sharedText(), ""
	}
	return Value{BytesOf(s[1:end]), '"'}.sharedText(), s[end+1:]
}

// QuoteWord makes v one word, so that no value can add fields of its own.
func QuoteWord(v string) string {
	if strings.ContainsAny(v, " \t\"=\\'") {
		return strconv.Quote(v)
	}
	return v
}
