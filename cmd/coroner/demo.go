package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coroner/classify/demo"
	"coroner/classify/ledger"
	"coroner/classify/postmortem"
	"coroner/cmd/caseflags"
	"coroner/cmd/console"
	"coroner/cmd/daemon"
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
	clock := demo.NewClock(p.now)
	s, err := c.server(filepath.Join(dir, "ledger.db"), p, clock.Now)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1) // the server's end
	go func() { served <- s.runParts(ctx) }()
	err = c.play(ctx, p, s, clock)
	cancel()
	return errors.Join(err, <-served)
}

// play sends the incidents, shows the verdicts, and lets the server run on until it is
// told to stop.
func (c *demoCmd) play(ctx context.Context, p *program, s *server, clock *demo.Clock) error {
	address := s.daemon.Addr()
	player := &demo.Player{
		Ledger:  s.ledger,
		Book:    s.docket.Book(),
		Sender:  &push.Sender{URL: "http://" + address + push.Path, Client: &http.Client{Timeout: 10 * time.Second}},
		Receive: s.docket.Receive,
		Out:     p.out,
		Now:     clock.Now,
		Told:    clock.CatchUp,
	}
	sent, err := player.Play(ctx)
	if err != nil {
		return unreadable("%w", err)
	}
	if ctx.Err() != nil {
		return nil
	}
	example, err := c.show(ctx, p, s.ledger, sent)
	if err == nil && !c.Once && ctx.Err() == nil {
		fmt.Fprintf(p.out, "\nThe web page:  http://%s/\n", address)
		fmt.Fprintf(p.out, "Look one up:   bin/coroner lookup %s --server http://%s\n", example, address)
		fmt.Fprintf(p.out, "Metrics:       http://%s/metrics\nCtrl-C ends it.\n", address)
		<-ctx.Done()
	}
	return err
}

// server is what coroner serve runs, with short waits: the incidents are over.
func (c *demoCmd) server(ledger string, p *program, now func() time.Time) (*server, error) {
	const ever = 10 * 365 * 24 * time.Hour
	cmd := &serveCmd{
		Flags:  daemon.Flags{Listen: c.Listen, LogLevel: "error", LogFormat: "console", Stop: 5 * time.Second},
		Ledger: ledger,
		Cases: caseflags.Cases{Settle: time.Second, Deadline: 3 * time.Second, NodeSilent: ever, JobWait: ever,
			JobMost: ever, PoolSilent: ever},
		Retention: caseflags.Retention{Evidence: ever, Verdicts: ever, Completed: ever},
	}
	s, err := cmd.open(cmd.Logger(p.err, p.tty(p.err)), now)
	if err != nil {
		return nil, usage("%w\nhint: --web.listen-address 127.0.0.1:0 takes any free port", err)
	}
	return s, nil
}

// show prints the verdicts, the latest death first, and how many there are of
// each label. It returns a runner to look up.
func (c *demoCmd) show(ctx context.Context, p *program, l *ledger.Ledger, sent int) (example string, err error) {
	records, err := l.Verdicts(ctx, ledger.Query{Limit: 1000})
	if err != nil {
		return "", unreadable("%w", err)
	}
	if len(records) == 0 {
		return "", unreadable("no verdict came")
	}
	table := make([]rules.Verdict, 0, len(records))
	for _, r := range records {
		table = append(table, r.Verdict)
	}
	slices.SortStableFunc(table, func(a, b rules.Verdict) int {
		return cmp.Or(diedAt(&b).Compare(diedAt(&a)), strings.Compare(a.Runner, b.Runner))
	})
	example = table[0].Runner
	for _, v := range table {
		if v.Label == rules.CgroupOOM {
			example = v.Runner
			break
		}
	}
	fmt.Fprintln(p.out)
	if err := c.list(p, table); err != nil {
		return "", err
	}
	return example, summary(p.out, table, sent)
}

// diedAt is when the runner did; what never ended comes last.
func diedAt(v *rules.Verdict) time.Time {
	if v.DiedAt == nil {
		return time.Time{}
	}
	return *v.DiedAt
}

// list prints a line for each verdict, or its post-mortem.
func (c *demoCmd) list(p *program, table []rules.Verdict) error {
	if !c.Full {
		return postmortem.List(p.out, table, console.Width(p.out))
	}
	style := postmortem.Style{Color: p.color, Width: console.Width(p.out)}
	for i := range table {
		if err := postmortem.Write(p.out, &table[i], style); err != nil {
			return err
		}
	}
	return nil
}

// summary prints how many verdicts there are of each label.
func summary(out io.Writer, table []rules.Verdict, sent int) error {
	fmt.Fprintln(out)
	if err := postmortem.Tally(out, table); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d incidents sent, %d verdicts. "+
		"Yours: coroner explain PATH…, or coroner serve and coroner-agent\n", sent, len(table))
	return err
}
