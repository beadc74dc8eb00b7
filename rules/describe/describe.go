// Package describe says in plain text what a rulebook holds: its lists, one label, rule,
// signal or kind of secret, and which of two rules wins where both fit.
//
// Invariant: everything here is pure, and says nothing that the rulebook does not.
//
// Crash behaviour: it keeps no state.
package describe

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"coroner/rules"
	"coroner/rules/redact"
	"coroner/rules/signal"
)

// List writes the labels, and the verdict rules in the order in which they are tried;
// with signals, the signals and the kinds of secrets too.
func List(to io.Writer, book *rules.Rulebook, signals bool) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%-24s %-9s %s\n", "LABEL", "DOMAIN", "MEANING")
	for _, l := range book.LabelOrder() {
		if d := book.Labels[l]; d != nil {
			fmt.Fprintf(w, "%-24s %-9s %s\n", l, d.Domain, d.Doc)
		}
	}
	fmt.Fprintf(w, "\n%-4s %-24s %-10s %s\n", "PREC", "VERDICT", "AT MOST", "RULE")
	for _, r := range book.Rules {
		fmt.Fprintf(w, "%4d %-24s %-10s %s\n", r.Precedence, r.Label, r.Confidence, r.ID)
	}
	if signals {
		fmt.Fprintf(w, "\n%-32s %-28s %s\n", "SIGNAL", "SOURCES", "MEANING")
		for _, s := range book.Signals {
			fmt.Fprintf(w, "%-32s %-28s %s\n", s.Name, sourcesText(s), s.Doc)
		}
		fmt.Fprintf(w, "\n%-32s %s\n", "SECRET", "WHAT IS TAKEN OUT")
		for _, s := range book.Secrets {
			fmt.Fprintf(w, "%-32s %s\n", s.Name, s.Doc)
		}
	}
	return w.Flush()
}

func sourcesText(s *signal.Def) string {
	var out []string
	for _, x := range s.Sources {
		out = append(out, string(x))
	}
	return strings.Join(out, ",")
}

// Name writes what a label, a rule, a signal or a kind of secret means; false where
// nothing is called so.
func Name(to io.Writer, book *rules.Rulebook, name string) (described bool, err error) {
	w := bufio.NewWriter(to)
	if d := book.Labels[rules.Label(name)]; d != nil {
		writeLabel(w, book, d)
		return true, w.Flush()
	}
	if r := book.Rule(name); r != nil {
		writeRule(w, r)
		return true, w.Flush()
	}
	if s := book.Signal(name); s != nil {
		fmt.Fprintf(w, "%s\n  %s\n  printed by  %s\n  may come from  %s\n",
			s.Name, s.Doc, s.Printed, sourcesText(s))
		return true, w.Flush()
	}
	for _, s := range book.Secrets {
		if s.Name == name {
			fmt.Fprintf(w, "%s\n  %s\n  shown as  %s\n", s.Name, s.Doc, redact.Mark(s.Name))
			return true, w.Flush()
		}
	}
	return false, nil
}

func writeLabel(w io.Writer, book *rules.Rulebook, d *rules.LabelDef) {
	fmt.Fprintf(w, "%s\n  %s\n\n", d.Label, d.Doc)
	fmt.Fprintf(w, "  domain  %s\n  retry   %s\n", d.Domain, d.Retry)
	if d.Advice != "" {
		fmt.Fprintf(w, "  advice  %s\n", d.Advice)
	}
	for _, by := range d.ByLine {
		where, says := "a line says", strings.TrimPrefix(by.Says.String(), "(?i)")
		if by.OfWhom {
			where, says = "it is by", strings.Trim(says, "^(?:)$")
		}
		fmt.Fprintf(w, "          where %s %s: %s\n", where, says, by.Advice)
	}
	for _, c := range d.Confused {
		fmt.Fprintf(w, "\n  or is it %s?\n    %s\n", c.Label, c.Apart)
	}
	fmt.Fprintf(w, "\nrules, in the order in which they are tried\n")
	for _, r := range book.Rules {
		if r.Label == d.Label {
			writeRule(w, r)
		}
	}
}

func writeRule(w io.Writer, r *rules.Rule) {
	fmt.Fprintf(w, "\n  %s  (at most %s, precedence %d)\n    %s\n", r.ID, r.Confidence, r.Precedence, r.Doc)
	if len(r.Signals) > 0 {
		fmt.Fprintf(w, "    looks at  %s\n", strings.Join(slices.Clone(r.Signals), ", "))
	}
	if r.LivesOn {
		fmt.Fprintf(w, "    lives on  the runner can live on after it, so its life refutes nothing\n")
	}
	for _, n := range r.Needs {
		fmt.Fprintf(w, "    needs     %s read over the death\n", n)
	}
}
