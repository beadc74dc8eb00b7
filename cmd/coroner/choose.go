package main

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

// choice is the runners that are shown: all that were found, or the one that a
// person at a terminal chooses. Nobody is asked where a program reads the answer.
func (p *program) choice(form string, found lookup.Answer) ([]lookup.Runner, error) {
	runners := found.Runners
	slices.SortStableFunc(runners, func(a, b lookup.Runner) int {
		return cmp.Compare(moment(&b).UnixNano(), moment(&a).UnixNano())
	})
	person := p.tty(p.in) && p.tty(p.err)
	if form == asJSON || form == asYAML {
		person = person && p.tty(p.out)
	}
	if len(runners) > 1 && !person {
		fmt.Fprintf(p.err, "coroner: %d runners fit; all are shown, the latest first\n", len(runners))
	}
	if len(runners) < 2 || !person {
		return runners, nil
	}
	return p.choose(runners)
}

// moment is when the runner died, or was heard of last.
func moment(r *lookup.Runner) time.Time {
	if v := r.Says(); v != nil && v.DiedAt != nil {
		return *v.DiedAt
	}
	return r.Heard
}

// choose asks which one. None is a choice, too.
func (p *program) choose(runners []lookup.Runner) ([]lookup.Runner, error) {
	fmt.Fprintf(p.err, "%d runners fit\n", len(runners))
	for i := range runners {
		fmt.Fprintf(p.err, "%4d  %s\n", i+1, option(&runners[i]))
	}
	lines := bufio.NewReader(p.in)
	for {
		fmt.Fprintf(p.err, "Which one? a for all, q for none [1] ")
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil && line == "" {
			line = "q"
			fmt.Fprintln(p.err)
		}
		if picked, ok := pick(runners, strings.TrimSpace(line)); ok {
			return picked, nil
		}
		fmt.Fprintf(p.err, "Want a number from 1 to %d, a or q.\n", len(runners))
	}
}

func pick(runners []lookup.Runner, answer string) (picked []lookup.Runner, ok bool) {
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

func option(r *lookup.Runner) string {
	says := r.State
	if v := r.Says(); v != nil {
		says = fmt.Sprintf("%s (%s)", v.Label, v.Confidence)
	}
	where := "node " + postmortem.Clean(r.Node)
	if r.Cluster != "" {
		where += " of cluster " + postmortem.Clean(r.Cluster)
	}
	died := moment(r).UTC().Format("2006-01-02 15:04:05Z")
	return fmt.Sprintf("%-36s %s  %s  %s", says, died, fullName(r.Namespace, r.Runner), where)
}
