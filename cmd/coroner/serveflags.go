package main

import (
	"errors"
	"maps"

	"coroner/cmd/caseflags"
	"coroner/cmd/daemon"
	"coroner/cmd/helptext"
	"coroner/cmd/kubeflags"
	"coroner/cmd/outlet"
	"coroner/cmd/pushers"
	"coroner/cmd/site"
	"coroner/cmd/uplink"

	"github.com/alecthomas/kong"
)

type serveCmd struct {
	daemon.Flags
	Rules       string `help:"${serve_rules}" placeholder:"DIR"`
	Ledger      string `name:"ledger" help:"${serve_ledger}" default:"coroner.db" placeholder:"FILE"`
	MemoryLimit int64  `name:"memory-limit" type:"size" help:"${serve_memory_limit}" placeholder:"SIZE"`
	pushers.Tokens
	caseflags.Cases
	caseflags.Retention
	outlet.Publish
	Cluster string `name:"cluster" help:"${serve_cluster}" placeholder:"NAME"`
	pushers.Access
	kubeflags.Watch
	githubFlags
	outlet.Outlets
	site.Links
}

// flagVars are the long texts of flags, and the defaults of those whose home is elsewhere.
func flagVars(listen string) kong.Vars {
	all := kong.Vars{"listen": listen, "version": ""}
	for _, vars := range []kong.Vars{daemon.Vars, helptext.Vars, uplink.Vars, pushers.Vars, caseflags.Vars()} {
		maps.Copy(all, vars)
	}
	return all
}

// Help is shown by coroner serve --help.
func (serveCmd) Help() string {
	return `Agents (coroner-agent) and any shipper that speaks the Loki push protocol send to
http://HOST:9095/loki/api/v1/push. Verdicts: coroner lookup NAME, GET /api/v1/verdicts,
GET /api/v1/runners/NAME, /metrics, and Loki with --loki.url.

With --push.agent-account the Kubernetes API reviews agents' tokens; it says on which node
an agent runs and about which pods it may report. With --push.client-node=san the node is
taken from the client certificates that --web.config.file asks for. Without a credential
pushes are accepted from this machine only, unless --push.open is given. docs/access.md
explains who may do what.`
}

// checkFlags refuses values that no run could use.
func (c *serveCmd) checkFlags() error {
	err := errors.Join(c.Cases.Check(), c.Retention.Check(), c.Access.Check(), c.checkKube(),
		c.githubFlags.checkGitHub(c.Outlets.Acts()), c.Outlets.Check(c.GitHubToken), c.Publish.Check(),
		c.Tokens.Check(), c.Links.Check(), daemon.CheckNumber("memory-limit", c.MemoryLimit))
	if err != nil {
		return usage("%w", err)
	}
	return nil
}
