package main

import (
	"errors"
	"net/http"
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
	err := errors.Join(daemon.CheckToken("github.webhook-secret-file", f.WebhookSecret),
		daemon.CheckToken("github.token-file", f.GitHubToken),
		daemon.CheckNumber("github.requests-per-minute", f.GitHubPace))
	if f.GitHubToken == "" && !acts {
		return err
	}
	if f.GitHubPace == 0 {
		err = errors.Join(err, daemon.WrongValue("github.requests-per-minute", "0", "want a number above zero"))
	}
	return errors.Join(err, daemon.CheckPage("github.url", f.GitHubURL, "https://HOST"))
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
