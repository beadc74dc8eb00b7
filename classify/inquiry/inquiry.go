// Package inquiry has GitHub asked about the jobs of runners whose verdicts leave room
// for doubt.
//
// Invariant: which repository and run GitHub is asked about, only records say that a
// job cannot write. The answers are filed as evidence of the runner, like any other.
//
// Crash behaviour: it keeps no state. After a start it looks at the verdicts of the last
// half hour again, and the same answer is the same record.
package inquiry

import (
	"cmp"
	"context"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
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
	for i := range entries {
		signals := book.Scan(&entries[i])
		for j := range signals {
			if s := &signals[j]; s.Proven() && isAbout(s, v) {
				q.Repository = cmp.Or(repositoryOf(s), q.Repository)
				q.Run, q.Job = cmp.Or(s.Str("run_id"), q.Run), cmp.Or(s.Str("job_id"), q.Job)
			}
		}
	}
	return q
}

// repositoryOf is owner/name, which listeners write in two parts.
func repositoryOf(s *signal.Signal) string {
	name := s.Str("repository")
	if owner := s.Str("owner"); name != "" && owner != "" && !strings.Contains(name, "/") {
		return owner + "/" + name
	}
	return name
}

// isAbout says whether a record that names a job speaks of the verdict's runner:
// it names it, or it is its object.
func isAbout(s *signal.Signal, v *rules.Verdict) bool {
	if named := s.Str("runner"); named != "" {
		_, name, qualified := strings.Cut(named, "/")
		return name == v.Runner || !qualified && named == v.Runner
	}
	return s.Source == ingest.Kube && s.Pod == v.Runner
}
