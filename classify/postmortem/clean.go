package postmortem

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes log text harmless for a terminal or a page of plain text:
// control characters, text direction marks and invisible characters become
// visible escapes, line ends become spaces.
func Clean(s string) string {
	if !needsCleaning(s) {
		return s
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func needsCleaning(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return true
		}
	}
	return false
}

// isHidden says whether a rune controls or hides instead of showing.
func isHidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

// cutTo shortens a cleaned line to n runes.
func cutTo(s string, n int) string {
	if n < 20 {
		n = 20
	}
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// shortValue is Clean for a value inside a line: a name, a reason, a sentence.
func shortValue(s string) string { return cutTo(Clean(s), 400) }
