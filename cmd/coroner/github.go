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

// githubFlags say how GitHub is asked about the jobs of runners that ended, and whether
// its webhook is taken: neither by default.
type githubFlags struct {
	GitHubToken   string `name:"github.token-file" help:"${github_token_file}" placeholder:"FILE"`
	GitHubURL     string `name:"github.url" help:"${github_url}" default:"https://api.github.com" placeholder:"URL"`
	GitHubPace    int    `name:"github.requests-per-minute" help:"${github_pace}" default:"30"`
	WebhookSecret string `name:"github.webhook-secret-file" help:"${github_webhook_secret}" placeholder:"FILE"`
}

func (f *githubFlags) checkGitHub(acts bool) error {
	if f.WebhookSecret != "" {
		if _, err := daemon.Token(f.WebhookSecret)(); err != nil {
			return err
		}
	}
	if f.GitHubToken == "" && !acts {
		return nil
	}
	if u, err := url.Parse(f.GitHubURL); err != nil || !isHTTP(u) || u.User != nil {
		return fmt.Errorf("--github.url: want https://HOST, without a user")
	}
	if f.GitHubPace <= 0 {
		return errors.New("--github.requests-per-minute: want a number above zero")
	}
	if f.GitHubToken == "" {
		return nil
	}
	_, err := daemon.Token(f.GitHubToken)()
	return err
}

// connectGitHub takes GitHub's webhook where there is a secret for it, and adds what asks
// GitHub to the server's tasks where there is a token.
func (s *server) connectGitHub(now func() time.Time) {
	f, metrics := &s.cmd.githubFlags, github.NewMetrics(s.daemon.Registry)
	if f.WebhookSecret != "" {
		s.daemon.Mux.Handle("POST "+github.WebhookPath, &github.Webhook{
			Secret: daemon.Token(f.WebhookSecret), Receive: s.docket.Receive, Metrics: metrics, Log: s.daemon.Log,
		})
	}
	if f.GitHubToken == "" {
		return
	}
	client := github.NewClient(f.GitHubURL, daemon.Token(f.GitHubToken), &http.Client{Timeout: 30 * time.Second}, now)
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
}
