package classify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A job that waits can have a runner that was to take it, and that runner a verdict: then
// that verdict is one line of evidence about the job, and the job's own verdict names it.
// The two are tied by the job's number, or by its run and its name in it.

// jobTies are the names under which what a signal says of a job is found beside the job's
// number; nil where it is a job's own word, or of no job.
func jobTies(s *signal.Signal) (out []string) {
	if !s.Def.Reach.Has(signal.ReachJob) || s.Source.Forgeable() {
		return nil
	}
	if id := s.JobID(); id != "" {
		out = append(out, Standing{Kind: casefile.OfJob, Name: id}.Key())
	}
	if run, name := s.Str("run_id"), s.Str("job"); run != "" && run != "0" && name != "" {
		out = append(out, "run/"+run+"/"+name)
	}
	return out
}

// RunnersJobs are the names of the jobs that were given to a runner, by what was gathered of it.
func RunnersJobs(found []*Scanned, runner string) (out []string) {
	r := &Roster{}
	for _, s := range found {
		for i := range s.Signals {
			one := &s.Signals[i]
			for _, key := range jobTies(one) {
				if r.namesOf(one).name == runner && !slices.Contains(out, key) {
					out = append(out, key)
				}
			}
		}
	}
	return out
}

// JobOfTie is the number of the job that a name of RunnersJobs has in it, "" where it has none.
func JobOfTie(name string) string {
	id, _ := strings.CutPrefix(name, Standing{Kind: casefile.OfJob}.Key())
	if id == name {
		return ""
	}
	return id
}

// JobIDs are the numbers of the jobs that entries speak of.
func JobIDs(entries []ingest.Entry, book *rules.Rulebook) (out []string) {
	for i := range entries {
		signals := book.Scan(&entries[i])
		for k := range signals {
			if id := signals[k].JobID(); id != "" && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// TellsJob says whether the verdict on a runner is of use to a job that waits for one: it ended
// without a good end of its work, or was taken away.
func TellsJob(v *rules.Verdict) bool {
	return v.Kind == casefile.OfRunner && v.Runner != "" && (v.Death() || v.Label == rules.IdleRemoved)
}

// RunnerJudged is the verdict on a runner as a record about a job that was given to it. Where the
// runner's end has no time, it is of when it was judged.
func RunnerJudged(v *rules.Verdict, job string, judged time.Time) ingest.Entry {
	fields := map[string]string{"msg": "runner of the job was judged", "job_id": job, "runner": v.Runner,
		"namespace": v.Namespace, "pod_uid": v.PodUID, "verdict": string(v.Label),
		"confidence": string(v.Confidence), "revision": strconv.Itoa(v.Revision),
		"summary": strings.TrimSuffix(v.Summary, ".")}
	e := ingest.Entry{Source: ingest.Agent, Trust: ingest.Attested, Cluster: v.Cluster, Doc: "coroner",
		Fields: fields, Text: fields["msg"], At: judged.UTC()}
	if v.DiedAt != nil {
		e.At = v.DiedAt.UTC()
	}
	if !e.At.IsZero() {
		e.Clock = ingest.WallClock
	}
	for _, key := range []string{"job_id", "namespace", "runner", "verdict", "confidence"} {
		if fields[key] != "" {
			e.Text += " " + key + "=" + fields[key]
		}
	}
	e.Text += " summary=" + strconv.Quote(fields["summary"])
	return e
}

// tellJobs adds the verdict on a runner to the evidence of the jobs that were given to it.
func (f *caseFiles) tellJobs(runner *casefile.Case, v *rules.Verdict, book *rules.Rulebook) {
	if !TellsJob(v) {
		return
	}
	given := tiesOf(runner)
	for _, c := range f.standing {
		tied := func(key string) bool { return slices.Contains(given, key) }
		if c.Kind != casefile.OfJob || c.Cluster != runner.Cluster || !slices.ContainsFunc(tiesOf(c), tied) {
			continue
		}
		e := RunnerJudged(v, c.Name, time.Time{})
		for _, s := range book.Scan(&e) {
			c.Evidence = append(c.Evidence, casefile.Evidence{Signal: &s, Mine: true})
		}
		slices.SortStableFunc(c.Evidence, func(a, b casefile.Evidence) int { return a.At.Compare(b.At) })
	}
}

// tiesOf are the names of the jobs that a case's own lines tell of.
func tiesOf(c *casefile.Case) (out []string) {
	for i := range c.Evidence {
		if c.Evidence[i].Mine {
			out = append(out, jobTies(c.Evidence[i].Signal)...)
		}
	}
	return out
}
