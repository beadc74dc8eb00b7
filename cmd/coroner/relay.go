package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/kubeflags"
	"coroner/cmd/uplink"
	"coroner/ingest/kubewatch"
	"coroner/ingest/relay"
	"coroner/rules/book"
	"coroner/rules/signal"
)

type relayCmd struct {
	daemon.Flags
	uplink.Uplink
	Cluster string `name:"cluster" help:"${relay_cluster}" placeholder:"NAME"`
	kubeflags.Watch
}

// Help is the long help.
func (*relayCmd) Help() string {
	return `coroner relay watches the Kubernetes API of one cluster, as coroner serve does with
--kube.namespace, for a server elsewhere: that needs no kubeconfig then. The server has the
relay's token in --push.relay-token-file CLUSTER=FILE, and takes from it what the Kubernetes
API says and nothing else. Two relays of one cluster may run; the server files once what both say.`
}

// Run relays until it is told to stop.
func (c *relayCmd) Run(p *program) error {
	d := daemon.New(&c.Flags, c.Logger(p.err, p.tty(p.err)))
	r, err := c.open(d, p.now)
	if err == nil {
		err = d.Open()
	}
	if err != nil {
		return usage("%w", err)
	}
	d.Log.Info().Str("server", c.Server).Str("address", d.Addr()).Msg("coroner relays the Kubernetes API")
	d.Notes = r.Notes
	d.Ready()
	return d.Run(context.Background(), r.Run)
}

func (c *relayCmd) open(d *daemon.Daemon, now func() time.Time) (*relay.Relay, error) {
	if !c.Watches() {
		return nil, errors.New("nothing is watched: give --kube.namespace NS or --kube.nodes")
	}
	secrets, bad := signal.Load(book.Files)
	sender, wrong := c.Sender("", c.Cluster)
	config, watch, err := c.Watch.Open(kubewatch.Options{Now: now, Log: d.Log})
	if err := cmp.Or(c.Watch.Check(), bad, wrong, err); err != nil {
		return nil, err
	}
	return relay.New(config, relay.Options{
		Options: watch, Server: c.Address(), Sender: sender, Book: secrets, Cluster: c.Cluster}, d.Registry)
}
