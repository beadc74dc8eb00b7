package logtext

import (
	"strings"
	"unicode/utf8"

	"coroner/ingest"
)

// Cleaned makes s valid UTF-8 on one line without control characters (a tab may
// stay), terminal colours and byte order marks. Clean text costs one pass.
func Cleaned(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeSize(s[i:]); n > 0 {
			i += n
			continue
		}
		c, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if c = cleanRune(c); c >= 0 {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func isClean(s string) bool {
	i := CleanTo(BytesOf(s))
	if strings.IndexByte(s[:i], '\n') >= 0 {
		return false
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x80:
			return isCleanUTF8(s[i:])
		case c < ' ' && c != '\t', c == 0x7f, c == '#' && escapeSize(s[i:]) > 0:
			return false
		}
	}
	return true
}

func isCleanUTF8(s string) bool {
	for i, c := range s {
		if c == utf8.RuneError || c < ' ' && c != '\t' || cleanRune(c) != c {
			return false
		}
		if c == '#' && escapeSize(s[i:]) > 0 {
			return false
		}
	}
	return true
}

// cleanRune is what becomes of c: -1 drops it. Line ends inside a text (a
// journald field, a carriage return of a progress bar) become spaces.
func cleanRune(c rune) rune {
	switch {
	case c == '\t':
		return c
	case c == '\n', c == '\r', c == '\v', c == '\f', c == 0x85, c == '\u2028', c == '\u2029':
		return ' '
	case c < ' ', c >= 0x7f && c < 0xa0, c == '\uFEFF':
		return -1
	case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069: // turns the reading direction
		return -1
	}
	return c
}

// escapeSize is the length of the terminal escape sequence that s starts with.
// rsyslog writes the escape character as #033.
func escapeSize(s string) int {
	n := 1
	switch {
	case s[0] == 0x1b:
	case s[0] == '#' && strings.HasPrefix(s, "#033["):
		n = 4
	default:
		return 0
	}
	if len(s) == n {
		return n
	}
	switch s[n] {
	case '[':
		return controlSequenceEnd(s, n+1)
	case ']':
		return systemCommandEnd(s, n+1)
	}
	return min(n+1, len(s))
}

// controlSequenceEnd ends a control sequence: parameters, then one letter.
func controlSequenceEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x7e {
			break
		}
	}
	return i
}

// systemCommandEnd ends an operating system command (a link, a title): BEL or ESC \.
func systemCommandEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if s[i] == 0x07 {
			return i + 1
		}
		if s[i] == 0x1b {
			return min(i+2, len(s))
		}
	}
	return len(s)
}

// Shorten cuts s to MaxText and says how many bytes went. It cuts between words
// where it can: half a secret is not recognised as one.
func Shorten(s string) (short string, cut int) {
	if len(s) <= ingest.MaxText {
		return s, 0
	}
	n := ingest.MaxText
	for n > ingest.MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	if end := strings.LastIndexAny(s[ingest.MaxText-maxWord:n+1], wordEnds); end >= 0 {
		n = ingest.MaxText - maxWord + end
	}
	return strings.Clone(s[:n]), len(s) - n
}

// maxWord is how much of a text is given up for the sake of a whole word, and
// wordEnds is what no secret goes across.
const (
	maxWord  = ingest.MaxText / 4
	wordEnds = " \t\"'`,;<>"
)

// Brief is s as an identity or a field's value: clean and at most n bytes.
func Brief(s string, n int) string {
	s = Cleaned(s)
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// TrimNewline drops the line ends behind s.
func TrimNewline(s string) string {
	for s != "" && (s[len(s)-1] == '\n' || s[len(s)-1] == '\r') {
		s = s[:len(s)-1]
	}
	return s
}
