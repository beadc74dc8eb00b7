package describe

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"coroner/rules"
)

// Two writes which of two rules wins where both fit, and what tells them apart.
func Two(to io.Writer, book *rules.Rulebook, a, b *rules.Rule) error {
	w, both := bufio.NewWriter(to), [2]*rules.Rule{a, b}
	place := func(r *rules.Rule) int { return slices.Index(book.Rules, r) + 1 }
	if place(both[0]) > place(both[1]) {
		both[0], both[1] = both[1], both[0]
	}
	winner, loser := both[0], both[1]
	fmt.Fprintf(w, "Where both fit, %s wins: it is tried before %s (places %d and %d of %d; %s).\n",
		winner.ID, loser.ID, place(winner), place(loser), len(book.Rules), orderOf(winner, loser))
	if winner.Label == loser.Label {
		fmt.Fprintf(
			w,
			"Both say %s, so the label is the same; evidence, summary and confidence are those of the first.\n",
			winner.Label,
		)
	}
	for _, r := range both {
		writeConditions(w, r)
	}
	writeShared(w, winner, loser)
	writeApart(w, book, winner.Label, loser.Label)
	return w.Flush()
}

// orderOf says what their order comes from.
func orderOf(winner, loser *rules.Rule) string {
	if winner.Precedence == loser.Precedence {
		return fmt.Sprintf("both have precedence %d: one asks to stand beside the other, or their names decide",
			winner.Precedence)
	}
	return fmt.Sprintf("precedence %d and %d", winner.Precedence, loser.Precedence)
}

// writeConditions writes what a rule needs to fit.
func writeConditions(w io.Writer, r *rules.Rule) {
	fmt.Fprintf(w, "\n%s  (%s, at most %s)\n  %s\n", r.ID, r.Label, r.Confidence, r.Doc)
	if when := r.When(); when != "" {
		fmt.Fprintf(w, "  fits where    %s\n", when)
	}
	for _, d := range r.Decisive() {
		fmt.Fprintf(w, "  decided by    %s\n", d)
	}
	for _, n := range r.Needs {
		fmt.Fprintf(w, "  needs         %s read over the death, else it is less sure\n", n)
	}
}

// writeShared writes the signals that both rules look at.
func writeShared(w io.Writer, a, b *rules.Rule) {
	var both []string
	for _, s := range a.Signals {
		if slices.Contains(b.Signals, s) {
			both = append(both, s)
		}
	}
	if len(both) == 0 {
		fmt.Fprintln(w, "\nThey look at no signal in common: both fit only where a death has the lines of both.")
		return
	}
	fmt.Fprintf(w, "\nBoth look at %s.\n", strings.Join(both, ", "))
}

// writeApart writes how the labels' pages tell two labels from each other.
func writeApart(w io.Writer, book *rules.Rulebook, a, b rules.Label) {
	if d := book.Labels[a]; d != nil {
		for _, c := range d.Confused {
			if c.Label == b {
				fmt.Fprintf(w, "\n%s or %s? %s\n", a, b, c.Apart)
			}
		}
	}
}
