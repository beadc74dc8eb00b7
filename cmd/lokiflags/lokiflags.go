// Package lokiflags has the flags by which a command reads from a Loki.
//
// Invariant: a value that no run could use is an error that names its flag.
//
// Crash behaviour: it keeps no state.
package lokiflags

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"coroner/classify/backfill"
	"coroner/classify/lookup"
	"coroner/cmd/daemon"
	"coroner/ingest/loki"
)

// Flags say how a Loki is asked. The selectors' defaults are the streams of
// Grafana's k8s-monitoring.
type Flags struct {
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

// HasTime says whether a time was asked for: the default is none.
func (f *Flags) HasTime() bool { return f.Until != "" || f.Since != "" && f.Since != "24h" }

// Source is the Loki that the flags name, and the time.
func (f *Flags) Source(now time.Time) (*backfill.Source, error) {
	if u, err := url.Parse(f.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("--loki %s: want http://HOST:PORT", f.URL)
	}
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	from, to, err := f.timeSpan(now)
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

// header says who asks.
func (f *Flags) header() (http.Header, error) {
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
		return nil, err
	}
	if f.User != "" {
		(&http.Request{Header: header}).SetBasicAuth(f.User, t)
	} else {
		header.Set("Authorization", "Bearer "+t)
	}
	return header, nil
}

// timeSpan is the time that is asked for.
func (f *Flags) timeSpan(now time.Time) (from, to time.Time, err error) {
	to = now
	if f.Until != "" {
		if to, err = lookup.Since(f.Until, now); err != nil {
			return from, to, fmt.Errorf(
				"--until %s: want a time like 2026-01-02T15:04:05Z, or a duration back from now", f.Until)
		}
	}
	if from, err = lookup.Since(f.Since, now); err != nil {
		return from, to, fmt.Errorf("--since %s: want a duration like 24h or 7d, or a time like 2026-01-02T15:04:05Z",
			f.Since)
	}
	if !from.Before(to) {
		return from, to, fmt.Errorf("--since %s is not before --until", f.Since)
	}
	return from, to, nil
}

// Problem says in one line why the Loki did not answer, and what to do.
func (f *Flags) Problem(err error) error {
	var sending *url.Error
	if !errors.As(err, &sending) {
		return fmt.Errorf("%w\nhint: --loki-pods, --loki-journal and --loki-controller "+
			"select the streams that are read", err)
	}
	shown := f.URL
	if u, err := url.Parse(f.URL); err == nil {
		shown = u.Redacted()
	}
	return fmt.Errorf("--loki %s: %w; does a Loki listen there?", shown, sending.Err)
}
