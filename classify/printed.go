package classify

import (
	"coroner/ingest"
	"coroner/rules/signal"
)

// A runner's output without an envelope has what its job prints between the runner's own
// lines: from the one that a job runs to the last one that it ended, whatever a line there
// looks like, the job wrote it.

// lines are some of a document, neither the first nor the last one with them.
type lines struct{ first, last int }

func (l lines) some() bool { return l.first > 0 && l.first < l.last }

func (l lines) contain(n int) bool { return l.some() && l.first < n && n < l.last }

// jobEnds are the lines that only a runner whose job is over prints.
var jobEnds = map[string]bool{
	"runner.job-completed": true, "runner.listener-exit": true, "runner.exiting": true, "runner.shutdown": true,
}

// jobLines finds in each document the lines that a job printed.
func jobLines(signals []*signal.Signal) map[string]lines {
	out := map[string]lines{}
	for _, s := range signals {
		if s.Source != ingest.Runner || s.Doc == "" || s.Pod != "" || s.PodUID != "" {
			continue
		}
		in := out[s.Doc]
		switch {
		case s.Def.Name == "runner.job-running" && (in.first == 0 || s.Line < in.first):
			in.first = s.Line
		case jobEnds[s.Def.Name]:
			in.last = max(in.last, s.Line)
		}
		out[s.Doc] = in
	}
	return out
}
