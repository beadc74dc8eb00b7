// Command coroner-agent is package ingest/agent with flags and endpoints.
//
// Invariant: it keeps no state of its own.
//
// Crash behaviour: that of package ingest/agent.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/cmd/uplink"
	"coroner/deploy/chart"
	"coroner/ingest/agent"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

type cli struct {
	daemon.Flags
	Node string `name:"node" help:"${agent_node}" placeholder:"NAME"`
	uplink.Uplink
	Cluster string `name:"cluster" help:"${agent_cluster}" placeholder:"NAME"`

	Reading
	Sending

	Version kong.VersionFlag `help:"Print the version."`
}

// Reading is what of the node is read.
type Reading struct {
	Journal    []string      `name:"journal" help:"${agent_journal}" default:"${journals}" placeholder:"DIR"`
	Pods       string        `name:"pods" help:"Folder of the pods' logs." default:"${pods}" placeholder:"DIR"`
	Follow     []string      `name:"follow" help:"${agent_follow}" default:"${follow}" placeholder:"GLOB"`
	Controller []string      `name:"controller" help:"${agent_controller}" default:"${controllers}" placeholder:"GLOB"`
	MaxAge     time.Duration `name:"max-age" help:"${agent_max_age}" default:"${max_age}"`
	Last       int           `name:"last-lines" help:"${agent_last_lines}" default:"${last_lines}"`
}

// Sending is what is kept until the server has it, and when it is sent.
type Sending struct {
	State     string        `name:"state" help:"${agent_state}" default:"/var/lib/coroner-agent" placeholder:"DIR"`
	SpoolSize int64         `name:"spool.max-bytes" type:"size" help:"${agent_spool}" default:"512MiB"`
	Batch     time.Duration `name:"batch-interval" help:"${agent_batch}" default:"500ms"`
	Idle      time.Duration `name:"idle-interval" help:"${agent_idle}" default:"5s"`
	Rulebook  time.Duration `name:"rulebook-interval" help:"${agent_rulebook}" default:"1m"`
}

// defaults are what the flags have from package agent.
func defaults() kong.Vars {
	d := agent.Defaults()
	return kong.Vars{
		"controllers": strings.Join(d.Controller, ","),
		"follow":      strings.Join(d.Follow, ","),
		"journals":    strings.Join(d.Journal, ","),
		"pods":        d.Pods,
		"max_age":     units.Text(d.MaxAge),
		"last_lines":  strconv.Itoa(d.LastLines),
	}
}

// vars are the texts of the flags that are too long for their tags.
var vars = kong.Vars{
	"listen": ":9096",

	"agent_node": "Name of this node, as Kubernetes has it (spec.nodeName). Default: the host's name, in " +
		"small letters.",
	"agent_cluster": "Name of this node's cluster. Default: that of the token, else the server's own.",
	"agent_journal": "Journal folders, tried in this order.",
	"agent_follow":  "Glob NAMESPACE/POD/CONTAINER of the logs to follow; may be given several times.",
	"agent_controller": "Glob NAMESPACE/POD of the controllers' and listeners' pods, as coroner serve has it; " +
		"may be given several times. They are followed too. One that says more of the pod than " +
		"* makes a controller of what it fits, whatever it is called.",
	"agent_max_age":    "How far a first start, and a changed rulebook, looks back.",
	"agent_last_lines": "How many of a container's last lines are sent when it ends or falls silent.",
	"agent_state":      "Folder for the spool and the positions.",
	"agent_spool":      "Largest size of the spool; beyond, context goes first, then the oldest evidence.",
	"agent_batch":      "Time between two pushes while there is something to send.",
	"agent_idle":       "Time between two pushes that only say how far the node was read.",
	"agent_rulebook":   "How often the server is asked for its rulebook.",
}

// memoryGoal is what the garbage collector aims to stay under, when much is read
// at once.
const memoryGoal = 96 << 20

// modest makes the program a small one: the node is there for others. What a node
// writes is read with a part of one processor, and to wake more of them for that
// costs more than it saves. The environment can say otherwise.
func modest() {
	daemon.AimAtMemory(memoryGoal)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	daemon.CollectAt(400) // reading the rulebook leaves a few MB, once
}

func main() {
	modest()
	var c cli
	var origins daemon.Origins
	parser, err := newParser(&c, &origins)
	if err == nil {
		_, err = parser.Parse(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "coroner-agent: %s\nhint: coroner-agent --help\n", origins.Explain(err))
		os.Exit(2)
	}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "coroner-agent: %s\n", origins.Explain(err))
		var wrong usageError
		if errors.As(err, &wrong) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// newParser reads the command line into c.
func newParser(c *cli, origins *daemon.Origins) (*kong.Kong, error) {
	return kong.New(
		c,
		kong.Name("coroner-agent"),
		origins,
		units.Option(),
		daemon.HelpValues(),
		kong.Description(
			"coroner-agent sends what a node's journal and runners say of dying runners to coroner serve.",
		),
		daemon.Vars, uplink.Vars, vars, defaults(),
		kong.Vars{"version": "coroner-agent " + chart.Build()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
}

// usageError is a mistake in the configuration.
type usageError struct{ error }

// run opens everything and runs until it is told to stop.
func (c *cli) run(ctx context.Context) error {
	d, a, err := c.open()
	if err != nil {
		return usageError{err}
	}
	d.Log.Info().
		Str("server", c.Server).
		Str("address", d.Addr()).
		Str("rulebook", a.RulebookHash()).
		Msg("coroner-agent follows the node")
	d.Ready()
	daemon.CollectAt(50)
	debug.FreeOSMemory() // of what the start took nearly all is done with
	err = d.Run(ctx, a.Run)
	d.Log.Info().Msg("coroner-agent stopped")
	return err
}

// open checks the flags, opens the spool and listens.
func (c *cli) open() (*daemon.Daemon, *agent.Agent, error) {
	if c.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, nil, daemon.Wrong("node", "%w", err)
		}
		c.Node = strings.ToLower(name) // as the kubelet does
	}
	if err := errors.Join(c.Reading.check(), c.Sending.check()); err != nil {
		return nil, nil, err
	}
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	d := daemon.New(&c.Flags, c.Logger(os.Stderr, terminal).With().Str("node", c.Node).Logger())
	a, err := c.agent(d)
	if err == nil {
		err = d.Open()
	}
	return d, a, err
}

// check refuses values that no run could use.
func (f *Reading) check() error {
	return errors.Join(
		daemon.CheckGlobs("follow", f.Follow),
		daemon.CheckGlobs("controller", f.Controller),
		daemon.CheckNumber("max-age", f.MaxAge),
		daemon.CheckNumber("last-lines", f.Last),
	)
}

// check refuses values that no run could use.
func (f *Sending) check() error {
	return errors.Join(
		daemon.CheckNumber("spool.max-bytes", f.SpoolSize),
		daemon.CheckAbove("batch-interval", f.Batch),
		daemon.CheckAbove("idle-interval", f.Idle),
		daemon.CheckAbove("rulebook-interval", f.Rulebook),
	)
}

// agent makes the agent that the flags describe.
func (c *cli) agent(d *daemon.Daemon) (*agent.Agent, error) {
	sender, err := c.Sender(c.Node, c.Cluster)
	if err != nil {
		return nil, err
	}
	a, err := agent.New(agent.Config{
		Node: c.Node, Cluster: c.Cluster, Journal: c.Journal, Pods: c.Pods, Follow: c.Follow, Controller: c.Controller,
		MaxAge: c.MaxAge, LastLines: c.Last,
		Spool:    agent.Spool{Dir: c.State, MaxBytes: c.SpoolSize, Batch: c.Batch, Idle: c.Idle},
		Rulebook: agent.Rulebook{URL: c.Address() + daemon.RulebookPath, Interval: c.Rulebook},
		Sender:   sender,
	}, d.Log, d.Registry)
	if err != nil { // it opens nothing else
		return nil, daemon.WrongValue("state", c.State, "%w", err)
	}
	return a, nil
}
