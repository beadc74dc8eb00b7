package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A verdict is stored, published and shown, and much of it is what a job printed:
// so its size is bounded. That of the largest incident is 25 kB.
const (
	maxEvidence  = 400       // lines
	evidenceSize = 128 << 10 // bytes of them as JSON, about
	lineSize     = 200       // of a line without its text
	maxLineText  = 2 << 10   // bytes of one text
	maxWords     = 1 << 10   // bytes of a sentence
	maxName      = 253       // bytes of a name
)

// evidenceLines lists what the verdict rests on, in its order: the pod's own lines,
// the deciding ones, and what the node said at the time. Where that is too much the
// deciding ones stay, then those that are nearest to the death. What a job can
// print takes half of the room at most: it must not push out what the node says.
func evidenceLines(c *casefile.Case, f casefile.Findings, decides map[*signal.Signal]bool) (
	lines []EvidenceLine, omitted int,
) {
	var all []int
	for i := range c.Evidence {
		if e := &c.Evidence[i]; decides[e.Signal] || e.Mine || c.Nobody() || casefile.AroundDeath(e, f.Died) {
			all = append(all, i)
		}
	}
	chosen := chooseLines(c, f.Died, all, decides)
	lines = []EvidenceLine{}
	for _, i := range chosen {
		lines = append(lines, lineOf(&c.Evidence[i], decides[c.Evidence[i].Signal]))
	}
	return lines, len(all) - len(chosen)
}

// chooseLines takes as many of the lines as there is room for.
func chooseLines(c *casefile.Case, died time.Time, all []int, decides map[*signal.Signal]bool) (chosen []int) {
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(i, j int) int {
		x, y := &c.Evidence[i], &c.Evidence[j]
		return cmp.Or(
			falseFirst(!decides[x.Signal])-falseFirst(!decides[y.Signal]),
			cmp.Compare(distance(x, died), distance(y, died)),
			j-i,
		)
	})
	lines, size := 0, 0
	printed, printedSize := 0, 0 // of them, what a job can print
	for _, i := range ranked {
		e := &c.Evidence[i]
		one := lineSize + sizeInJSON(e.Text[:min(len(e.Text), maxLineText)]) + min(len(e.Doc), maxWords)
		if lines == maxEvidence || size+one > evidenceSize {
			break
		}
		if e.Source.Forgeable() {
			if printed == maxEvidence/2 || printedSize+one > evidenceSize/2 {
				continue
			}
			printed, printedSize = printed+1, printedSize+one
		}
		lines, size = lines+1, size+one
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	return chosen
}

// sizeInJSON is how many bytes a text takes in JSON.
func sizeInJSON(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '<', '>', '&':
			n += len("\\u003c") - 1
		case '"', '\\', '\t':
			n++
		}
	}
	return n
}

func falseFirst(later bool) int {
	if later {
		return 1
	}
	return 0
}

// distance is how far from the death a line was written; one without a time is
// farther than any.
func distance(e *casefile.Evidence, died time.Time) time.Duration {
	if e.At.IsZero() || died.IsZero() {
		return math.MaxInt64
	}
	return e.At.Sub(died).Abs()
}

// limitSizes bounds what the verdict says in words, which may be a log's.
func (v *Verdict) limitSizes() {
	for _, name := range []*string{
		&v.Initiator, &v.Resource, &v.Exit.Reason, &v.Job.ID, &v.Job.RunID, &v.Job.Repository,
	} {
		*name = limitText(*name, maxName)
	}
	for _, words := range []*string{
		&v.Summary, &v.Advice, &v.Job.Name, &v.Job.Step, &v.Runner, &v.Namespace, &v.Node, &v.PodUID, &v.Pool,
	} {
		*words = limitText(*words, maxWords)
	}
	for i := range v.RuledOut {
		v.RuledOut[i].Because = limitText(v.RuledOut[i].Because, maxWords)
	}
	for i := range v.Open {
		v.Open[i].Needs = limitText(v.Open[i].Needs, maxWords)
	}
	for i := range v.Missing {
		v.Missing[i] = limitText(v.Missing[i], maxWords)
	}
	for i := range v.Coverage {
		v.Coverage[i].Lost = limitText(v.Coverage[i].Lost, maxName)
	}
}

// limitText cuts a text that is longer than so many bytes, and says so.
func limitText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
