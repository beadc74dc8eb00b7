package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/github"
	"coroner/rules"
)

// githubFlags say how GitHub is asked about the jobs of runners that ended: not
// at all by default.
type githubFlags struct {
	GitHubToken string `name:"github.token-file" help:"File with a token that may read the repositories' actions. GitHub is then asked about the job of a runner whose verdict is not confirmed. Default: GitHub is not asked." placeholder:"FILE"`
	GitHubURL   string `name:"github.url" help:"GitHub's REST API; https://HOST/api/v3 for a GitHub Enterprise Server." default:"https://api.github.com" placeholder:"URL"`
	GitHubPace  int    `name:"github.requests-per-minute" help:"GitHub is asked at most so often; what it says of its rate limits holds besides." default:"30"`
}

func (f *githubFlags) check() error {
	if f.GitHubToken == "" {
		return nil
	}
	if u, err := url.Parse(f.GitHubURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("--github.url: want https://HOST, without a user")
	}
	if f.GitHubPace <= 0 {
		return errors.New("--github.requests-per-minute: want a number above zero")
	}
	_, err := daemon.Token(f.GitHubToken)()
	return err
}

// askGitHub adds the poller that asks to the server's tasks where there is a token.
func (s *server) askGitHub(now func() time.Time) error {
	f := &s.cmd.githubFlags
	if f.GitHubToken == "" {
		return nil
	}
	client := github.NewClient(f.GitHubURL, daemon.Token(f.GitHubToken), &http.Client{Timeout: 30 * time.Second}, now)
	poller := github.NewPoller(client, f.GitHubPace, s.docket.Receive, github.NewMetrics(s.daemon.Registry), s.daemon.Log)
	s.more = append(s.more, poller.Run, func(ctx context.Context) error { return s.questions(ctx, poller, now) })
	return nil
}

// questionsEvery is how often new verdicts are looked for.
const questionsEvery = 10 * time.Second

func (s *server) questions(ctx context.Context, poller *github.Poller, now func() time.Time) error {
	ticker := time.NewTicker(questionsEvery)
	defer ticker.Stop()
	since := now().Add(-github.Age)
	for {
		next := now().Add(-questionsEvery) // one that is being written may have an earlier time
		if err := s.put(ctx, poller, since); err == nil {
			since = next
		} else if ctx.Err() == nil {
			s.daemon.Log.Error().Err(err).Msg("looking for verdicts to ask GitHub about; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// put asks about every runner whose verdict leaves room for doubt.
func (s *server) put(ctx context.Context, poller *github.Poller, since time.Time) error {
	for c := ledger.NewCursor(ledger.Query{Since: since, Brief: true}); ; {
		records, err := s.ledger.Next(ctx, c)
		if err == nil {
			err = s.putSome(ctx, poller, records)
		}
		if err != nil || ctx.Err() != nil || len(records) == 0 {
			return err
		}
	}
}

func (s *server) putSome(ctx context.Context, poller *github.Poller, records []ledger.Record) error {
	for i := range records {
		v := &records[i].Verdict
		if v.Confidence == rules.Confirmed || v.Label == rules.None || v.Label == rules.IdleRemoved || v.DiedAt == nil {
			continue
		}
		entries, err := s.evidence(ctx, records[i].Case)
		if err != nil || ctx.Err() != nil {
			return err
		}
		poller.Enqueue(question(&records[i], entries, s.docket.Book()))
	}
	return nil
}

func (s *server) evidence(ctx context.Context, id string) ([]ingest.Entry, error) {
	c, ok, err := s.ledger.Case(ctx, ledger.PodOf(id))
	if err != nil || !ok {
		return nil, err
	}
	return s.docket.Gather(ctx, c)
}

// question is what to ask about a verdict's runner. Only records that a job
// cannot write say which repository and run its job is of.
func question(r *ledger.Record, entries []ingest.Entry, book *rules.Rulebook) github.Question {
	v := &r.Verdict
	q := github.Question{Case: r.Case, Runner: v.Runner, Cluster: v.Cluster, Namespace: v.Namespace, Pod: v.Runner,
		PodUID: v.PodUID, Died: *v.DiedAt}
	for i := range entries {
		signals := book.Scan(&entries[i])
		for j := range signals {
			if sig := &signals[j]; sig.Proven() && about(sig, v) {
				q.Repository = cmp.Or(repository(sig), q.Repository)
				q.Run, q.Job = cmp.Or(sig.Str("run_id"), q.Run), cmp.Or(sig.Str("job_id"), q.Job)
			}
		}
	}
	return q
}

// repository is owner/name, which listeners tell in two parts.
func repository(s *rules.Signal) string {
	name := s.Str("repository")
	if owner := s.Str("owner"); name != "" && owner != "" && !strings.Contains(name, "/") {
		return owner + "/" + name
	}
	return name
}

// about says whether a record that names a job speaks of the verdict's runner:
// it names it, or it is its object.
func about(s *rules.Signal, v *rules.Verdict) bool {
	if named := s.Str("runner"); named != "" {
		_, name, qualified := strings.Cut(named, "/")
		return name == v.Runner || !qualified && named == v.Runner
	}
	return s.Source == ingest.Kube && s.Pod == v.Runner
}
