package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/loki"
	"coroner/rules"
)

// lokiFlags say how a Loki is asked. The selectors' defaults are the streams of
// Grafana's k8s-monitoring.
type lokiFlags struct {
	URL        string `name:"loki" help:"Read from this Loki instead of files, http://HOST:PORT; with --runner one runner, with --all every runner that died." placeholder:"URL"`
	Since      string `help:"With --loki: how far back, a duration (24h) or a time (2026-01-02T15:04:05Z)." default:"24h"`
	Until      string `help:"With --loki: up to when." placeholder:"TIME"`
	Tenant     string `name:"loki-tenant" help:"With --loki: X-Scope-OrgID." placeholder:"ID"`
	User       string `name:"loki-user" help:"With --loki: user for basic authentication; the token file holds the password." placeholder:"NAME"`
	TokenFile  string `name:"loki-token-file" help:"With --loki: file with the token." placeholder:"FILE"`
	Pods       string `name:"loki-pods" help:"With --loki: streams of runner pods." default:"{container=\"runner\"}" placeholder:"SELECTOR"`
	Journal    string `name:"loki-journal" help:"With --loki: streams of the nodes' journals." default:"{job=\"integrations/kubernetes/journal\"}" placeholder:"SELECTOR"`
	NodeLabel  string `name:"loki-node-label" help:"With --loki: label with the node's name in those." default:"instance" placeholder:"LABEL"`
	PodLabel   string `name:"loki-pod-label" help:"With --loki: label with the pod's name." default:"pod" placeholder:"LABEL"`
	Controller string `name:"loki-controller" help:"With --loki: streams of the controller and its listeners." default:"{namespace=~\"arc-systems|actions-runner-system\"}" placeholder:"SELECTOR"`
}

// backfill reads what a Loki has.
type backfill struct {
	flags    *lokiFlags
	client   *loki.Client
	ctx      context.Context
	from, to time.Time
	err      error
	lines    int
	show     func(int) // progress
}

func (f *lokiFlags) start(p *program) (*backfill, error) {
	b := &backfill{flags: f, ctx: context.Background(), client: &loki.Client{URL: f.URL, Header: http.Header{}, HTTP: &http.Client{Timeout: 5 * time.Minute}}}
	if f.Tenant != "" {
		b.client.Header.Set("X-Scope-OrgID", f.Tenant)
	}
	if token := daemon.Token(f.TokenFile); token != nil {
		t, err := token()
		if err != nil {
			return nil, usage("%w", err)
		}
		req := &http.Request{Header: b.client.Header}
		if f.User != "" {
			req.SetBasicAuth(f.User, t)
		} else {
			b.client.Header.Set("Authorization", "Bearer "+t)
		}
	}
	return b, b.span(p.now())
}

func (b *backfill) span(now time.Time) (err error) {
	b.to = now
	if b.flags.Until != "" {
		if b.to, err = lookup.Since(b.flags.Until, now); err != nil {
			return usage("--until %s: want a time like 2026-01-02T15:04:05Z, or a duration back from now", b.flags.Until)
		}
	}
	if b.from, err = lookup.Since(b.flags.Since, now); err != nil {
		return usage("--since %s: want a duration like 24h or 7d, or a time like 2026-01-02T15:04:05Z", b.flags.Since)
	}
	if !b.from.Before(b.to) {
		return usage("--since %s is not before --until", b.flags.Since)
	}
	return nil
}

// runner yields what can bear on one runner: its own output, the controller's
// lines about it, and the whole journal of its node around its life.
func (b *backfill) runner(name string) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		_, short, _ := strings.Cut("/"+name, "/")
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			short = name[i+1:]
		}
		var own []ingest.Entry
		for _, q := range []string{
			with(b.flags.Pods, b.flags.PodLabel+"=~"+strconv.Quote(quoteMeta(short)+".*")),
			b.flags.Controller + " |= " + strconv.Quote(short),
			b.flags.Journal + " |= " + strconv.Quote(short),
		} {
			own = slices.AppendSeq(own, b.query(q, b.from, b.to))
		}
		for i := range own {
			if !yield(own[i]) {
				return
			}
		}
		b.nodes(own, yield)
	}
}

// nodes yields the journals of the nodes that own lines came from.
func (b *backfill) nodes(own []ingest.Entry, yield func(ingest.Entry) bool) {
	var first, last time.Time
	var nodes []string
	for _, e := range own {
		if !e.At.IsZero() && (first.IsZero() || e.At.Before(first)) {
			first = e.At
		}
		if e.At.After(last) {
			last = e.At
		}
		if e.Node != "" && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	from, to := classify.Window(first, last)
	for _, node := range nodes {
		q := with(b.flags.Journal, b.flags.NodeLabel+"=~"+strconv.Quote(quoteMeta(node)+"(:[0-9]+)?"))
		for e := range b.query(q, from, to) {
			if !yield(e) {
				return
			}
		}
	}
}

// all yields everything of the time.
func (b *backfill) all() iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		for _, q := range []string{b.flags.Controller, b.flags.Journal, b.flags.Pods} {
			for e := range b.query(q, b.from, b.to) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (b *backfill) query(q string, from, to time.Time) iter.Seq[ingest.Entry] {
	lines := func(yield func(loki.Line, error) bool) {
		for l, err := range b.client.Lines(b.ctx, q, from, to) {
			if b.lines++; b.show != nil && b.lines%1000 == 0 {
				b.show(b.lines)
			}
			if !yield(l, err) {
				return
			}
		}
	}
	return loki.Entries(lines, func(err error) { b.err = errors.Join(b.err, err) })
}

// with adds a matcher to a stream selector.
func with(selector, matcher string) string {
	head, ok := strings.CutSuffix(strings.TrimSpace(selector), "}")
	if !ok {
		return selector
	}
	if strings.TrimSpace(strings.TrimPrefix(head, "{")) != "" {
		head += ", "
	}
	return head + matcher + "}"
}

// quoteMeta takes the meaning from what a name can hold that a regular
// expression would read.
func quoteMeta(s string) string { return strings.ReplaceAll(s, ".", `\.`) }

// fromLoki explains what a Loki has.
func (c *explainCmd) fromLoki(p *program, form string) error {
	if c.Runner == "" && !c.All {
		return usage("--loki needs --runner NAME, or --all for every runner that died since --since")
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	b, err := c.Loki.start(p)
	if err != nil {
		return err
	}
	clear := b.progress(p)
	entries := b.all()
	if c.Runner != "" {
		entries = b.runner(c.Runner)
	}
	verdicts := classify.Replay(entries, book, classify.Options{Runner: c.Runner, Strict: true})
	clear()
	if b.err != nil {
		return unreadable("%w\nhint: --loki-pods, --loki-journal and --loki-controller say which streams are asked for", b.err)
	}
	return c.backfilled(p, form, b, verdicts)
}

func (b *backfill) progress(p *program) (clear func()) {
	if !p.tty(p.err) {
		return func() {}
	}
	b.show = func(n int) { fmt.Fprintf(p.err, "\r\x1b[K%d lines read from Loki", n) }
	return func() { fmt.Fprint(p.err, "\r\x1b[K") }
}

func (c *explainCmd) backfilled(p *program, form string, b *backfill, verdicts []rules.Verdict) error {
	if b.lines == 0 {
		fmt.Fprintf(p.err, "coroner: Loki has no line of %s between %s and %s; see --since and the --loki-… selectors\n",
			postmortem.Clean(c.Runner), b.from.UTC().Format(time.RFC3339), b.to.UTC().Format(time.RFC3339))
	}
	c.note(p, verdicts, func() []rules.Verdict { return nil })
	return p.verdicts(form, verdicts, c.All && c.Runner != "")
}
