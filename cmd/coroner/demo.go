package main

import (
	"cmp"
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

	"coroner/classify/ledger"
	"coroner/classify/postmortem"
	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/rules"
)

type demoCmd struct {
	Listen string `name:"web.listen-address" help:"Address of the demo's server." default:"127.0.0.1:9095"`
	Once   bool   `help:"End after the table instead of serving until Ctrl-C."`
	Full   bool   `help:"Show every post-mortem in place of the table."`
}

// Help is shown by coroner demo --help.
func (demoCmd) Help() string {
	return `Starts the live system on this machine, with a ledger in a temporary folder, and sends it
the incidents that coroner ships with, as agents would. The deaths are moved into the last
24 hours. Each run tells the same.`
}

// Run starts a server, replays the incidents to it and shows what it says.
func (c *demoCmd) Run(p *program) error {
	fmt.Fprintln(p.out, "coroner demo: the incidents that coroner ships with, as deaths of the last 24 hours")
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
	if err == nil && !c.Once && ctx.Err() == nil {
		fmt.Fprintf(p.out, "\nThe web page:  http://%[2]s/\nLook one up:   bin/coroner lookup %[1]s --server http://%[2]s\nMetrics:       http://%[2]s/metrics\nCtrl-C ends it.\n", d.example, s.daemon.Addr())
		<-ctx.Done()
	}
	cancel()
	return errors.Join(err, <-served)
}

// server is what coroner serve runs, with short waits: the incidents are over.
func (c *demoCmd) server(ledger string, p *program) (*server, error) {
	const ever = 10 * 365 * 24 * time.Hour
	cmd := &serveCmd{Flags: daemon.Flags{Listen: c.Listen, LogLevel: "error", LogFormat: "console", Stop: 5 * time.Second},
		Ledger: ledger, Settle: time.Second, Deadline: 3 * time.Second, NodeSilent: ever, KeepEvidence: ever, KeepVerdicts: ever}
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
	example string                                      // a runner to look up
}

// step is how many stories are between two lines of progress.
const step = 20

// play sends the stories, waits for the verdicts, and shows them.
func (d *demo) play(ctx context.Context) error {
	all, err := stories(d.book, d.p.now())
	if err != nil {
		return unreadable("%w", err)
	}
	fmt.Fprintf(d.p.out, "%d runners died; what their nodes and controllers wrote goes to a server on this machine\n", len(all))
	for i, s := range all {
		if err := d.send(ctx, s); err != nil && ctx.Err() == nil {
			return unreadable("sending the incident %s: %w", s.name, err)
		}
		if ctx.Err() != nil {
			return nil
		}
		if (i+1)%step == 0 || i+1 == len(all) {
			fmt.Fprintf(d.p.out, "sent %d of %d\n", i+1, len(all))
		}
	}
	return d.wait(ctx, all)
}

// wait waits until no case is pending any more.
func (d *demo) wait(ctx context.Context, all []story) error {
	fmt.Fprintln(d.p.out, "waiting for the last verdicts")
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for ctx.Err() == nil {
		pending, err := d.ledger.Pending(ctx, d.p.now().Add(time.Hour), 0)
		if err != nil && ctx.Err() == nil {
			return unreadable("%w", err)
		}
		if err == nil && len(pending) == 0 {
			return d.show(ctx, all)
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return nil
}

// send pushes one story as the agents of its nodes would: first what they read and
// that the runner's log ended, then how far they have read, so that the case is
// judged once. The rest, such as what the API server says, the server gets as if
// it had heard it itself.
func (d *demo) send(ctx context.Context, s story) error {
	of, nodes := map[string][]ingest.Entry{}, []string{}
	var own []ingest.Entry // what no agent reads, or nobody says of which node
	for _, e := range s.entries {
		if e.Node == "" || (push.Identity{Node: e.Node, Agent: true}).May(&e) != nil {
			own = append(own, e)
			continue
		}
		of[e.Node] = append(of[e.Node], e)
	}
	for _, e := range s.entries {
		if e.Node != "" && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	slices.Sort(nodes)
	err := d.receive(ctx, own)
	for _, node := range nodes {
		if len(of[node]) > 0 {
			err = errors.Join(err, d.push(ctx, node, of[node]))
		}
	}
	now := d.p.now()
	for _, node := range nodes {
		read := ingest.Entry{Node: node, At: now, Clock: ingest.WallClock, Source: ingest.Agent, Mark: &ingest.Mark{Kind: ingest.Reached, To: now}}
		err = errors.Join(err, d.push(ctx, node, []ingest.Entry{read}))
	}
	return err
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

// show prints the verdicts, the latest death first, and how many there are of
// each label.
func (d *demo) show(ctx context.Context, all []story) error {
	records, err := d.ledger.Verdicts(ctx, ledger.Query{Limit: 1000})
	if err != nil {
		return unreadable("%w", err)
	}
	if len(records) == 0 {
		return unreadable("no verdict came")
	}
	table := make([]rules.Verdict, 0, len(records))
	for _, r := range records {
		table = append(table, r.Verdict)
	}
	slices.SortStableFunc(table, func(a, b rules.Verdict) int {
		return cmp.Or(died(&b).Compare(died(&a)), strings.Compare(a.Runner, b.Runner))
	})
	d.example = table[0].Runner
	for _, v := range table {
		if v.Label == rules.CgroupOOM {
			d.example = v.Runner
			break
		}
	}
	fmt.Fprintln(d.p.out)
	if err := d.list(table); err != nil {
		return err
	}
	return d.summary(table, len(all))
}

// died is when the runner did; what never ended comes last.
func died(v *rules.Verdict) time.Time {
	if v.DiedAt == nil {
		return time.Time{}
	}
	return *v.DiedAt
}

// list prints a line for each verdict, or its post-mortem.
func (d *demo) list(table []rules.Verdict) error {
	if !d.cmd.Full {
		return postmortem.List(d.p.out, table, width(d.p.out))
	}
	for i := range table {
		if err := postmortem.Write(d.p.out, &table[i], postmortem.Style{Color: d.p.color, Width: width(d.p.out)}); err != nil {
			return err
		}
	}
	return nil
}

// summary is how many verdicts there are of each label.
func (d *demo) summary(table []rules.Verdict, sent int) error {
	fmt.Fprintf(d.p.out, "\n%-24s %9s %8s %9s\n", "VERDICT", "CONFIRMED", "PROBABLE", "SUSPECTED")
	for _, label := range rules.Labels {
		count := map[rules.Confidence]int{}
		for _, v := range table {
			if v.Label == label {
				count[v.Confidence]++
			}
		}
		if len(count) > 0 {
			fmt.Fprintf(d.p.out, "%-24s %9d %8d %9d\n", label, count[rules.Confirmed], count[rules.Probable], count[rules.Suspected])
		}
	}
	_, err := fmt.Fprintf(d.p.out, "\n%d incidents sent, %d verdicts. Yours: coroner explain PATH…, or coroner serve and coroner-agent\n", sent, len(table))
	return err
}
