package rules

import (
	"regexp"
	"slices"
	"strings"

	"coroner/rules/regex"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"

	"go.yaml.in/yaml/v4"
)

// What the rulebook knows is more than its signals: some lines and reasons are
// known to say nothing of a death. A section harmless: names them, with why, so
// that whoever reads a program's list of messages sees what was decided of each.

// Harmless are lines or reasons of which it was decided that they tell of no death.
type Harmless struct {
	Why     string
	Reasons []string // of events, pods, containers and nodes

	lines, but []*regex.Regexp // but: what takes it back
}

type harmlessSpec struct {
	why                 yamlfile.Text
	reasons, lines, but []yamlfile.Text
}

func (r reader) harmless(n *yaml.Node) (s harmlessSpec) {
	s.why.Pos = r.Pos(n)
	r.Object(n, "harmless", map[string]func(*yaml.Node){
		"why": r.Text(&s.why), "reasons": r.Texts(&s.reasons), "lines": r.Patterns(&s.lines), "but": r.Patterns(&s.but),
	})
	return s
}

func (b *builder) harmless() {
	for _, s := range b.specs.harmless {
		if s.why.Value == "" {
			b.errs.Add(s.why.Pos, "say why it is harmless")
		}
		h := Harmless{Why: s.why.Value}
		for _, x := range s.reasons {
			h.Reasons = append(h.Reasons, x.Value)
		}
		for _, x := range s.lines {
			h.lines = append(h.lines, signal.CompilePattern(x, &b.errs))
		}
		for _, x := range s.but {
			h.but = append(h.but, signal.CompilePattern(x, &b.errs))
		}
		b.book.Harmless = append(b.book.Harmless, h)
	}
	b.book.named = b.namedReasons()
}

// Knows says what the rulebook makes of a line that a program can print: the
// name of a signal, or why it is harmless; "" for one that it does not know.
func (b *Rulebook) Knows(line string) string {
	if signal := b.SignalOf(line); signal != "" {
		return signal
	}
	for _, h := range b.Harmless {
		if anyMatches(h.lines, line) && !anyMatches(h.but, line) {
			return h.Why
		}
	}
	return ""
}

func anyMatches(patterns []*regex.Regexp, line string) bool {
	return slices.ContainsFunc(patterns, func(p *regex.Regexp) bool { return p.MatchString(line) })
}

// shortOf is what the scheduler's word for a lack of any resource begins with.
const shortOf = "OutOf"

// KnowsReason is Knows for the reason of an event, a pod, a container or a node:
// one that a fact, rule or signal names, or a harmless one.
func (b *Rulebook) KnowsReason(reason string) string {
	for _, h := range b.Harmless {
		for _, r := range h.Reasons {
			if r == reason {
				return h.Why
			}
		}
	}
	if b.named[reason] || len(reason) > len(shortOf) && strings.HasPrefix(reason, shortOf) {
		return "named by a rule"
	}
	return ""
}

// namedReasons are all reasons that signals, facts and rules name.
func (b *builder) namedReasons() map[string]bool {
	all := map[string]bool{}
	name := regexp.MustCompile(`[A-Z]\w*[A-Za-z](?:-\w+)?`)
	add := func(text string) {
		for _, word := range name.FindAllString(text, -1) {
			all[word] = true
		}
	}
	for _, text := range b.specs.signals.ReasonTexts() {
		add(text)
	}
	quotes := regexp.MustCompile(`"[^"]*"`)
	for _, s := range b.specs.facts {
		add(strings.Join(quotes.FindAllString(s.value.Value, -1), " "))
	}
	for _, s := range b.specs.verdicts {
		for _, d := range append(s.decisive, s.when) {
			add(strings.Join(quotes.FindAllString(d.Value, -1), " "))
		}
	}
	return all
}
