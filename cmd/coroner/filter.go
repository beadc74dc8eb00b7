package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/rules"
)

// filterFlags say which verdicts are wanted. Empty ones are all.
type filterFlags struct {
	Verdict    []string `help:"${filter_verdict}" placeholder:"LABEL" complete:"labels"`
	Cluster    string   `help:"Only of this cluster. Default: all." placeholder:"NAME" complete:"clusters"`
	Node       string   `help:"Only of this node." placeholder:"NAME" complete:"nodes"`
	Pool       string   `help:"Only of this pool of runners." placeholder:"NAME"`
	Kind       string   `help:"${filter_kind}" enum:"runner,pool,job," default:"" placeholder:"KIND"`
	Open       bool     `help:"Only what is wrong now: what has no end yet."`
	Repository string   `help:"Only of jobs of this repository." placeholder:"OWNER/NAME"`
	Run        string   `help:"Only of jobs of this workflow run." placeholder:"ID"`
	Until      string   `help:"Only what was judged before: as --since. Default: now." placeholder:"TIME"`
	Since      string   `help:"${filter_since}" placeholder:"TIME"`
}

// makeQuery is the filter as the API takes it.
func (f *filterFlags) makeQuery(now time.Time, server *lookup.Client) (url.Values, error) {
	q := url.Values{}
	for name, value := range map[string]string{
		"cluster": f.Cluster, "node": f.Node, "pool": f.Pool, "repository": f.Repository, "run": f.Run,
		"kind": f.Kind, "state": map[bool]string{true: string(rules.Open)}[f.Open],
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]string{"since": f.Since, "until": f.Until} {
		if value == "" {
			continue
		}
		at, err := lookup.Since(value, now)
		if err != nil {
			return nil, usage("--%s %s: want a duration like 90m or 7d, or a time like 2026-01-02T15:04:05Z",
				name, value)
		}
		q.Set(name, lookup.FormatTime(at))
	}
	for i, name := range f.Verdict {
		label, err := server.KnownLabel(context.Background(), strings.TrimSpace(name))
		if err != nil {
			return nil, usage("--verdict %v", err)
		}
		f.Verdict[i] = string(label)
	}
	if len(f.Verdict) > 0 {
		q.Set("verdict", strings.Join(f.Verdict, ","))
	}
	return q, nil
}
