// Command coroner-agent runs on every node: it follows the node's journal and
// the output of runner and controller pods, keeps the lines that the rulebook
// recognises, and sends them to coroner serve.
//
// Invariant: a source's position is stored only after everything up to it is
// on disk in the spool or with the server, and nothing leaves the spool before
// the server has it, so no recognised line is lost by a stop of either. Every
// line that is not sent is counted by reason.
//
// Crash behaviour: started again, it goes on at the stored positions; what was
// sent twice the server keeps once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"coroner/cmd/daemon"
	"coroner/deploy/chart"
	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"

	"github.com/alecthomas/kong"
)

type cli struct {
	daemon.Flags
	Node   string `name:"node" help:"Name of this node, as Kubernetes has it (spec.nodeName). Default: the host's name." placeholder:"NAME"`
	Server string `name:"server.url" help:"Address of coroner serve." default:"http://127.0.0.1:9095" placeholder:"URL"`
	Token  string `name:"server.token-file" help:"File with the token for the server, read at each use." placeholder:"FILE"`
	CA     string `name:"server.ca-file" help:"Certificate authority of the server. Default: the system's." placeholder:"FILE"`
	Cert   string `name:"server.cert-file" help:"Client certificate, for mutual TLS." placeholder:"FILE"`
	Key    string `name:"server.key-file" help:"Its key." placeholder:"FILE"`

	Name    string `name:"server.name" help:"Name in the server's certificate, where the address has another." placeholder:"NAME"`
	Cluster string `name:"cluster" help:"Name of this node's cluster. Default: that of the token, else the server's own." placeholder:"NAME"`

	Journal    []string      `name:"journal" help:"Journal folders, tried in this order." default:"${journals}" placeholder:"DIR"`
	Pods       string        `name:"pods" help:"Folder of the pods' logs." default:"/var/log/pods" placeholder:"DIR"`
	Follow     []string      `name:"follow" help:"Glob NAMESPACE/POD/CONTAINER of the logs to follow; may be given several times." default:"${follow}" placeholder:"GLOB"`
	Controller []string      `name:"controller" help:"Glob NAMESPACE/POD of the controllers' and listeners' pods, as coroner serve has it; may be given several times. They are followed too. One that says more of the pod than * makes a controller of what it fits, whatever it is called." default:"arc-systems/*,actions-runner-system/*" placeholder:"GLOB"`
	MaxAge     time.Duration `name:"max-age" help:"How far a first start, and a changed rulebook, looks back." default:"4h"`
	Last       int           `name:"last-lines" help:"How many of a container's last lines are sent when it ends or falls silent." default:"10"`

	State     string        `name:"state" help:"Folder for the spool and the positions." default:"/var/lib/coroner-agent" placeholder:"DIR"`
	SpoolSize int64         `name:"spool.max-bytes" help:"Largest size of the spool; beyond, context goes first, then the oldest evidence." default:"536870912"`
	Batch     time.Duration `name:"batch-interval" help:"Time between two pushes while there is something to send." default:"500ms"`
	Idle      time.Duration `name:"idle-interval" help:"Time between two pushes that only say how far the node was read." default:"5s"`
	Rulebook  time.Duration `name:"rulebook-interval" help:"How often the server is asked for its rulebook." default:"1m"`

	Version kong.VersionFlag `help:"Print the version."`
}

// follow are the logs that are followed when nothing else is said: runners,
// and the pods of the usual controllers.
var follow = "*/*/runner,*/*-runner-*/*,arc-systems/*/*,actions-runner-system/*/*,*/*-listener/*,*/*gha-rs-controller*/*"

// memoryGoal is what the garbage collector aims to stay under, when much is read
// at once.
const memoryGoal = 96 << 20

// modest makes the program a small one: the node is there for others. What a node
// writes is read with a part of one processor, and to wake more of them for that
// costs more than it saves. The environment can say otherwise.
func modest() {
	debug.SetMemoryLimit(memoryGoal)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	collect(400) // reading the rulebook leaves a few MB, once
}

// collect says how much garbage there may be, in percent of what is in use.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func main() {
	modest()
	var c cli
	kong.Parse(&c, kong.Name("coroner-agent"), kong.Configuration(daemon.Config), daemon.Environment(),
		kong.Description("coroner-agent sends what a node's journal and runners say of dying runners to coroner serve."),
		kong.Vars{"version": "coroner-agent " + chart.Build(), "listen": ":9096", "journals": "/var/log/journal,/run/log/journal", "follow": follow},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "coroner-agent: %v\n", err)
		var wrong usageError
		if errors.As(err, &wrong) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is a mistake in the configuration.
type usageError struct{ error }

// run checks the flags, opens the spool and runs until it is told to stop.
func (c *cli) run(ctx context.Context) error {
	if c.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return usageError{fmt.Errorf("--node: %w", err)}
		}
		c.Node = name
	}
	for _, glob := range append(slices.Clone(c.Follow), c.Controller...) {
		if _, err := filepath.Match(glob, ""); err != nil {
			return usageError{fmt.Errorf("--follow, --controller %s: %w", glob, err)}
		}
	}
	d := daemon.New(&c.Flags, c.Logger(os.Stderr).With().Str("node", c.Node).Logger())
	a, err := newAgent(c, d)
	if err != nil {
		return usageError{err}
	}
	if err := d.Open(); err != nil {
		return usageError{err}
	}
	d.Log.Info().Str("server", c.Server).Str("address", d.Addr()).Str("rulebook", a.book.Load().Hash).Msg("coroner-agent follows the node")
	d.Ready()
	collect(50)
	debug.FreeOSMemory() // of what the start took nearly all is done with
	err = d.Run(ctx, a.run)
	d.Log.Info().Msg("coroner-agent stopped")
	return err
}

// wanted says whether a container's log is followed.
func (c *cli) wanted(namespace, pod, container string) bool {
	for _, glob := range c.Follow {
		if hit, _ := filepath.Match(glob, namespace+"/"+pod+"/"+container); hit {
			return true
		}
	}
	return ingest.PodGlobs(c.Controller).Fit(namespace, pod)
}

func (a *agent) journal(cursor string, since time.Time) *journal.Reader {
	return journal.New(journal.Config{Dirs: a.c.Journal, Node: a.c.Node, Cursor: cursor, Since: since, MaxAge: a.c.MaxAge, Wanted: a.wanted, Log: a.log})
}

func (a *agent) pods(resume []podlog.Position) *podlog.Reader {
	return podlog.New(podlog.Config{Dir: a.c.Pods, Node: a.c.Node, Want: a.c.wanted, Next: a.next, Controller: ingest.PodGlobs(a.c.Controller).Name, Resume: resume, MaxAge: a.c.MaxAge, LastLines: a.c.Last, Log: a.log})
}
