package redact

import (
	"regexp"
	"strings"
)

// An element of XML has a name and a value, too, also where a log escapes its brackets:
// <password>x</password>, <entry key="password">x</entry>, <name>password</name><value>x</value>.

const (
	less    = `(?:<|&lt;|\\+u003[cC])`
	greater = `(?:>|&gt;|\\+u003[eE])`
	behind  = `(?:\s[^<>]{0,160}[^<>/])?` + greater // the element's attributes
	cdata   = `(?:<!\[CDATA\[)?`
)

// elements are what stands before and behind the name, in each form.
var elements = []struct{ before, after *regexp.Regexp }{
	{regexp.MustCompile(less + `(?:[\w.-]{1,32}:)?\z`), regexp.MustCompile(`\A` + behind + cdata)},
	{regexp.MustCompile(`\b(?:name|key|id)=\\*["']\z`), regexp.MustCompile(`\A\\*["']` + behind + cdata)},
	{regexp.MustCompile(less + `(?:name|key)` + greater + `\z`), regexp.MustCompile(
		`\A` + less + `/(?:name|key)` + greater + `\s{0,16}` + less + `(?:value|string)` + greater + cdata)},
}

// closing is where a value ends: at the next bracket, which must be that of the element's end.
var closing = regexp.MustCompile(less + `(/?)`)

const (
	maxBefore = 48  // of what is looked at in front of a name
	maxAfter  = 200 // and behind it
)

// hasBracket says whether a text can have an element's end: most lines have none, and to
// look for one costs little.
func hasBracket(text string) bool {
	return strings.IndexByte(text, '>') >= 0 || strings.Contains(text, "&gt;") || strings.Contains(text, "u003")
}

// elementAt is where the value begins and ends of a name that stands in the text from
// start to end, if it is an element's.
func elementAt(text string, start, end int) (from, to int, ok bool) {
	begin := nameBegins(text, start)
	before, after := text[max(0, begin-maxBefore):begin], text[end:min(len(text), end+maxAfter)]
	if !hasBracket(after) {
		return 0, 0, false
	}
	for _, e := range elements {
		m := e.after.FindString(after)
		if m == "" || !e.before.MatchString(before) {
			continue
		}
		from = end + len(m)
		if c := closing.FindStringSubmatchIndex(text[from:]); c != nil && c[2] < c[3] {
			to = from + c[0]
			return from, to, strings.TrimSpace(text[from:to]) != ""
		}
	}
	return 0, 0, false
}
