// Package choice asks a person at a terminal which of several runners is meant.
//
// Invariant: an answer that is no choice is asked again, and the end of the input chooses
// none. What comes from logs is shown without control characters.
//
// Crash behaviour: it keeps no state.
package choice

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
)

// LatestFirst orders runners by when they died, or were heard of last.
func LatestFirst(runners []lookup.Runner) []lookup.Runner {
	slices.SortStableFunc(runners, func(a, b lookup.Runner) int {
		return cmp.Compare(momentOf(&b).UnixNano(), momentOf(&a).UnixNano())
	})
	return runners
}

// momentOf is when the runner died, or was heard of last.
func momentOf(r *lookup.Runner) time.Time {
	if v := r.Says(); v != nil && v.DiedAt != nil {
		return *v.DiedAt
	}
	return r.Heard
}

// Ask asks a person which of the runners is meant. None is a choice, too.
func Ask(in io.Reader, out io.Writer, runners []lookup.Runner) ([]lookup.Runner, error) {
	fmt.Fprintf(out, "%d runners fit\n", len(runners))
	for i := range runners {
		fmt.Fprintf(out, "%4d  %s\n", i+1, choiceText(&runners[i]))
	}
	lines := bufio.NewReader(in)
	for {
		fmt.Fprintf(out, "Which one? a for all, q for none [1] ")
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil && line == "" {
			line = "q"
			fmt.Fprintln(out)
		}
		if picked, ok := pickByAnswer(runners, strings.TrimSpace(line)); ok {
			return picked, nil
		}
		fmt.Fprintf(out, "Want a number from 1 to %d, a or q.\n", len(runners))
	}
}

func pickByAnswer(runners []lookup.Runner, answer string) (picked []lookup.Runner, ok bool) {
	switch strings.ToLower(answer) {
	case "":
		return runners[:1], true
	case "a", "all":
		return runners, true
	case "q", "quit":
		return nil, true
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(runners) {
		return nil, false
	}
	return runners[n-1 : n], true
}

// choiceText is one line of what can be chosen.
func choiceText(r *lookup.Runner) string {
	says := r.State
	if v := r.Says(); v != nil {
		says = fmt.Sprintf("%s (%s)", v.Label, v.Confidence)
	}
	where := "node " + postmortem.Clean(r.Node)
	if r.Cluster != "" {
		where += " of cluster " + postmortem.Clean(r.Cluster)
	}
	died := momentOf(r).UTC().Format("2006-01-02 15:04:05Z")
	return fmt.Sprintf("%-36s %s  %s  %s", says, died, postmortem.FullName(r.Namespace, r.Runner), where)
}
