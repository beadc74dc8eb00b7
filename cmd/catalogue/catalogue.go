// Package catalogue says what a rulebook knows of a list of message templates: the lines,
// events and reasons that programs can write.
//
// Invariant: each template is asked with values in it that say nothing, so that only its
// fixed words decide.
//
// Crash behaviour: it keeps no state.
package catalogue

import (
	"bufio"
	"io"
	"regexp"
	"strings"

	"coroner/rules"
)

// Share is how many templates a list has, and how many the rulebook knows. With alert
// only those count that warn somebody. unknown is called with each that it does not know.
func Share(
	list io.Reader, book *rules.Rulebook, alert bool, unknown func(kind, level, text string),
) (known, all int, err error) {
	lines := bufio.NewScanner(list)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		t, ok := newTemplate(lines.Text())
		if !ok || alert && t.idle() {
			continue
		}
		all++
		if t.known(book) != "" {
			known++
		} else {
			unknown(t.kind, t.level, t.text)
		}
	}
	return known, all, lines.Err()
}

// template is one row of a list: a line, an event or a reason of a program.
type template struct{ kind, level, text string }

func newTemplate(row string) (template, bool) {
	f := strings.Split(row, "\t")
	if len(f) < 5 || f[0] == "version" {
		return template{}, false
	}
	return template{f[2], f[3], f[4]}, true
}

// idle says whether nobody is warned by it.
func (t template) idle() bool {
	switch t.kind {
	case "reason", "event":
		return false
	}
	return !(strings.HasPrefix(t.level, "warn") || t.level == "error" || t.level == "fatal")
}

// known is what the rulebook makes of it.
func (t template) known(book *rules.Rulebook) string {
	switch t.kind {
	case "reason", "event":
		reason, message, _ := strings.Cut(t.text, " | ")
		if what := book.KnowsReason(strings.TrimSpace(reason)); what != "" {
			return what
		}
		return knows(book, message)
	case "exit-code": // as PID 1 tells of the end of a unit's program
		name, _, _ := strings.Cut(t.text, " ")
		return knows(book, unit+"Main process exited, code=exited, status=1/"+name)
	}
	return knows(book, t.text)
}

// knows asks for a text with names in it, and where that is not known with what else
// stands in its place: a number, the id of a container, the name of a pod as a runtime
// writes it; and for the text behind the name of a unit.
func knows(book *rules.Rulebook, text string) string {
	for _, v := range values {
		for _, t := range []string{text, keys.ReplaceAllString(text, ""), unit + text} {
			if what := book.Knows(v.in(t)); what != "" {
				return what
			}
		}
	}
	return ""
}

// value stands for all names in a template, and for all objects.
type value struct{ name, object string }

var id = strings.Repeat("0a", 32)

// unit is what systemd writes before a message about a unit, and its template does not show.
const unit = "name.service: "

var values = []value{
	{"name", "name"},
	{"1", "name"},
	{id, "name"},
	{id, "&PodSandboxMetadata{Name:name,Uid:0a0b0c0d-1111-2222-3333-444455556666,Namespace:name,Attempt:0,}"},
	{id, "&ContainerMetadata{Name:name,Attempt:0,}"},
}

var (
	verbs        = regexp.MustCompile(`%[-+#]?\d*(?:\.\d+)?(?:hh?|ll?|[zL])?(?:p(?:Gg|[SV])|[svdqwxXTtcfgpoium])`)
	placeholders = regexp.MustCompile(`%{0,2}\$?\{[^{}]*\}`)
	keys         = regexp.MustCompile(` \{[\w.,/ -]*\}$`) // what a structured line has beside its message
)

// in is a template with the value in it, and numbers that say nothing.
func (v value) in(text string) string {
	text = placeholders.ReplaceAllString(text, v.name)
	return verbs.ReplaceAllStringFunc(text, func(verb string) string {
		if strings.HasSuffix(verb, "pGg") { // the kernel's flags of an allocation
			return v.name
		}
		switch verb[len(verb)-1] {
		case 'd', 'x', 'i', 'u':
			if strings.Contains(verb, "#") {
				return "0x1"
			}
			return "1"
		case 'q':
			return `"` + v.name + `"`
		case 'f', 'g':
			return "1.0"
		}
		if strings.Contains(verb, "+") {
			return v.object
		}
		return v.name
	})
}
