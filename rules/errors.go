package rules

import (
	"errors"
	"fmt"
	"strings"
)

// pos is a place in a rulebook file.
type pos struct {
	file      string
	line, col int    // 1-based
	source    string // the line itself, for the caret
}

func (p pos) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col) }

// Error is a mistake in a rulebook: where, what, and the line with a caret
// under the column.
type Error struct {
	pos
	Message string
}

// Error prints file:line:column: message, the line, and the caret.
func (e *Error) Error() string {
	if e.source == "" {
		return fmt.Sprintf("%s: %s", e.pos, e.Message)
	}
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, e.source[:min(e.col-1, len(e.source))])
	return fmt.Sprintf("%s: %s\n  %s\n  %s^", e.pos, e.Message, e.source, pad)
}

// errs collects mistakes so that an author sees all of them at once.
type errs []error

func (e *errs) add(p pos, format string, args ...any) {
	*e = append(*e, &Error{p, fmt.Sprintf(format, args...)})
}

func (e errs) join() error { return errors.Join(e...) }

// nearest returns " (did you mean X?)" for the candidate closest to word, or "".
func nearest(word string, candidates []string) string {
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
