package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"coroner/classify"
	"coroner/classify/backfill"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/daemon"
	"coroner/ingest/loki"
	"coroner/rules"
)

// lokiFlags say how a Loki is asked. The selectors' defaults are the streams of
// Grafana's k8s-monitoring.
type lokiFlags struct {
	URL        string `name:"loki" help:"${explain_loki}" placeholder:"URL"`
	Since      string `help:"${explain_since}" default:"24h"`
	Until      string `help:"With --loki: up to when." placeholder:"TIME"`
	Tenant     string `name:"loki-tenant" help:"With --loki: X-Scope-OrgID." placeholder:"ID"`
	User       string `name:"loki-user" help:"${explain_loki_user}" placeholder:"NAME"`
	TokenFile  string `name:"loki-token-file" help:"With --loki: file with the token." placeholder:"FILE"`
	Pods       string `name:"loki-pods" help:"${explain_loki_pods}" default:"${loki_pods}" placeholder:"SELECTOR"`
	Journal    string `name:"loki-journal" help:"${help_journal}" default:"${loki_journal}" placeholder:"SELECTOR"`
	NodeLabel  string `name:"loki-node-label" help:"${explain_loki_node_label}" default:"instance" placeholder:"LABEL"`
	PodLabel   string `name:"loki-pod-label" help:"${explain_loki_pod_label}" default:"pod" placeholder:"LABEL"`
	Controller string `name:"loki-controller" help:"${help_arc}" default:"${loki_controller}" placeholder:"SELECTOR"`
}

// lokiSource is the Loki that the flags name, and the time.
func (f *lokiFlags) lokiSource(p *program) (*backfill.Source, error) {
	header, err := f.lokiHeader()
	if err != nil {
		return nil, err
	}
	from, to, err := f.timeSpan(p.now())
	if err != nil {
		return nil, err
	}
	return &backfill.Source{
		Client: &loki.Client{URL: f.URL, Header: header, HTTP: &http.Client{Timeout: 5 * time.Minute}},
		Streams: backfill.Streams{
			Pods:       f.Pods,
			PodLabel:   f.PodLabel,
			Journal:    f.Journal,
			NodeLabel:  f.NodeLabel,
			Controller: f.Controller,
		},
		From: from,
		To:   to,
	}, nil
}

// lokiHeader says who asks.
func (f *lokiFlags) lokiHeader() (http.Header, error) {
	header := http.Header{}
	if f.Tenant != "" {
		header.Set("X-Scope-OrgID", f.Tenant)
	}
	token := daemon.Token(f.TokenFile)
	if token == nil {
		return header, nil
	}
	t, err := token()
	if err != nil {
		return nil, usage("%w", err)
	}
	if f.User != "" {
		(&http.Request{Header: header}).SetBasicAuth(f.User, t)
	} else {
		header.Set("Authorization", "Bearer "+t)
	}
	return header, nil
}

// timeSpan is the time that is asked for.
func (f *lokiFlags) timeSpan(now time.Time) (from, to time.Time, err error) {
	to = now
	if f.Until != "" {
		if to, err = lookup.Since(f.Until, now); err != nil {
			return from, to, usage("--until %s: want a time like 2026-01-02T15:04:05Z, or a duration back from now",
				f.Until)
		}
	}
	if from, err = lookup.Since(f.Since, now); err != nil {
		return from, to, usage("--since %s: want a duration like 24h or 7d, or a time like 2026-01-02T15:04:05Z",
			f.Since)
	}
	if !from.Before(to) {
		return from, to, usage("--since %s is not before --until", f.Since)
	}
	return from, to, nil
}

// fromLoki explains what a Loki has.
func (c *explainCmd) fromLoki(p *program, form string) error {
	if c.Runner == "" && !c.All {
		return usage("--loki needs --runner NAME, or --all for every runner that died since --since")
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	source, err := c.Loki.lokiSource(p)
	if err != nil {
		return err
	}
	clear := func() {}
	if p.tty(p.err) {
		source.Progress = func(n int) { fmt.Fprintf(p.err, "\r\x1b[K%d lines read from Loki", n) }
		clear = func() { fmt.Fprint(p.err, "\r\x1b[K") }
	}
	entries := source.All(context.Background())
	if c.Runner != "" {
		entries = source.Runner(context.Background(), c.Runner)
	}
	verdicts := classify.Replay(entries, book, classify.Options{Runner: c.Runner, Strict: true})
	clear()
	if err := source.Err(); err != nil {
		return unreadable("%w\nhint: --loki-pods, --loki-journal and --loki-controller "+
			"select the streams that are read", err)
	}
	return c.showBackfilled(p, form, source, verdicts)
}

func (c *explainCmd) showBackfilled(p *program, form string, s *backfill.Source, verdicts []rules.Verdict) error {
	if s.Lines() == 0 {
		fmt.Fprintf(p.err, "coroner: Loki has no line of %s between %s and %s; "+
			"see --since and the --loki-… selectors\n",
			postmortem.Clean(c.Runner), s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
	}
	c.note(p, verdicts, func() []rules.Verdict { return nil })
	return p.verdicts(form, verdicts, 0, c.All && c.Runner != "")
}
