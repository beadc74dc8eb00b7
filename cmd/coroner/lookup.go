package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/daemon"
	"coroner/rules"
)

type lookupCmd struct {
	Name      string        `arg:"" help:"Runner: [NAMESPACE/]NAME, the start of it, or a pod UID."`
	Server    string        `help:"Address of coroner serve." env:"CORONER_SERVER" default:"http://127.0.0.1:9095" placeholder:"URL"`
	TokenFile string        `name:"token-file" help:"File with a bearer token for the server." env:"CORONER_TOKEN_FILE" placeholder:"FILE"`
	Timeout   time.Duration `help:"How long to wait for the server." default:"15s"`
	JSON      bool          `name:"json" help:"The verdicts as JSON, one a line."`
	All       bool          `help:"Show the whole timeline."`
}

// Run asks a server for a runner.
func (c *lookupCmd) Run(p *program) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	if c.Name == "" {
		return usage("the name is empty; give a runner's name, the start of it, or a pod UID")
	}
	if !strings.Contains(c.Server, "://") {
		c.Server = "http://" + c.Server
	}
	client := &lookup.Client{Server: c.Server, Header: http.Header{}, HTTP: http.DefaultClient}
	if token := daemon.Token(c.TokenFile); token != nil {
		t, err := token()
		if err != nil {
			return usage("%w", err)
		}
		client.Header.Set("Authorization", "Bearer "+t)
	}
	found, err := client.Runner(ctx, c.Name)
	if err != nil {
		return unreadable("%w\nhint: --server URL or CORONER_SERVER says where coroner serve listens", err)
	}
	return c.show(ctx, p, client, found.Runners)
}

func (c *lookupCmd) show(ctx context.Context, p *program, client *lookup.Client, found []lookup.Runner) error {
	var verdicts []rules.Verdict
	for _, r := range found {
		if v := r.Verdict; v != nil {
			verdicts = append(verdicts, v.Verdict)
		} else {
			fmt.Fprintf(p.err, "coroner: %s\n", unjudged(r))
		}
	}
	if c.JSON {
		return writeJSON(p, verdicts)
	}
	if len(found) == 0 {
		return c.nobody(ctx, p, client)
	}
	return p.pages(verdicts, c.All)
}

func unjudged(r lookup.Runner) string {
	who := strings.TrimPrefix(r.Namespace+"/"+r.Runner, "/")
	if r.State == string(ledger.StateEnding) {
		return who + " ended; its evidence is still coming in, the verdict takes some seconds more"
	}
	return fmt.Sprintf("%s has not ended as far as is known; last heard of %s", who, r.Heard.UTC().Format(time.RFC3339))
}

// nobody names the latest deaths instead.
func (c *lookupCmd) nobody(ctx context.Context, p *program, client *lookup.Client) error {
	latest, err := client.Verdicts(ctx, map[string][]string{"limit": {"10"}})
	if err == nil && len(latest.Verdicts) > 0 {
		fmt.Fprintln(p.err, "coroner: the latest verdicts are")
		for _, v := range latest.Verdicts {
			fmt.Fprintf(p.err, "  %-24s %-10s %s\n", v.Label, v.Confidence, postmortem.Clean(v.Namespace+"/"+v.Runner))
		}
	}
	return exitError{exitUnreadable, errors.Join(fmt.Errorf("no runner is called %s, or begins so", postmortem.Clean(c.Name)), err)}
}
