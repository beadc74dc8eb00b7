// Package inquiry has GitHub asked about the jobs of runners whose verdicts leave room
// for doubt.
//
// Invariant: which repository and run GitHub is asked about, only records say that a
// job cannot write, and of several runs under one runner's name those from before its
// death. The answers are filed as evidence of the runner, like any other.
//
// Crash behaviour: it keeps no state. After a start it looks at the verdicts of the last
// half hour again, and the same answer is the same record.
package inquiry

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/rules"
	"coroner/rules/signal"

	"github.com/rs/zerolog"
)

// Inquiry looks for new verdicts and enqueues questions about them. Its fields are set
// before Run.
type Inquiry struct {
	Ledger *ledger.Ledger
	Gather func(context.Context, ledger.Case) ([]ingest.Entry, error) // the evidence of a case
	Book   func() *rules.Rulebook
	Poller *github.Poller
	Log    zerolog.Logger
	Now    func() time.Time
}

// interval is how often new verdicts are looked for.
const interval = 10 * time.Second

// Run looks for verdicts until ctx is done.
func (q *Inquiry) Run(ctx context.Context) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	since := q.Now().Add(-github.Age)
	for {
		next := q.Now().Add(-interval) // one that is being written may have an earlier time
		leads, err := q.Ledger.Lead.Of(ctx, "github", next)
		if err == nil && !leads { // who is to begin asks about all that another server may not have
			next = q.Now().Add(-github.Age)
		} else if err == nil {
			err = q.enqueueSince(ctx, since)
		}
		if err == nil {
			since = next
		} else if ctx.Err() == nil {
			q.Log.Error().Err(err).Msg("cannot look for verdicts to ask GitHub about; retrying")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// enqueueSince asks about every runner whose verdict leaves room for doubt.
func (q *Inquiry) enqueueSince(ctx context.Context, since time.Time) error {
	for c := ledger.NewCursor(ledger.Query{Since: since, Brief: true}); ; {
		records, err := q.Ledger.Next(ctx, c)
		if err == nil {
			err = q.enqueueJobs(ctx, records)
		}
		if err != nil || ctx.Err() != nil || len(records) == 0 {
			return err
		}
	}
}

func (q *Inquiry) enqueueJobs(ctx context.Context, records []ledger.Record) error {
	for i := range records {
		v := &records[i].Verdict
		certain := v.Confidence == rules.Confirmed || v.Label == rules.None || v.Label == rules.IdleRemoved
		if certain || v.DiedAt == nil {
			continue
		}
		entries, err := q.evidence(ctx, records[i].Case)
		if err != nil || ctx.Err() != nil {
			return err
		}
		q.Poller.Enqueue(question(&records[i], entries, q.Book()))
	}
	return nil
}

func (q *Inquiry) evidence(ctx context.Context, id string) ([]ingest.Entry, error) {
	c, ok, err := q.Ledger.Case(ctx, ledger.PodOf(id))
	if err != nil || !ok {
		return nil, err
	}
	return q.Gather(ctx, c)
}

// Question is what GitHub can be asked about a verdict's runner; see question.
func (q *Inquiry) Question(ctx context.Context, r *ledger.Record) (github.Question, error) {
	if r.Verdict.DiedAt == nil {
		return github.Question{}, nil
	}
	entries, err := q.evidence(ctx, r.Case)
	return question(r, entries, q.Book()), err
}

// question is what to ask about a verdict's runner. Only records that a job
// cannot write say which repository and run its job is of.
func question(r *ledger.Record, entries []ingest.Entry, book *rules.Rulebook) github.Question {
	v := &r.Verdict
	q := github.Question{
		Case:      r.Case,
		Runner:    v.Runner,
		Cluster:   v.Cluster,
		Namespace: v.Namespace,
		Pod:       v.Runner,
		PodUID:    v.PodUID,
		Died:      *v.DiedAt,
	}
	var told []*signal.Signal
	for i := range entries {
		signals := book.Scan(&entries[i])
		for j := range signals {
			if s := &signals[j]; s.Proven() && isAbout(s, v) {
				told = append(told, s)
			}
		}
	}
	slices.SortStableFunc(told, func(a, b *signal.Signal) int { return a.At.Compare(b.At) })
	for _, s := range told {
		learn(&q, s)
	}
	return q
}

// learn takes from a record which job the question is about: of what the runner had before it
// died, the last. What is told later adds what was not known; of another run it is the job of the
// next runner of that name.
func learn(q *github.Question, s *signal.Signal) {
	repository, run, job := repositoryOf(s), s.Str("run_id"), s.Str("job_id")
	another := run != "" && q.Run != "" && run != q.Run
	switch late := s.At.After(q.Died.Add(forge.Clocks)); {
	case late && another:
	case late:
		q.Repository, q.Run, q.Job = cmp.Or(q.Repository, repository), cmp.Or(q.Run, run), cmp.Or(q.Job, job)
	case another:
		q.Repository, q.Run, q.Job = repository, run, job
	default:
		q.Repository, q.Run, q.Job = cmp.Or(repository, q.Repository), cmp.Or(run, q.Run), cmp.Or(job, q.Job)
	}
}

// repositoryOf is owner/name, which listeners write in two parts.
func repositoryOf(s *signal.Signal) string {
	name := s.Str("repository")
	if owner := s.Str("owner"); name != "" && owner != "" && !strings.Contains(name, "/") {
		return owner + "/" + name
	}
	return name
}

// isAbout says whether a record that names a job speaks of the verdict's runner: it names
// it, or it is its object, and of no other pod or namespace.
func isAbout(s *signal.Signal, v *rules.Verdict) bool {
	can := func(said, known string) bool { return said == "" || known == "" || said == known }
	if !can(s.PodUID, v.PodUID) {
		return false
	}
	if named := s.Str("runner"); named != "" {
		namespace, name, qualified := strings.Cut(named, "/")
		return qualified && name == v.Runner && can(namespace, v.Namespace) || !qualified && named == v.Runner
	}
	return s.Source == ingest.Kube && s.Pod == v.Runner && can(s.Namespace, v.Namespace)
}
