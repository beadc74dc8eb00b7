package redact

import (
	"regexp"
	"slices"
	"strings"
)

// assigned is what stands between a name and its value: `=`, `": "`, ` := "`, a
// space after --name, or `", "value": "` and `" value="` as in a list of names and values.
var assigned = regexp.MustCompile(`\A(\\*["']|%22)?` +
	`(?:(\s{0,3})(=>|:=|=|:|%3[Dd]|%3[Aa])(\s{0,3})|` +
	`(?:,\s{0,3}|\s{1,3})\\*["']?[Vv]alue\\*["']?\s{0,3}[:=]\s{0,3}|(\s{1,3}))` +
	"(\\\\*[\"'`]|%22)?")

// maxAssigned is how much of a text may stand there.
const maxAssigned = 48

// assignment is a name's value and how the two are joined.
type assignment struct {
	before   string // the text before the name
	sign     string // = : := => or "" where a space joins them, or a second pair
	tight    bool   // nothing stands behind the sign
	named    bool   // the name has quotes
	quoted   bool   // the value has
	flag     bool   // the name begins with two dashes, and a space joins them
	from, to int
}

// findValue is the value of a name that ends at end.
func (p *pattern) findValue(text string, start, end int) (s Span, next int, ok bool) {
	if end == len(text) || strings.IndexByte("\"'\\ \t=:,<>&%", text[end]) < 0 || p.isExcepted(text[:end]) {
		return s, start + 1, false
	}
	if from, to, ok := elementAt(text, start, end); ok {
		v := strings.TrimSpace(text[from:to])
		return Span{From: from, To: to}, to, !isOmitted(v) && p.fitsForm(v)
	}
	a, ok := assignmentAt(text, start, end)
	if !ok {
		return s, start + 1, false
	}
	v := text[a.from:a.to]
	return Span{From: a.from, To: a.to}, a.to, !isOmitted(v) && p.fitsForm(v) && a.isMeant(text, v)
}

// isOmitted says whether somebody left the value out.
func isOmitted(v string) bool { return len(v) < maxPlaceholder && placeholder.MatchString(v) }

// isExcepted says whether a name is one of those that only end like a secret's.
func (p *pattern) isExcepted(name string) bool {
	return slices.ContainsFunc(p.Except, func(e string) bool {
		return len(name) >= len(e) && strings.EqualFold(name[len(name)-len(e):], e)
	})
}

// assignmentAt reads what follows a name; ok is false where no value does.
func assignmentAt(text string, start, end int) (a assignment, ok bool) {
	m := assigned.FindStringSubmatchIndex(text[end:min(len(text), end+maxAssigned)])
	if m == nil {
		return a, false
	}
	part := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[end+m[2*i] : end+m[2*i+1]]
	}
	begin := nameBegins(text, start)
	a = assignment{before: text[:begin], named: part(1) != "", sign: part(3), tight: part(4) == "", flag: part(5) != ""}
	quote := part(6)
	a.quoted, a.from = quote != "", end+m[1]
	switch dashes := strings.HasPrefix(text[begin:start], "--"); {
	case a.flag && (a.named || !dashes), a.sign == "" && !a.flag && !a.named:
		return a, false
	case a.sign == "=" && part(4) != "" && part(4) != "\t" && part(2) == "" && !a.quoted: // empty; another word follows
		return a, false
	case a.sign == ":" && strings.HasSuffix(a.before, "/"): // the name is a file's, or a user's of an address
		return a, false
	}
	if a.quoted {
		a.to = quoteEnds(text, a.from, quote)
	} else {
		a.to = valueEnds(text, a.from)
	}
	return a, a.to > a.from
}

// nameBegins is where the name begins whose last word begins at start.
func nameBegins(text string, start int) int {
	from := start
	for from > 0 && start-from < 64 && nameByte(text[from-1]) {
		from--
	}
	return from
}

func nameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// quoteEnds is where a value ends that a quotation mark with some backslashes in
// front of it opened. It may be cut off.
func quoteEnds(text string, from int, quote string) int {
	if quote == "%22" { // as an address has it
		if n := strings.Index(text[from:], quote); n >= 0 {
			return from + n
		}
		return valueEnds(text, from)
	}
	mark, depth := quote[len(quote)-1], len(quote)-1
	slashes := 0
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			slashes++
			continue
		case text[i] == mark && (slashes == depth || depth == 0 && slashes%2 == 0):
			return i - min(slashes, depth)
		}
		slashes = 0
	}
	return len(text)
}

// valueEnds is where a value without quotation marks ends.
func valueEnds(text string, from int) int {
	i := from
	if i < len(text) && strings.IndexByte(opens, text[i]) >= 0 {
		return i
	}
	for i < len(text) && !endsValue(text, i) {
		i++
	}
	return i
}

const (
	opens   = "[{(<|>,;&" // no value begins with these
	closes  = ",;&)]}>|<"
	follows = closes + "\"'`\\/[{(:."
)

// endsValue says whether a value cannot go on at i. Passwords hold what closes lists,
// too: it ends them only before another name, or where nothing follows.
func endsValue(text string, i int) bool {
	c := text[i]
	switch {
	case c <= ' ', c == '"', c == '\'', c == '`':
		return true
	case c == '\\':
		return i+1 == len(text) || strings.IndexByte("nrt\"'", text[i+1]) >= 0
	case strings.IndexByte(closes, c) < 0:
		return false
	}
	return i+1 == len(text) || text[i+1] <= ' ' || strings.IndexByte(follows, text[i+1]) >= 0 || namedAt(text, i+1)
}

// namedAt says whether a name and a sign stand at i.
func namedAt(text string, i int) bool {
	from := i
	for i < len(text) && i-from < 64 && nameByte(text[i]) {
		i++
	}
	return i > from && i < len(text) && (text[i] == '=' || text[i] == ':')
}

// maxPlaceholder is how long one can be.
const maxPlaceholder = 128

// placeholder is what stands where a value was left out, or is named only.
var placeholder = regexp.MustCompile(`\A(?i:true|false|yes|no|null|nil|none|undefined|unset|empty|required|optional|` +
	`missing|expired|invalid|string|redacted|hidden|masked|secret|token|password|\[?redacted\]?|` +
	`\(.*|<.*>|\*{2,}|x{3,}|\.{2,}|-+|%[a-z]|\{\{.*|` +
	`\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|\[redacted:[a-z0-9-]+\]?)\z`)

// isMeant says whether a value is more than the next word of a sentence.
func (a *assignment) isMeant(text, v string) bool {
	switch {
	case a.flag:
		return v[0] != '-' && !sentence[strings.ToLower(strings.TrimRight(v, ".,;:!?)"))]
	case a.quoted, a.sign != ":":
		return true
	case a.named:
		return strings.ContainsAny(v, digits)
	case a.tight || a.standsAlone(text):
		return !strings.HasSuffix(v, ":")
	}
	return unspoken(v)
}

// standsAlone says whether the name and its value are a line, or a member, of YAML, or a
// header in quotation marks or behind curl's arrow.
func (a *assignment) standsAlone(text string) bool {
	before, after := strings.TrimSpace(a.before), strings.TrimSpace(text[a.to:])
	switch {
	case strings.HasSuffix(before, "{"), strings.HasSuffix(before, ",") && strings.Contains(before, "{"):
		return true
	case after != "" && before != "":
		return before[len(before)-1] == after[0] && (after[0] == '"' || after[0] == '\'')
	}
	return after == "" && (before == "" || strings.IndexByte("-+<>", before[0]) >= 0 && len(before) == 1)
}

const digits = "0123456789"

// unspoken says whether v is no word of a sentence: `token: unauthorized`,
// `secret: open /var/run/token` and `password: http2: closed` are said of one.
func unspoken(v string) bool {
	word := strings.TrimRight(v, ".,;:!?)")
	return !strings.HasSuffix(v, ":") && len(word) >= 6 && word[0] != '/' && !strings.Contains(v, "://") &&
		strings.ContainsAny(word, digits+"!@#$%^&*+=~")
}

// sentence are words that follow the name of a flag in a sentence about it.
var sentence = func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(`a an and any are argument as at be by can cannot could did do does empty
		environment expects file flag flags for from given has have if in instead invalid is isn't it may missing must
		needs no not of off on only option options or parameter provided required requires set should specified string
		stdin than that the then this to too unset use used using value variable was when where which will with without
		would you your`) {
		all[w] = true
	}
	return all
}()
