package classify

import (
	"coroner/ingest"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// printed are the lines of each document that a job wrote. A runner's output without an
// envelope has them between the runner's own lines: from the one that a job runs to the last
// one that it ended, whatever a line there looks like, the job wrote it.
type printed map[string]span

// span is some lines of a document, neither the first nor the last one with them.
type span struct{ first, last int }

func (l span) some() bool { return l.first != 0 && l.last != 0 && l.first < l.last }

// has says whether a job wrote a line that looks like somebody else's.
func (p printed) has(s *signal.Signal) bool {
	l := p[s.Doc]
	return l.some() && l.first < s.Line && s.Line < l.last && !s.Source.Forgeable()
}

// doubtOf says why a line need not be whose it seems to be. Below the line that a job runs,
// or above the end of one whose beginning is cut off, somebody may have put it, or the job
// printed it.
func (p printed) doubtOf(s *signal.Signal) casefile.Doubt {
	switch l := p[s.Doc]; {
	case p.has(s):
		return casefile.Doubtful
	case s.Source.Forgeable():
	case l.first != 0 && l.first < s.Line, l.first == 0 && l.last != 0 && s.Line < l.last:
		return casefile.Beside
	}
	return casefile.NoDoubt
}

// jobEnds are the lines that only a runner whose job is over prints.
var jobEnds = map[string]bool{
	"runner.job-completed": true, "runner.listener-exit": true, "runner.exiting": true, "runner.shutdown": true,
}

func findPrinted(signals []*signal.Signal) printed {
	out := printed{}
	for _, s := range signals {
		if s.Source != ingest.Runner || s.Doc == "" || s.Pod != "" || s.PodUID != "" {
			continue
		}
		in := out[s.Doc]
		switch {
		case s.Def.Name == "runner.job-running" && (in.first == 0 || s.Line < in.first):
			in.first = s.Line
		case jobEnds[s.Def.Name] && (in.last == 0 || s.Line > in.last):
			in.last = s.Line
		}
		out[s.Doc] = in
	}
	return out
}
