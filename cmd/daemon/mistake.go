package daemon

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// mistake is a value of a flag that no run could use. By itself it names the flag; Origins
// know where the value came from.
type mistake struct {
	flag  string
	value string // as it is shown; "" = it is not
	err   error
}

// Wrong is a mistake in the value of a flag.
func Wrong(flag, format string, args ...any) error {
	return &mistake{flag: flag, err: fmt.Errorf(format, args...)}
}

// WrongValue is a mistake that shows the value.
func WrongValue(flag, value, format string, args ...any) error {
	if quoted := strconv.Quote(value); value == "" || quoted != `"`+value+`"` || strings.ContainsAny(value, " ") ||
		strings.HasSuffix(value, ":") {
		value = quoted
	}
	return &mistake{flag: flag, value: value, err: fmt.Errorf(format, args...)}
}

// Error names the flag, as it would stand on the command line.
func (m *mistake) Error() string { return m.tell(place{"--" + m.flag, " "}) }

// Unwrap is what is wrong with the value.
func (m *mistake) Unwrap() error { return m.err }

func (m *mistake) tell(p place) string {
	if m.value == "" {
		return p.text + ": " + m.err.Error()
	}
	return p.text + p.before + m.value + ": " + m.err.Error()
}

// mistakesIn are the mistakes that an error holds.
func mistakesIn(err error) []*mistake {
	switch e := err.(type) {
	case *mistake:
		return []*mistake{e}
	case interface{ Unwrap() error }:
		return mistakesIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*mistake
		for _, one := range e.Unwrap() {
			all = append(all, mistakesIn(one)...)
		}
		return all
	}
	return nil
}

// CheckURL refuses what is no address of a server that speaks HTTP; want is how one looks.
func CheckURL(flag, value, want string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil: // what stands before the host can be a password
		return WrongValue(flag, value[strings.LastIndexByte(value, '@')+1:], "want %s", want)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return WrongValue(flag, u.Redacted(), "want %s", want)
	}
	return nil
}

// CheckPage refuses what CheckURL does, and an address with a user.
func CheckPage(flag, value, want string) error {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return WrongValue(flag, u.Redacted(), "want %s, without a user", want)
	}
	return CheckURL(flag, value, want)
}

// CheckToken reads a token once, so that a mistake in its file is told at once; "" is none.
func CheckToken(flag, file string) error {
	if file == "" {
		return nil
	}
	if _, err := Token(file)(); err != nil {
		return Wrong(flag, "%w", err)
	}
	return nil
}

// CheckGlobs refuses what is no pattern of names.
func CheckGlobs(flag string, globs []string) error {
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return WrongValue(flag, glob, "not a glob: %w", err)
		}
	}
	return nil
}

// CheckAbove refuses a time that is not above zero.
func CheckAbove(flag string, d time.Duration) error {
	if d <= 0 {
		return WrongValue(flag, d.String(), "want a time above zero")
	}
	return nil
}

// CheckNumber refuses a number below zero.
func CheckNumber[T int | int64 | time.Duration](flag string, n T) error {
	if n < 0 {
		return WrongValue(flag, fmt.Sprint(n), "it cannot be below zero")
	}
	return nil
}

// wordings are how the parser of the command line words some mistakes, and how a person would.
var wordings = []struct {
	parser *regexp.Regexp
	person string
}{
	{regexp.MustCompile(`expected (?:\w+ )?value but got "EOL".*`), "a value is missing"},
	{regexp.MustCompile(`expected (?:\w+ )?value but got ("[^"]*") \((?:short|long) flag\).*`),
		"a value is missing; $1 reads as a flag"},
	{regexp.MustCompile(`missing value, expecting .*`), "a value is missing"},
	{regexp.MustCompile(`expected a valid 64 bit int but got`), "want a number, not"},
	{regexp.MustCompile(`(must be one of )"",|,""( but got)`), "$1$2"}, // "" is a flag that is not given
}

// plainWords says what is wrong with the command line.
func plainWords(text string) string {
	for _, w := range wordings {
		text = w.parser.ReplaceAllString(text, w.person)
	}
	return text
}
