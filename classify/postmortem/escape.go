package postmortem

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainProse is text for a line of Markdown: plain words as they are, every other
// word as a code span. What only punctuation can say, a link, a mention, an
// emoji, HTML, is code then.
func plainProse(s string) string {
	words := strings.Fields(shortValue(s))
	for i, w := range words {
		words[i] = proseWord(w)
		if first, _ := utf8.DecodeRuneInString(w); i == 0 && words[0] == w && !unicode.IsLetter(first) {
			words[0] = codeSpan(w) // the line could become a list
		}
	}
	return strings.Join(words, " ")
}

// proseWord keeps the punctuation of the sentence around the word out of its span.
func proseWord(w string) string {
	if w == "—" || w == "–" || w == "·" {
		return w
	}
	core := strings.TrimLeft(w, `("'`)
	before := w[:len(w)-len(core)]
	core = strings.TrimRight(core, `)"'.,;:?%…`)
	after := w[len(before)+len(core):]
	if plainWord(core) {
		return w
	}
	return before + codeSpan(core) + after
}

// plainWord says whether no reader of Markdown sees more than letters in a
// word: no mark-up, no address, no mention.
func plainWord(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`.,'’-/+`, r) {
			return false
		}
	}
	return !issue.MatchString(s) && !looksLikeHost(s)
}

// issue is how GitHub writes an issue's number without a #.
var issue = regexp.MustCompile(`(?i)^gh-\d`)

// looksLikeHost says whether a word could be read as the name of a host: chats make a
// link of one. Numbers with a point are none.
func looksLikeHost(s string) bool {
	if !strings.Contains(s, ".") {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if len(part) > 1 && (part[0] < '0' || part[0] > '9') {
			return true
		}
	}
	return false
}

// codeSpan is a value as a code span.
func codeSpan(s string) string {
	s = strings.TrimSpace(shortValue(s))
	if s == "" {
		return "-"
	}
	return "`" + inBlock(strings.ReplaceAll(s, "`", "'")) + "`"
}

// chatLink is what Slack reads as a mention or a link wherever it stands.
var chatLink = regexp.MustCompile(`<([!@#]|[A-Za-z][A-Za-z0-9+.-]*:)`)

// inBlock makes a cleaned line harmless in a code block: it has no fence in it
// (Slack ends a block at the first one, wherever it stands), and nothing that
// Slack reads as a link.
func inBlock(s string) string {
	return chatLink.ReplaceAllString(strings.ReplaceAll(s, "```", "'''"), "‹$1")
}
