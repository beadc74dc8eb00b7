package postmortem

import (
	"fmt"
	"slices"
	"strings"

	"coroner/ingest"
)

// The short page shows the lines that decide and a few around them. Nothing is lost:
// it says how many lines it leaves out, and the whole page has them.

// contextLines is how many lines that decide nothing the short page shows.
const contextLines = 5

// rowsShown says of each row whether the page shows it.
func (p *page) rowsShown(rows []Row) []bool {
	show := make([]bool, len(rows))
	var others []int
	for i, r := range rows {
		show[i] = p.s.All || r.Decisive
		if !show[i] && !r.housekeeping() && !Aftermath(p.v, r) {
			others = append(others, i)
		}
	}
	if p.s.All {
		return show
	}
	death := p.nearDeath(rows)
	distance := distances(rows, death)
	slices.SortStableFunc(others, func(i, j int) int { return distance[i] - distance[j] })
	chosen := telling(rows, others, death)
	for _, i := range others {
		if len(chosen) < contextLines && !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	for _, i := range chosen {
		show[i] = true
	}
	return show
}

// telling are the rows that a reader asks for first: the OOM kill of a neighbour nearest to
// the death, and what the runner did last.
func telling(rows []Row, others []int, death int) (out []int) {
	kill, did := -1, -1
	for _, i := range others {
		r := rows[i]
		if kill < 0 && r.Of != "" && strings.HasPrefix(r.Signal, "kernel.oom") {
			kill = i
		}
		if r.Source == string(ingest.Runner) && i <= death && i > did {
			did = i
		}
	}
	for _, i := range []int{kill, did} {
		if i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// nearDeath is the last row up to the death, or the last of all where none is known.
func (p *page) nearDeath(rows []Row) int {
	last := len(rows) - 1
	for i, r := range rows {
		if p.v.DiedAt != nil && r.At != nil && !r.At.After(*p.v.DiedAt) {
			last = i
		}
	}
	return last
}

// distances says how far each row is from the nearest one that decides, in rows, and from the
// death where none does. A line of the node counts as twice as far as one about a pod.
func distances(rows []Row, death int) []int {
	near := []int{}
	for i, r := range rows {
		if r.Decisive {
			near = append(near, i)
		}
	}
	if len(near) == 0 {
		near = append(near, death)
	}
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = len(rows)
		for _, at := range near {
			out[i] = min(out[i], max(i-at, at-i))
		}
		if !r.Mine && r.Of == "" {
			out[i] *= 2
		}
	}
	return out
}

// housekeeping says whether a row is what a runner prints all the time while it works.
func (r Row) housekeeping() bool {
	switch r.Signal {
	case "runner.worker-busy", "runner.renewed":
		return true
	case "runner.process-finished":
		return strings.Contains(r.Text, "exit code 0")
	case "runner.last-words":
		return strings.Contains(r.Text, "Well known directory") ||
			strings.Contains(r.Text, "Register action command extension")
	}
	return false
}

// leftOut counts the lines between two rows that are shown.
type leftOut struct{ lines, housekeeping int }

func (l *leftOut) add(r Row) {
	l.lines += r.Times
	if r.housekeeping() {
		l.housekeeping += r.Times
	}
}

func (p *page) writeSkipped(l *leftOut) {
	if l.lines == 0 {
		return
	}
	text := "… " + countText(l.lines, "line") + " left out"
	switch {
	case l.housekeeping == l.lines:
		text = "… " + countText(l.lines, "line") + " of the runner's housekeeping left out"
	case l.housekeeping > 0:
		text += fmt.Sprintf(", %d of them the runner's housekeeping", l.housekeeping)
	}
	p.printf("      %s\n", p.painted(dim, text))
	*l = leftOut{}
}

// countText is a number and what it counts: 1 line, 2 lines.
func countText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
