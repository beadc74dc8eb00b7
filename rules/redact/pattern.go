package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Pattern is one kind of secret. It has one of Begins, Keys and Words.
type Pattern struct {
	Kind string

	// Begins: the secret is known by how it begins. What follows are characters of
	// Chars, at least Least of them, and so are the Before characters in front.
	Begins []string
	Chars  string // a class as in a regular expression, without its brackets
	Least  int
	Before int

	// Keys: the secret is the value of a name that ends so, in whatever case:
	// name=value, "name": "value", --name value. A name that ends like one of Except
	// has none.
	Keys, Except []string

	// Words: where one of them stands, in whatever case, Match begins, and its
	// group secret is the secret. Needs is a text that every match holds, too: where
	// it is missing Match is not tried.
	Words []string
	Match string
	Needs string
	Alone bool // nothing but spaces stands before the word

	Like   string // the secret matches this
	Unlike string // and not this
}

// Error is a mistake in a pattern.
type Error struct {
	Kind, Field string // Field as it is called in a rulebook
	Why         string
}

// Error says what is wrong with which field.
func (e *Error) Error() string { return fmt.Sprintf("secret %s: %s: %s", e.Kind, e.Field, e.Why) }

// pattern is a compiled Pattern.
type pattern struct {
	Pattern
	chars        [256]bool
	match        *regexp.Regexp
	secret       int // the group of match
	like, unlike *regexp.Regexp
}

func (p *pattern) wordsToFind() []string {
	return slices.Concat(p.Begins, p.Keys, p.Words)
}

// foldsCase says whether the case of the words does not count.
func (p *pattern) foldsCase() bool { return p.Begins == nil }

func (in *Pattern) compileForms() (*pattern, error) {
	p := &pattern{Pattern: *in}
	if err := p.checkForm(); err != nil {
		return nil, err
	}
	for _, w := range p.wordsToFind() {
		if least := p.shortest(); len(w) < least {
			why := fmt.Sprintf("%q has less than %d characters, and would be tried on every line", w, least)
			return nil, p.mistakeIn(p.wordField(), why)
		}
	}
	var err error
	if p.like, err = p.compileRegexp("like", p.Like); err == nil {
		p.unlike, err = p.compileRegexp("unlike", p.Unlike)
	}
	return p, err
}

// shortest is how short a word may be. What follows a beginning is known, so that
// one byte of it serves to look for.
func (p *pattern) shortest() int {
	if p.Begins != nil {
		return gramSize
	}
	return shortest
}

// filedWord is a word as it is looked for: long enough.
func (p *pattern) filedWord(w string) (out []string) {
	if len(w) >= shortest {
		return []string{w}
	}
	for c, ok := range p.chars {
		if ok {
			out = append(out, w+string(rune(c)))
		}
	}
	return out
}

// wordField is the field that the pattern's words stand in.
func (p *pattern) wordField() string {
	switch {
	case p.Begins != nil:
		return "begins"
	case p.Keys != nil:
		return "keys"
	}
	return "words"
}

var kind = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// checkForm checks that the pattern has one form, and all that belongs to it.
func (p *pattern) checkForm() error {
	forms := 0
	for _, list := range [][]string{p.Begins, p.Keys, p.Words} {
		if len(list) > 0 {
			forms++
		}
	}
	switch {
	case !kind.MatchString(p.Kind):
		return p.mistakeIn("name", "want small letters, digits and hyphens")
	case forms != 1:
		return p.mistakeIn("name", "give one of begins, keys and words")
	case p.Begins != nil:
		return p.fillClass()
	case p.Words == nil:
		return nil
	case p.Match == "":
		return p.mistakeIn("words", "words need a match")
	}
	var err error
	if p.match, err = p.compileRegexp("match", `\A(?:`+p.Match+`)`); err != nil {
		return err
	}
	if p.secret = p.match.SubexpIndex("secret"); p.secret < 0 {
		return p.mistakeIn("match", "has no group (?P<secret>…)")
	}
	return nil
}

// fillClass fills chars.
func (p *pattern) fillClass() error {
	if p.Chars == "" || p.Least < 1 {
		return p.mistakeIn("begins", "begins needs chars, and a least of 1 or more")
	}
	re, err := p.compileRegexp("chars", `\A[`+p.Chars+`]\z`)
	if err != nil {
		return err
	}
	for c := range 0x80 {
		p.chars[c] = re.MatchString(string(rune(c)))
	}
	if p.chars['['] {
		return p.mistakeIn("chars", "must not hold [, with which the mark of a secret begins")
	}
	if p.Before > 0 {
		p.lengthen()
	}
	return nil
}

// lengthen takes one of the characters before a beginning into it: two bytes of a
// line's are too few to look for.
func (p *pattern) lengthen() {
	var longer []string
	for _, b := range p.Begins {
		for c := range len(p.chars) {
			if p.chars[c] {
				longer = append(longer, string(rune(c))+b)
			}
		}
	}
	p.Begins, p.Before = longer, p.Before-1
}

// compileRegexp compiles a regular expression; "" is none.
func (p *pattern) compileRegexp(field, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, p.mistakeIn(field, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

func (p *pattern) mistakeIn(field, why string) error { return &Error{p.Kind, field, why} }

// findSecret looks for a secret whose word stands from start to end. next is where the
// pattern is worth trying again.
func (p *pattern) findSecret(text string, start, end int) (s Span, next int, ok bool) {
	switch {
	case p.Begins != nil:
		return p.findToken(text, start, end)
	case p.Keys != nil:
		return p.findValue(text, start, end)
	}
	return p.findMatch(text, start, end)
}

// findToken is a secret that its beginning tells.
func (p *pattern) findToken(text string, start, end int) (s Span, next int, ok bool) {
	least := end + p.Least
	for end < len(text) && p.chars[text[end]] {
		end++
	}
	from := start - p.Before
	if from < 0 || slices.ContainsFunc([]byte(text[from:start]), func(c byte) bool { return !p.chars[c] }) {
		return s, start + 1, false
	}
	if end < least {
		return s, start + 1, false
	}
	return Span{From: from, To: end, Sure: true}, end, p.fitsForm(text[from:end])
}

// findMatch is a secret that a regular expression tells.
func (p *pattern) findMatch(text string, start, end int) (s Span, next int, ok bool) {
	if !strings.Contains(text[end:], p.Needs) || p.Alone && strings.TrimSpace(text[:start]) != "" {
		return s, end, false
	}
	m := p.match.FindStringSubmatchIndex(text[start:])
	if m == nil || m[2*p.secret] < 0 {
		return s, end, false
	}
	s = Span{From: start + m[2*p.secret], To: start + m[2*p.secret+1]}
	if s.From == s.To || !p.fitsForm(text[s.From:s.To]) {
		return s, end, false
	}
	return s, s.To, true
}

// fitsForm says whether a secret looks as it must.
func (p *pattern) fitsForm(secret string) bool {
	return (p.like == nil || p.like.MatchString(secret)) && (p.unlike == nil || !p.unlike.MatchString(secret))
}
