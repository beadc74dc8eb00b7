package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"coroner/classify/inquiry"
	"coroner/cmd/daemon"
	"coroner/ingest/github"
)

// githubFlags say how GitHub is asked about the jobs of runners that ended: not
// at all by default.
type githubFlags struct {
	GitHubToken string `name:"github.token-file" help:"${serve_github_token_file}" placeholder:"FILE"`
	GitHubURL   string `name:"github.url" help:"${serve_github_url}" default:"https://api.github.com" placeholder:"URL"`
	GitHubPace  int    `name:"github.requests-per-minute" help:"${serve_github_requests_per_minute}" default:"30"`
}

func (f *githubFlags) checkGitHub() error {
	if f.GitHubToken == "" {
		return nil
	}
	if u, err := url.Parse(f.GitHubURL); err != nil || !isHTTP(u) || u.User != nil {
		return fmt.Errorf("--github.url: want https://HOST, without a user")
	}
	if f.GitHubPace <= 0 {
		return errors.New("--github.requests-per-minute: want a number above zero")
	}
	_, err := daemon.Token(f.GitHubToken)()
	return err
}

// askGitHub adds what asks GitHub to the server's tasks where there is a token.
func (s *server) askGitHub(now func() time.Time) error {
	f := &s.cmd.githubFlags
	if f.GitHubToken == "" {
		return nil
	}
	client := github.NewClient(f.GitHubURL, daemon.Token(f.GitHubToken), &http.Client{Timeout: 30 * time.Second}, now)
	metrics := github.NewMetrics(s.daemon.Registry)
	poller := github.NewPoller(client, f.GitHubPace, s.docket.Receive, metrics, s.daemon.Log)
	asking := &inquiry.Inquiry{
		Ledger: s.ledger,
		Gather: s.docket.Gather,
		Book:   s.docket.Book,
		Poller: poller,
		Log:    s.daemon.Log,
		Now:    now,
	}
	s.more = append(s.more, poller.Run, asking.Run)
	return nil
}
