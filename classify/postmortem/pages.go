package postmortem

import (
	"fmt"
	"io"

	"coroner/rules"
)

// Pages writes many verdicts. The first own of them are about whom was asked for: they come
// in full, and the others as one table below, with pages of their own only where Style.All
// asks for everything. Where nobody was asked for (own is 0) and there are several, the
// table comes first.
func Pages(w io.Writer, all []rules.Verdict, own int, s Style) error {
	if own == 0 {
		if len(all) > 2 || deaths(all) > 1 {
			if err := table(w, "%d verdicts:\n", all); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return pages(w, all, s)
	}
	if err := pages(w, all[:own], s); err != nil || own == len(all) {
		return err
	}
	title := "\n%d other verdicts (--runner NAME explains one, --all each):\n"
	if own == len(all)-1 {
		title = "\n%d other verdict (--runner NAME or --all explains it):\n"
	}
	if err := table(w, title, all[own:]); err != nil || !s.All {
		return err
	}
	fmt.Fprintln(w)
	return pages(w, all[own:], s)
}

func table(w io.Writer, title string, all []rules.Verdict) error {
	fmt.Fprintf(w, title, len(all))
	return Table(w, all)
}

func pages(w io.Writer, all []rules.Verdict, s Style) error {
	for i := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := Write(w, &all[i], s); err != nil {
			return err
		}
	}
	return nil
}

func deaths(all []rules.Verdict) (n int) {
	for i := range all {
		if all[i].Wrong() {
			n++
		}
	}
	return n
}

// Tickets writes post-mortems as Markdown, with a rule between them.
func Tickets(w io.Writer, all []rules.Verdict) error {
	for i := range all {
		if i > 0 {
			fmt.Fprint(w, "\n---\n\n")
		}
		if err := Markdown(w, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// Tally writes how many verdicts there are of each label.
func Tally(w io.Writer, all []rules.Verdict) error {
	_, err := fmt.Fprintf(w, "%-24s %9s %8s %9s\n", "VERDICT", "CONFIRMED", "PROBABLE", "SUSPECTED")
	for _, label := range rules.Labels {
		count := map[rules.Confidence]int{}
		for i := range all {
			if all[i].Label == label {
				count[all[i].Confidence]++
			}
		}
		if len(count) > 0 && err == nil {
			_, err = fmt.Fprintf(w, "%-24s %9d %8d %9d\n",
				label, count[rules.Confirmed], count[rules.Probable], count[rules.Suspected])
		}
	}
	return err
}
