package main

import (
	"context"
	"os/signal"
	"syscall"

	"coroner/classify/mcp"
	"coroner/deploy/chart"
)

type mcpCmd struct{ serverFlags }

// Help is shown by coroner mcp --help.
func (mcpCmd) Help() string {
	return `Speaks the Model Context Protocol on standard input and output, for an assistant that starts it:
explain_death, list_deaths, node_deaths, get_incident and describe_label, which only read. Assistants
that speak it over HTTP can ask the server itself, at http://HOST:9095/mcp, with the same token.`
}

// Run answers until standard input ends.
func (c *mcpCmd) Run(p *program) error {
	client, err := c.newClient()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := mcp.Stdio(ctx, client, chart.Build(), p.in, p.out); err != nil && ctx.Err() == nil {
		return unreadable("standard input: %w", err)
	}
	return nil
}
