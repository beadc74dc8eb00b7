// Package catalogue says what was decided of a list of message templates, the lines, events
// and reasons that programs can write: a rulebook knows it, it is plumbing and unknown on
// purpose, or nobody decided yet.
//
// Invariant: each template is asked with values in it that say nothing, so that only its
// fixed words decide. What the rulebook knows is never plumbing.
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

// Count is how many templates of a list were decided, and how.
type Count struct {
	Known     int // by the rulebook: a signal, or harmless
	Plumbing  int // unknown on purpose
	Undecided int
}

// Percent is how much the rulebook knows of what is no plumbing.
func (c Count) Percent() float64 {
	all := c.Known + c.Undecided
	if all == 0 {
		return 100
	}
	return 100 * float64(c.Known) / float64(all)
}

// Take counts the templates of a list; of its program says what is plumbing. With alert
// only those count that warn somebody. undecided is called with the row of each that
// nothing was decided of.
func Take(
	list io.Reader, book *rules.Rulebook, of *Program, alert bool, undecided func(row string),
) (n Count, err error) {
	rows := bufio.NewScanner(list)
	rows.Buffer(nil, 1<<20)
	for rows.Scan() {
		t, ok := newTemplate(rows.Text())
		if !ok || alert && t.idle() {
			continue
		}
		switch {
		case t.known(book) != "":
			n.Known++
		case of.takes(t):
			n.Plumbing++
		default:
			n.Undecided++
			undecided(rows.Text())
		}
	}
	return n, rows.Err()
}

// template is one row of a list: a line, an event or a reason of a program, and the file of
// its sources that it stands in.
type template struct{ file, kind, level, text string }

func newTemplate(row string) (template, bool) {
	f := strings.Split(row, "\t")
	if len(f) < 5 || f[0] == "version" {
		return template{}, false
	}
	return template{f[1], f[2], f[3], f[4]}, true
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
		reason = strings.TrimSpace(reason)
		if what := book.KnowsReason(reason); what != "" {
			return what
		}
		if what := book.Knows("reason: " + reason); what != "" { // a word of a symptom
			return what
		}
		return knows(book, message)
	case "exit-code": // as PID 1 tells of the end of a unit's program
		name, _, _ := strings.Cut(t.text, " ")
		return knows(book, unit+"Main process exited, code=exited, status=1/"+name)
	}
	return knows(book, t.text)
}

// reason is what systemd gives for the end of a machine, behind one of a few words.
var reason = regexp.MustCompile(`^((?:Forcibly )?[A-Z-]?[a-z-]+(?: [a-z]+){0,2}: )%s$`)

// knows asks for a text with names in it, and where that is not known with what else
// stands in its place: a number, a signal, the id of a container, the name of a pod as a
// runtime writes it; and for the text behind the name of a unit.
func knows(book *rules.Rulebook, text string) string {
	if m := reason.FindStringSubmatch(text); m != nil {
		if what := book.SignalOf(m[1] + "job timed out"); what != "" {
			return what
		}
	}
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
	{"SEGV", "name"},
	{"SIGKILL", "name"},
	{id, "name"},
	{id, "&PodSandboxMetadata{Name:name,Uid:0a0b0c0d-1111-2222-3333-444455556666,Namespace:name,Attempt:0,}"},
	{id, "&ContainerMetadata{Name:name,Attempt:0,}"},
}

var (
	verbs        = regexp.MustCompile(`%[-+#]?\d*(?:\.\d+)?(?:hh?|ll?|[zL])?(?:p(?:Gg|[SV])|[svdqwxXTtcfgpoium])`)
	placeholders = regexp.MustCompile(`%{0,2}\$?\{[^{}]*\}`)
	nameof       = regexp.MustCompile(`\{nameof\((\w+)\)\}`) // C#: the name itself
	keys         = regexp.MustCompile(` \{[\w.,/ -]*\}$`)    // what a structured line has beside its message
)

// in is a template with the value in it, and numbers that say nothing.
func (v value) in(text string) string {
	text = nameof.ReplaceAllString(text, "$1")
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
