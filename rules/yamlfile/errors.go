package yamlfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a rulebook file.
type Pos struct {
	File      string
	Line, Col int    // 1-based
	Source    string // the line itself, for the caret
}

// String is file:line:column.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Error is a mistake in a rulebook: where, what, and the line with a caret
// under the column.
type Error struct {
	Pos
	Message string
}

// Error prints file:line:column: message, the line, and the caret.
func (e *Error) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("%s: %s", e.Pos, e.Message)
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, e.Source[:min(e.Col-1, len(e.Source))])
	return fmt.Sprintf("%s: %s\n  %s\n  %s^", e.Pos, e.Message, e.Source, pad)
}

// Errors collects mistakes so that an author sees all of them at once.
type Errors []error

// Add notes a mistake at a place.
func (e *Errors) Add(p Pos, format string, args ...any) {
	*e = append(*e, &Error{p, fmt.Sprintf(format, args...)})
}

// Join is all of them as one error, nil if there is none.
func (e Errors) Join() error { return errors.Join(e...) }

// OneOf checks an enumerated value.
func (e *Errors) OneOf(s Text, what, fallback string, allowed ...string) string {
	if s.Value == "" {
		return fallback
	}
	if !slices.Contains(allowed, s.Value) {
		e.Add(s.Pos, "%s %q must be %s", what, s.Value, anyOf(allowed))
	}
	return s.Value
}

// Nearest returns " (did you mean X?)" for the candidate closest to word, or "".
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 3+len(word)/6
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// editDistance counts the single-character edits between two short words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
