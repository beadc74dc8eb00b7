package wrapping

import (
	"html"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// layers are the wrappings that lie around or in single lines. Each looks at the
// lines of a text's head and returns what takes it off, nil if it is not there.
// Those of people are none that a program puts around the lines of a file.
var layers = [...]struct {
	find   func(lines []string) step
	people bool
}{
	{colours, false}, {entities, true}, {noBreak, true}, {curlyQuotes, true}, {quoteMarks, true}, {storeTimes, true},
	{tableBars, true}, {innerBars, true},
	{codeList, true}, {plusSigns, true}, {lineNumbers, false}, {fileNames, false}, {clockTimes, true},
	{endBlanks, false}, {indentation, false},
}

// findLayer finds the outermost layer of the lines, and says whether people put it there.
func findLayer(lines []string) (s step, people bool) {
	full := lines[:0:0]
	for _, line := range lines {
		if strings.TrimSpace(line) != "" && !isFence(line) {
			full = append(full, line)
		}
	}
	if len(full) == 0 {
		return nil, false
	}
	for _, layer := range layers {
		if s := layer.find(full); s != nil {
			return s, layer.people
		}
	}
	return nil, false
}

// isFence says whether a line only sets off what follows it.
func isFence(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " >"), "```") }

// most says whether nearly all of the lines are changed by s, and no fewer of them
// look like records then.
func most(lines []string, s step, percent int) bool {
	changed, was, is := 0, 0, 0
	for _, line := range lines {
		inner := s(line)
		if inner == line {
			continue
		}
		changed++
		if beginsRecord(line) {
			was++
		}
		if beginsRecord(inner) {
			is++
		}
	}
	return changed*100 >= len(lines)*percent && is >= was && is*4 >= changed
}

// strip makes a step of an expression for what stands before a line.
func strip(prefix *regexp.Regexp) step {
	return func(line string) string { return line[len(prefix.FindString(line)):] }
}

var quoteMark = regexp.MustCompile(`^ {0,3}> ?`)

// quoteMarks: `> ` of mails and of Markdown.
func quoteMarks(lines []string) step {
	n := 0
	for _, line := range lines {
		if quoteMark.MatchString(line) {
			n++
		}
	}
	if n*2 <= len(lines) {
		return nil
	}
	return strip(quoteMark)
}

var plusSign = regexp.MustCompile(`^\+ ?`)

// plusSigns: the text as something new in a difference.
func plusSigns(lines []string) step {
	if s := strip(plusSign); most(lines, s, 95) {
		return s
	}
	return nil
}

// tableBars: rows of a Markdown table. Bars between the columns become blanks.
func tableBars(lines []string) step {
	s := func(line string) string {
		inner, ok := strings.CutPrefix(strings.TrimRight(line, " \t\r"), "|")
		if !ok {
			return line
		}
		if inner, ok = strings.CutSuffix(inner, "|"); !ok {
			return line
		}
		if strings.Trim(inner, "-:| ") == "" {
			return ""
		}
		inner = strings.TrimSuffix(strings.TrimPrefix(inner, " "), " ")
		return strings.ReplaceAll(inner, " | ", "  ")
	}
	if most(lines, s, 80) {
		return s
	}
	return nil
}

// innerBars: rows of a Markdown table that has bars between its columns alone. Most of the lines
// are such rows, so that a job that prints a table changes nothing of its log.
func innerBars(lines []string) step {
	s := func(line string) string {
		switch {
		case barRule.MatchString(line):
			return ""
		case strings.Count(line, " | ") < 2:
			return line
		}
		return strings.ReplaceAll(line, " | ", "  ")
	}
	rows := 0
	for _, line := range lines {
		if s(line) != line {
			rows++
		}
	}
	if rows*3 > len(lines)*2 && slices.ContainsFunc(lines, barRule.MatchString) {
		return s
	}
	return nil
}

// barRule is the line below such a table's head.
var barRule = regexp.MustCompile(`^ *:?-{2,}:?(?: *\| *:?-{2,}:?){2,} *$`)

var storeTime = regexp.MustCompile(`^[ |]*\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?Z?(?:[\t ]+(\{)| +\| )`)

// ownTime is a time in a line, as a clock shows it or counted from 1970.
var ownTime = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b|"(?:ts|time|timestamp)": ?"?\d{9}`)

// storeTimes: the time that a log store's page shows beside a line, in a column of its own or
// before an object. One without a time of its own keeps it.
func storeTimes(lines []string) step {
	s := func(line string) string {
		m := storeTime.FindStringSubmatchIndex(line)
		if m == nil {
			return line
		}
		inner := line[m[1]:]
		if m[2] >= 0 {
			inner = line[m[2]:]
		}
		if !ownTime.MatchString(inner) {
			return line
		}
		return inner
	}
	n := 0
	for _, line := range lines {
		if s(line) != line {
			n++
		}
	}
	if n*10 < len(lines)*6 {
		return nil
	}
	return s
}

// latestStoreTime is the latest of such times, zero where no line has one.
func latestStoreTime(lines []string) (latest time.Time) {
	for _, line := range lines {
		if !storeTime.MatchString(line) {
			continue
		}
		if st, ok := logtext.ISOStamp(strings.TrimLeft(line, " |")); ok {
			latest = ingest.LaterOf(latest, st.In(time.UTC))
		}
	}
	return latest
}

var listedCode = regexp.MustCompile("^(?:[-*•] +)?`([^`]*)`$")

// codeList: every line as a piece of code, of a list or not.
func codeList(lines []string) step {
	s := func(line string) string {
		if m := listedCode.FindStringSubmatch(strings.TrimRight(line, " \t\r")); m != nil {
			return m[1]
		}
		return line
	}
	if most(lines, s, 80) {
		return s
	}
	return nil
}

var lineNumber = regexp.MustCompile(`^ *(\d{1,7})(?:[:|\t]| +\| ?| )`)

// lineNumbers: of grep -n, cat -n, less -N and editors. They grow from line to line.
func lineNumbers(lines []string) step {
	last, numbered := -1, 0
	for _, line := range lines {
		m := lineNumber.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if n <= last {
			return nil
		}
		last, numbered = n, numbered+1
	}
	if s := strip(lineNumber); numbered > 0 && most(lines, s, 80) {
		return s
	}
	return nil
}

var fileName = regexp.MustCompile(`^([^\s:"'{}\[\]=,]{1,512}):(?:\d{1,9}:)?`)

// fileNames: of grep over several files. A file that a job may have written keeps
// its name on every line, so that its lines are nobody's.
func fileNames(lines []string) step {
	s := func(line string) string {
		m := fileName.FindStringSubmatch(line)
		if m == nil || !namesFile(m[1]) {
			return line
		}
		return line[len(m[0]):]
	}
	numbered := 0
	for _, line := range lines {
		if inner := s(line); inner != line && logtext.IsDigit(line[len(line)-len(inner)-2]) {
			numbered++
		}
	}
	if numbered > 1 && numbered == len(lines) || most(lines, s, 80) {
		return s
	}
	return nil
}

var extension = regexp.MustCompile(`^\.[A-Za-z][A-Za-z0-9]{1,7}$`)

// namesFile says whether a word is the name of a file that is no runner's.
func namesFile(word string) bool {
	if ingest.PrintedByJob(word) || ingest.JobsPlace(word) || strings.Contains(word, "pods/") ||
		strings.Contains(word, "containers/") {
		return false
	}
	return extension.MatchString(path.Ext(word)) || strings.Contains(word, "/var/log/") ||
		path.Base(word) == "syslog" || path.Base(word) == "messages"
}

var clockTime = regexp.MustCompile(`^\[?\d{1,2}:\d\d(?::\d\d)? ?[AaPp][Mm]\]? `)

// clockTimes: the time at which a chat got the line.
func clockTimes(lines []string) step {
	n := 0
	for _, line := range lines {
		if clockTime.MatchString(line) {
			n++
		}
	}
	if n*10 < len(lines)*8 {
		return nil
	}
	return strip(clockTime)
}

// endBlanks: lines that a terminal filled up.
func endBlanks(lines []string) step {
	n := 0
	for _, line := range lines {
		if strings.HasSuffix(strings.TrimSuffix(line, "\r"), " ") {
			n++
		}
	}
	if n*10 < len(lines)*8 {
		return nil
	}
	return func(line string) string { return strings.TrimRight(line, " \r") }
}

// indentation: blanks before all lines.
func indentation(lines []string) step {
	common := len(lines[0])
	for _, line := range lines {
		common = min(common, len(line)-len(strings.TrimLeft(line, " \t")))
	}
	if common == 0 || !logRecord.MatchString(lines[0][common:]) && !objectStart.MatchString(lines[0][common:]) {
		return nil
	}
	return func(line string) string {
		return line[min(common, len(line)-len(strings.TrimLeft(line, " \t"))):]
	}
}

// objectStart is how a whole object or a whole table begins.
var objectStart = regexp.MustCompile(`^(?:apiVersion:|\{|---|Name: |NAME |NAMESPACE |LAST SEEN )`)

// colours: what a terminal would show in colour.
func colours(lines []string) step {
	for _, line := range lines {
		if strings.Contains(line, "\x1b[") {
			return logtext.Cleaned
		}
	}
	return nil
}

var entity = regexp.MustCompile(`&(?:quot|lt|gt|amp|apos|nbsp|#34|#39|#x27|#x22);`)

// tag is one of those that stand around logs in a page.
var tag = regexp.MustCompile(`</?(?:pre|code|span|div|p|br|tr|td|table|tbody|li|ul|ol|blockquote)(?: [^<>]*)?/?>`)

// entities: characters as HTML writes them. In a text that has quotes of its own
// nobody escaped them, and an entity is what somebody wrote.
func entities(lines []string) step {
	found := false
	for _, line := range lines {
		inner := tag.ReplaceAllString(line, "")
		if strings.ContainsAny(inner, `"<>`) {
			return nil
		}
		found = found || inner != line || entity.MatchString(line)
	}
	if !found {
		return nil
	}
	return func(line string) string { return html.UnescapeString(tag.ReplaceAllString(line, "")) }
}

const noBreakSpace = "\u00a0"

// noBreak: blanks that a web page had made unbreakable.
func noBreak(lines []string) step {
	hard, soft := 0, 0
	for _, line := range lines {
		hard += strings.Count(line, noBreakSpace)
		soft += strings.Count(line, " ")
	}
	if hard == 0 || hard < soft {
		return nil
	}
	return func(line string) string { return strings.ReplaceAll(line, noBreakSpace, " ") }
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'")

// curlyQuotes: what word processors and chats make of straight ones.
func curlyQuotes(lines []string) step {
	found := false
	for _, line := range lines {
		if strings.Contains(line, `"`) {
			return nil
		}
		found = found || strings.Contains(line, "“") && strings.Contains(line, "”")
	}
	if !found {
		return nil
	}
	return straight.Replace
}
