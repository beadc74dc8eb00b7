package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coroner/classify"
	"coroner/classify/docket"
	"coroner/classify/ledger"
	"coroner/classify/postmortem"
	"coroner/cmd/daemon"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/ingest/push"
	"coroner/rules"
)

type demoCmd struct {
	Listen string `name:"web.listen-address" help:"Address of the demo's server." default:"127.0.0.1:9095"`
	Once   bool   `help:"End after the table instead of serving until Ctrl-C."`
	Full   bool   `help:"Show every post-mortem as it comes."`
}

// Help is shown by coroner demo --help.
func (demoCmd) Help() string {
	return `Starts the live system on this machine, with a ledger in a temporary folder, and sends it
the incidents that coroner ships with, as agents would.`
}

// Run starts a server, replays the incidents to it and shows what it says.
func (c *demoCmd) Run(p *program) error {
	dir, err := os.MkdirTemp("", "coroner-demo-")
	if err != nil {
		return unreadable("%w", err)
	}
	defer os.RemoveAll(dir)
	s, err := c.server(filepath.Join(dir, "ledger.db"), p)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1) // the server's end
	go func() { served <- s.run(ctx) }()
	d := &demo{cmd: c, p: p, ledger: s.ledger, book: s.docket.Book(), receive: s.docket.Receive,
		sender: &push.Sender{URL: "http://" + s.daemon.Addr() + push.Path, Client: &http.Client{Timeout: 10 * time.Second}}}
	err = d.play(ctx)
	if err == nil && !c.Once {
		fmt.Fprintf(p.out, "\nThe web page:  http://%[2]s/?verdict=all\nLook one up:   bin/coroner lookup %[1]s --server http://%[2]s\nMetrics:       http://%[2]s/metrics\nCtrl-C ends it.\n", d.example, s.daemon.Addr())
		<-ctx.Done()
	}
	cancel()
	return errors.Join(err, <-served)
}

// server is what coroner serve runs, with short waits: the incidents are over.
func (c *demoCmd) server(ledger string, p *program) (*server, error) {
	cmd := &serveCmd{Flags: daemon.Flags{Listen: c.Listen, LogLevel: "error", LogFormat: "console", Stop: 5 * time.Second},
		Ledger: ledger, Settle: time.Second, Deadline: 3 * time.Second, NodeSilent: time.Hour, KeepEvidence: 10 * 365 * 24 * time.Hour, KeepVerdicts: 10 * 365 * 24 * time.Hour}
	s, err := cmd.open(cmd.Logger(p.err), p.now)
	if err != nil {
		return nil, usage("%w\nhint: --web.listen-address 127.0.0.1:0 takes any free port", err)
	}
	return s, nil
}

// demo is one run.
type demo struct {
	cmd     *demoCmd
	p       *program
	ledger  *ledger.Ledger
	book    *rules.Rulebook
	sender  *push.Sender
	receive func(context.Context, []ingest.Entry) error // for what the server hears itself
	shown   map[string]bool
	table   []rules.Verdict
	example string // a runner to look up
}

// play sends the incidents and shows the verdicts as they come.
func (d *demo) play(ctx context.Context) error {
	incidents, err := fixtures.All()
	if err != nil {
		return err
	}
	d.shown = map[string]bool{}
	sent := 0
	for _, in := range incidents {
		ok, err := d.send(ctx, in)
		if err != nil && ctx.Err() == nil {
			return unreadable("sending the incident %s: %w", in.Name, err)
		}
		if ok {
			sent++
		}
		if err := d.show(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return d.wait(ctx, sent)
}

// wait shows verdicts until no case is pending any more.
func (d *demo) wait(ctx context.Context, sent int) error {
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for ctx.Err() == nil {
		pending, err := d.ledger.Pending(ctx, d.p.now().Add(time.Hour), 0)
		if err == nil {
			err = d.show(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return unreadable("%w", err)
		}
		if len(pending) == 0 {
			return d.summary(sent)
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return nil
}

// send pushes one incident as the agents of its nodes would: what they read,
// that the runner's log ended, and how far they have read. The rest, such as what
// the API server says, the server gets as if it had heard it itself. Incidents whose
// records do not say whose they are stay for explain: ok is false.
func (d *demo) send(ctx context.Context, in fixtures.Incident) (ok bool, err error) {
	entries := slices.Collect(bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil))
	runner := classify.Replay(slices.Values(entries), d.book, classify.Options{Runner: in.Want.Runner})[0].Runner
	if runner == "" || slices.ContainsFunc(entries, docket.Nameless) {
		return false, nil
	}
	nodes := map[string]bool{}
	for i := range entries {
		if e := &entries[i]; e.Node != "" {
			nodes[e.Node] = true
		}
	}
	now := d.p.now()
	if i := slices.IndexFunc(entries, func(e ingest.Entry) bool { return e.Pod == runner }); i >= 0 {
		e := entries[i]
		entries = append(entries, ingest.Entry{Source: ingest.Runner, Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID, Mark: &ingest.Mark{Kind: ingest.Ended}})
	}
	of := map[string][]ingest.Entry{}
	for node := range nodes {
		of[node] = []ingest.Entry{{Node: node, At: now, Clock: ingest.WallClock, Source: ingest.Agent,
			Mark: &ingest.Mark{Kind: ingest.Reached, To: now}}}
	}
	var own []ingest.Entry // what no agent reads, or nobody says of which node
	for _, e := range entries {
		if e.Node != "" && (push.Identity{Node: e.Node, Agent: true}).May(&e) == nil {
			of[e.Node] = append(of[e.Node], e)
		} else {
			own = append(own, e)
		}
	}
	err = d.receive(ctx, own)
	for node, its := range of {
		err = errors.Join(err, d.push(ctx, node, its))
	}
	return true, err
}

// push sends entries as a node's agent.
func (d *demo) push(ctx context.Context, node string, entries []ingest.Entry) error {
	body, err := push.Encode(entries)
	if err != nil {
		return err
	}
	d.sender.Node = node
	return d.sender.Post(ctx, body)
}

// show prints the verdicts that are new.
func (d *demo) show(ctx context.Context) error {
	records, err := d.ledger.Verdicts(ctx, ledger.Query{Limit: 1000})
	if err != nil || ctx.Err() != nil {
		return nil // it is being stopped
	}
	for _, r := range slices.Backward(records) {
		if d.shown[r.Case] {
			continue
		}
		d.shown[r.Case] = true
		d.table = append(d.table, r.Verdict)
		if err := d.one(&r.Verdict); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) one(v *rules.Verdict) error {
	if v.Label == rules.CgroupOOM || d.example == "" {
		d.example = v.Runner
	}
	if d.cmd.Full {
		return postmortem.Write(d.p.out, v, postmortem.Style{Color: d.p.color, Width: width(d.p.out)})
	}
	_, err := fmt.Fprintf(d.p.out, "%-24s %-10s %s\n", v.Label, v.Confidence, postmortem.Clean(strings.TrimPrefix(v.Namespace+"/"+v.Runner, "/")))
	return err
}

// summary is how many verdicts there were of each label.
func (d *demo) summary(sent int) error {
	fmt.Fprintf(d.p.out, "\n%-24s %9s %8s %9s\n", "VERDICT", "CONFIRMED", "PROBABLE", "SUSPECTED")
	for _, label := range rules.Labels {
		count := map[rules.Confidence]int{}
		for _, v := range d.table {
			if v.Label == label {
				count[v.Confidence]++
			}
		}
		if len(count) > 0 {
			fmt.Fprintf(d.p.out, "%-24s %9d %8d %9d\n", label, count[rules.Confirmed], count[rules.Probable], count[rules.Suspected])
		}
	}
	_, err := fmt.Fprintf(d.p.out, "\n%d incidents sent, %d verdicts. Yours: coroner explain PATH…, or coroner serve and coroner-agent\n", sent, len(d.table))
	if len(d.table) == 0 {
		return errors.Join(err, unreadable("no verdict came"))
	}
	return err
}
