package extent

import (
	"bytes"
	"strings"

	"coroner/ingest"
)

// Picked tells a log of a node that somebody thinned out with grep or by severity: all of its lines have
// one name or one of the words that people look for, or none is of everyday severity. Such a log
// has no holes, and yet what is missing in it can have happened. The zero value is ready.
type Picked struct {
	words    []string // that all lines so far have
	lines    int
	graded   int // lines that tell their severity
	everyday int // of those, the ones of everyday severity
}

// Severity is by what a log was thinned out that has no everyday lines.
const Severity = "severity"

// fewestPicked is how many lines tell something of how they were chosen: fewer have a word in common by chance.
const fewestPicked = 4

// soughtWords are what people look for in the log of a node that killed something.
var soughtWords = []string{"oom", "kill", "evict", "error", "fail", "warn", "memory", "taint"}

// IsOpen says whether another line of src can change the answer.
func (p *Picked) IsOpen(src ingest.Source) bool {
	return p.lines == 0 || len(p.words) > 0 || p.everyday == 0 && src != ingest.Kernel
}

// Saw takes note of a line's message.
func (p *Picked) Saw(src ingest.Source, node string, text []byte) {
	p.lines++
	if p.everyday == 0 && src != ingest.Kernel { // whose lines do not tell it
		p.grade(text)
	}
	if p.lines == 1 {
		p.begin(node, text)
		return
	}
	kept := p.words[:0]
	for _, w := range p.words {
		if containsFold(text, w) {
			kept = append(kept, w)
		}
	}
	p.words = kept
}

// By says what the lines were chosen by, "" where nothing shows that they were.
func (p *Picked) By() string {
	switch {
	case p.lines < fewestPicked:
		return ""
	case len(p.words) > 0:
		return p.words[0]
	case p.graded >= fewestPicked && p.everyday == 0:
		return Severity
	}
	return ""
}

// begin takes the words of the first line: names, which have a digit or a hyphen, and those that people look for.
func (p *Picked) begin(node string, text []byte) {
	for _, w := range soughtWords {
		if containsFold(text, w) {
			p.words = append(p.words, w)
		}
	}
	for _, w := range bytes.FieldsFunc(text, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		if len(w) >= shortestName && len(p.words) < maxWords && isName(w) && !strings.Contains(node, string(w)) {
			p.words = append(p.words, string(w))
		}
	}
}

const (
	shortestName = 8 // of a pod, a container or a machine, else it may be anything
	maxWords     = 40
)

// isName says whether a word has letters and digits, and is no date with what stands behind it.
func isName(w []byte) bool {
	isDate := len(w) > 4 && bytes.HasPrefix(w, []byte("20")) && w[4] == '-'
	return bytes.ContainsAny(w, "0123456789") && bytes.ContainsAny(w, "abcdefghijklmnopqrstuvwxyz") && !isDate
}

// grade takes note of the severity that klog and logfmt put into a line.
func (p *Picked) grade(text []byte) {
	level := byte(0)
	if _, after, ok := bytes.Cut(text, []byte("level=")); ok && len(after) > 0 {
		level = after[0]
	} else if len(text) > 5 && text[5] == ' ' && (text[1] == '0' || text[1] == '1') {
		level = text[0]
	}
	switch level {
	case 'i', 'd', 'I':
		p.graded, p.everyday = p.graded+1, p.everyday+1
	case 'w', 'e', 'f', 'W', 'E', 'F':
		p.graded++
	}
}

// containsFold says whether text has the word, in whatever case where it is one that people look for.
func containsFold(text []byte, word string) bool {
	if bytes.Contains(text, []byte(word)) {
		return true
	}
	return len(word) < shortestName && bytes.Contains(bytes.ToLower(text), []byte(word))
}
