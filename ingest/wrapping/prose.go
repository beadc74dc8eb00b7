package wrapping

import (
	"bytes"
	"regexp"
	"strconv"
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

// Quoted is what a prose text quotes of messages, a line each: what stands between backticks or
// quotation marks and has the words of a message, and lines that call themselves an error or are
// GitHub's word for a lost runner. Commands are none.
func Quoted(text []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if errorLine.MatchString(line) {
			out.WriteString(strings.TrimRight(line, "\r\n") + "\n")
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			if said := strings.TrimSpace(m[1] + m[2]); len(strings.Fields(said)) > 2 && !command.MatchString(said) {
				out.WriteString(said + "\n")
			}
		}
	}
	return out.String()
}

var (
	codeSpan  = regexp.MustCompile("`([^`\n]{12,500})`|[\"“]([^\"”\n]{20,500})[\"”]")
	errorLine = regexp.MustCompile(`^(?:ERROR|FATAL|Error|##\[error\])[: ]|` +
		`^The (?:self-hosted|hosted) runner.{0,120} lost communication`)
	command = regexp.MustCompile(`^(?:\$ |\S*(?:\.sh|make|kubectl|docker|helm|git|curl|sudo|grep|journalctl|cat|cd|` +
		`go|npm|pip|systemctl|coroner) )`)
)

// pasted is how what people paste begins besides logs: quotes, commands, code, rows.
var pasted = regexp.MustCompile(`^(?:>|\$ |    |\t|\||apiVersion:|Name: |.*\s(?:Normal|Warning)\s|.*\s\d+/\d+\s|##?\[)`)

// Guide says whether a text is prose with headings that tells what errors mean and what to do,
// whatever it is called: the errors in it are those that it explains. What somebody tells of
// himself is a report.
func Guide(text []byte) bool {
	if heading.Match(text) && explains.Match(text) && !clockTimed.Match(text) && Prose(tableRow.ReplaceAll(text, nil)) {
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
	heading  = regexp.MustCompile(`(?m)^#{1,4} +\w`)
	emphasis = regexp.MustCompile("(?m)\\*\\*[^*\n]{2,200}\\*\\*|`[^`\n]{2,200}`|\\]\\(\\S{1,300}\\)")
	explains = regexp.MustCompile(`(?mi)^\| *(?:\w+ )?` +
		`(?:reason|code|error|status|state|phase|condition|event|signal)s? *\|` +
		`.*\b(?:description|meaning|explanation)\b.*\|\r?\n\|[-:| ]+\|\r?$`)
	clockTimed  = regexp.MustCompile(`\b\d{1,2}:\d\d\b`)
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
// git and diff print it: what it holds of logs are lines of somebody's source. A hunk says how
// many lines it has; what follows them is something else, as what a shell prints of its commands.
func Difference(text []byte) bool {
	begun, hunk := false, false
	removed, added := 0, 0 // lines that the hunk at hand still has
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimRight(line, "\r\n"); {
		case isFence(string(line)):
		case diffHead.Match(line):
			begun = true
		case diffHunk.Match(line):
			m := diffHunk.FindSubmatch(line)
			begun, hunk, removed, added = true, true, hunkLines(m[1]), hunkLines(m[3])
			if line[2] == '@' { // of two older versions
				removed += hunkLines(m[2])
			}
		case len(bytes.TrimSpace(line)) == 0:
		case !begun:
			return false
		case line[0] == '\\': // no newline at the end of the file
		case line[0] == '+' && added > 0:
			added--
		case line[0] == '-' && removed > 0:
			removed--
		case (line[0] == ' ' || line[0] == '\t') && removed > 0 && added > 0:
			removed, added = removed-1, added-1
		default:
			return false
		}
	}
	return hunk
}

// hunkLines is a count of a hunk's lines, which goes without saying where it is 1.
func hunkLines(count []byte) int {
	if len(count) == 0 {
		return 1
	}
	n, _ := strconv.Atoi(string(count))
	return n
}

var (
	diffHead = regexp.MustCompile(`^(?:diff (?:--git|-[a-zA-Z]+|--cc|--combined) \S|Index: \S|` +
		`(?:---|\+\+\+) (?:[ab]/|/dev/null)|index [0-9a-f]{4,64}\.\.[0-9a-f]|(?:new|deleted) file mode \d|` +
		`(?:old|new) mode \d|(?:dis)?similarity index \d|(?:rename|copy) (?:from|to) \S|Binary files .* differ$)`)
	diffHunk = regexp.MustCompile(`^@@@? -\d+(?:,(\d+))?(?: -\d+(?:,(\d+))?)? \+\d+(?:,(\d+))? @@`)
)
