package wrapping

import (
	"bytes"
	"regexp"
	"strings"
)

// Prose says whether no line of a text begins as a record does, or is set off as
// something that was pasted.
func Prose(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if isFence(line) || logRecord.MatchString(line) || pasted.MatchString(line) {
			return false
		}
	}
	return true
}

// pasted is how what people paste begins besides logs: quotes, commands, code, rows.
var pasted = regexp.MustCompile(`^(?:>|\$ |    |\t|\||apiVersion:|Name: |.*\s(?:Normal|Warning)\s|.*\s\d+/\d+\s|##?\[)`)

// Guide says whether a text is prose with headings that tells what errors mean and what to do,
// whatever it is called: the errors in it are those that it explains. What somebody tells of
// himself is a report.
func Guide(text []byte) bool {
	if heading.Match(text) && explains.Match(text) && Prose(tableRow.ReplaceAll(text, nil)) {
		return true
	}
	if !heading.Match(text) || !emphasis.Match(text) || firstPerson.Match(text) || !Prose(text) {
		return false
	}
	words := map[string]bool{}
	for _, w := range advises.FindAllString(string(text), -1) {
		words[strings.ToLower(w)] = true
	}
	return len(words) > 1
}

var (
	heading     = regexp.MustCompile(`(?m)^#{1,4} +\w`)
	emphasis    = regexp.MustCompile("(?m)\\*\\*[^*\n]{2,200}\\*\\*|`[^`\n]{2,200}`|\\]\\(\\S{1,300}\\)")
	explains    = regexp.MustCompile(`(?mi)^\|.*\b(?:description|meaning|explanation)\b.*\|\r?\n\|[-:| ]+\|\r?$`)
	tableRow    = regexp.MustCompile(`(?m)^\|.*\|\r?$`)
	firstPerson = regexp.MustCompile(`\b(?:I|I'm|[Ww]e|[Mm]y)\b`)
	advises     = regexp.MustCompile(`(?i)\b(?:if you (?:see|get)|when you see|usually|look for|to fix|this means|` +
		`troubleshooting|runbook|common (?:errors|problems|causes)|likely causes?|possible causes?)\b`)
)

// Source says whether a text is a piece of a program: what it holds of logs are texts that the
// program can print.
func Source(text []byte) bool {
	lines, code, prints := 0, 0, 0
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		lines++
		switch {
		case logRecord.Match(line):
			return false
		case codePrints.Match(line):
			code, prints = code+1, prints+1
		case codeLine.Match(line):
			code++
		}
	}
	return prints > 1 && code > 4 && code*10 >= lines*9
}

var (
	codePrints = regexp.MustCompile(`^[+-]?\s*\w+(?:\.\w+)*\(f?["'` + "`" + `].*["'` + "`" + `].*\);?$`)
	codeLine   = regexp.MustCompile(`^[+-]?\s*(?:(?:case|when)\b.*:|(?:default|else|try|finally):|return\b.*|` +
		`(?:if|for|while|switch|select|func|fn|def|class|else)\b.*[{:]|[{}\])]+[;,]?|\w+(?:\.\w+)*\(.*\);?|` +
		`\w[\w.]*(?:, \w+)* :?= \S.*|break;?|continue;?|//.*|\S+\.(?:go|py|ts|js|cs|java|rs|rb|c|h|cc|cpp)(?::\d+)?)$`)
)

// Difference says whether a text is nothing but the difference of two versions of files, as
// git and diff print it: what it holds of logs are lines of somebody's source.
func Difference(text []byte) bool {
	begun, hunk := false, false
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimRight(line, "\r\n"); {
		case isFence(string(line)):
		case diffHead.Match(line):
			begun = true
		case diffHunk.Match(line):
			begun, hunk = true, true
		case !begun:
			if len(bytes.TrimSpace(line)) > 0 {
				return false
			}
		case len(line) > 0 && bytes.IndexByte([]byte(" \t+-\\"), line[0]) < 0:
			return false
		}
	}
	return hunk
}

var (
	diffHead = regexp.MustCompile(`^(?:diff (?:--git|-[a-zA-Z]+|--cc|--combined) \S|Index: \S|` +
		`(?:---|\+\+\+) (?:[ab]/|/dev/null)|index [0-9a-f]{4,64}\.\.[0-9a-f]|(?:new|deleted) file mode \d|` +
		`(?:old|new) mode \d|(?:dis)?similarity index \d|(?:rename|copy) (?:from|to) \S|Binary files .* differ$)`)
	diffHunk = regexp.MustCompile(`^@@@? -\d+(?:,\d+)?(?: -\d+(?:,\d+)?)? \+\d+(?:,\d+)? @@`)
)
