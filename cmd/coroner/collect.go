package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/collect"
	"coroner/cmd/helptext"
	"coroner/cmd/listforms"
)

type collectCmd struct {
	What []string `arg:"" optional:"" name:"runner" help:"${collect_what}" complete:"runners"`
	collect.Flags
	NoExplain bool `name:"no-explain" help:"Only collect."`
	All       bool `help:"${lookup_all}"`
}

// Help is shown by coroner collect --help.
func (collectCmd) Help() string {
	return `Examples:
  coroner collect amber-4kx2p -n arc-runners         # a bundle in a folder, and what it says
  coroner collect pod/amber-4kx2p -A --context prod  # in whatever namespace it is
  coroner collect -A -o bundle.tar.gz --no-explain   # all runners that there are
  kubectl coroner amber-4kx2p                        # asks the server in the cluster, else collects`
}

// Run collects a bundle and explains it.
func (c *collectCmd) Run(p *program) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	note := func(text string) { fmt.Fprintf(p.err, "coroner: not collected: %s\n", postmortem.Clean(text)) }
	where, err := c.Bundle(ctx, c.What, p.now(), note)
	switch {
	case collect.IsUsage(err):
		return usage("%w", err)
	case err != nil:
		return unreadable("%w", err)
	}
	fmt.Fprintf(p.err, "coroner: collected into %s; read it before you hand it on\n", where)
	if c.NoExplain {
		return nil
	}
	e := explainCmd{All: c.All}
	e.Paths = []string{where}
	return e.Run(p)
}

// inCluster is a lookup at the server in the cluster that the kubeconfig names, with the headers
// that a person told, as a token; ok is false where there is none, and said why.
func (c *lookupCmd) inCluster(p *program, told http.Header) (client *lookup.Client, ok bool, err error) {
	api, err := c.Kube.Connect()
	if err != nil {
		return nil, false, usage("%w", err)
	}
	address, asking, err := api.Server(context.Background())
	if err != nil || address == "" {
		if err == nil {
			err = errors.New("no Service of coroner serve is in the cluster")
		}
		fmt.Fprintf(p.err, "coroner: %v; what the API still has is collected instead\n", err)
		return nil, false, nil
	}
	c.Server = address
	return &lookup.Client{Server: address, Header: told, HTTP: asking}, true, nil
}

// asksCluster says whether the server is one to be found in a cluster: a plugin of kubectl
// does that, unless it is told where the server is.
func (c *lookupCmd) asksCluster(p *program) bool {
	_, told := os.LookupEnv("CORONER_SERVER")
	return c.Kube.Kubeconfig != "" || c.Kube.Context != "" || p.plugin && !told && c.Server == helptext.Vars["server"]
}

// collectAfter collects because the server did not answer, or knows nobody of the name.
func (c *lookupCmd) collectAfter(p *program, err error) error {
	if err == nil {
		err = errors.New("the server in the cluster does not know it")
	} else {
		err = c.requestError(err)
	}
	fmt.Fprintf(p.err, "coroner: %v; what the API still has is collected instead\n", err)
	return c.collect(p)
}

// collect does without a server.
func (c *lookupCmd) collect(p *program) error {
	page := !c.JSON && !c.Incident && (c.Output == "" || c.Output == listforms.Text)
	if !page || len(c.What) != 1 || strings.ContainsAny(c.What[0], ": ") {
		return unreadable("there is no server to ask; coroner collect collects what the API still has of a runner")
	}
	all := collectCmd{What: c.What, All: c.All}
	all.Cluster, all.Where = c.Kube, c.Where
	return all.Run(p)
}
