package wrapping

import (
	"regexp"
	"strings"
)

// record is how the lines begin that logs, kubectl and objects consist of.
var record = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d`,                // an ISO time
	`(?:[A-Z][a-z]{2},? )?[A-Z][a-z]{2} [ \d]\d `, // a time of syslog
	`\d\d:\d\d:\d\d`,
	`[IWEF]\d{4} \d\d:`,
	`\[ *\d+\.\d+\]`,
	`<\d{1,3}>`,
	`\[[A-Z]+ \d{4}-`,
	`\s*[{}\[\]]`,
	`time=`, `ts=`, `level=`,
	`(?:kernel|kubelet|containerd|systemd)(?:\[\d+\])?: `,
	`\s*(?:- )?[A-Za-z_][\w./ -]{0,60}:(?:\s|$)`, // a key
	`\s*"[^"]{1,80}" *:`,
	`__?[A-Z_]+=`, `[A-Z][A-Z_]+=`, // a field of the journal
	`\s*(?:Normal|Warning|Type|LAST SEEN|NAME|NAMESPACE)\s`,
	`\s*(?:[a-z0-9][-a-z0-9]*\s+)?(?:\d+[smhd]){1,2}(?: \(x\d+ over \S+\))?\s+(?:Normal|Warning)\s`,
	`\s*[a-z0-9][-a-z0-9.]*\s+(?:\S+\s+)?\d+/\d+\s+[A-Z]`,           // a pod's row
	`\s*[a-z0-9][-a-z0-9./]*(?:\s{2,}[-\w./]+)?(?:\s{2,}\d+){2,}\s`, // a row of counts
	`-- `, `\*\*|##`, `\$ `, `√ `,
}, "|") + `)`)

func beginsRecord(line string) bool { return record.MatchString(line) }

// logRecord is how the lines of a log begin; hardly anything within a line does.
var logRecord = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`, `[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d `, `\d\d:\d\d:\d\d`,
	`[A-Z][a-z]{2} \d{4}-\d\d-\d\d `, `\{"`, `[IWEF]\d{4} \d\d:`, `\[ *\d+\.\d+\]`, `<\d{1,3}>`, `\[[A-Z]+ \d{4}-`,
	`##\[`, `\d{10}\.\d{3}`,
}, "|") + `)`)

// breaks is how the long lines of a text were broken. The zero value: none were.
type breaks struct {
	width int  // the most that a line has since
	hard  bool // anywhere, not between words
	ofLog bool // the text is a log, whose lines begin as a log's do
}

// A text whose lines were broken has lines of about one width.
const (
	narrowest = 60
	widest    = 140
)

// breaksOf finds how the lines of a text were broken.
func breaksOf(lines []string) breaks {
	soft := breaks{}
	for _, line := range lines {
		soft.width = max(soft.width, len(strings.TrimRight(line, "\r")))
		soft.ofLog = soft.ofLog || logRecord.MatchString(line)
	}
	if soft.width < narrowest || soft.width > widest {
		return breaks{}
	}
	hard := soft
	hard.hard = true
	full, goOn := soft.count(lines)
	fullHard, goOnHard := hard.count(lines)
	switch {
	case goOnHard*10 >= goOn*8 && goOnHard*10 >= fullHard*6 && goOnHard > 0 &&
		(fullHard > 1 || hard.width == 80 || hard.width == 120):
		return hard
	case goOn*2 >= full && goOn > 0 && (full > 1 || soft.width >= 70 && soft.width <= 80):
		return soft // a single longest line has every text
	}
	return breaks{}
}

// sentenceEnd is how a line ends that says all that it has to say: it shows no break, though one can lie there.
var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*\s*$`)

// count counts the lines that are full, and those of them that go on in the next.
func (w breaks) count(lines []string) (full, goOn int) {
	records := false
	for i, line := range lines {
		records = records || beginsRecord(line)
		if i+1 == len(lines) || lines[i+1] == "" || line == "" || !w.full(line, lines[i+1]) {
			continue
		}
		full++
		if w.continues(line, lines[i+1]) && (w.ofLog || !beginsRecord(lines[i+1]) && !sentenceEnd.MatchString(line)) {
			goOn++
		}
	}
	if !records {
		return full, 0
	}
	return full, goOn
}

// full says whether a line is so long that what begins the next one had no room on it.
func (w breaks) full(line, next string) bool {
	if w.hard {
		return len(line) == w.width
	}
	word, _, _ := strings.Cut(strings.TrimLeft(next, " "), " ")
	return len(strings.TrimRight(line, "\r"))+1+len(word) > w.width
}

// continues says whether next is the rest of a line that was broken behind line.
func (w breaks) continues(line, next string) bool {
	switch {
	case next == "" || !w.full(line, next) || isFence(next) || logRecord.MatchString(next):
		return false
	case w.hard || w.ofLog:
		return true
	}
	return next[0] != ' ' && next[0] != '\t' && !beginsRecord(next)
}

// withinWord says whether a full line ends within a word: one that is longer than
// a line has no other place to be broken at.
func (w breaks) withinWord(line string) bool {
	return w.hard || len(line) == w.width && !strings.Contains(strings.TrimLeft(line, " "), " ")
}
