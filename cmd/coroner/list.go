package main

import (
	"context"
	"fmt"
	"strconv"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/console"
	"coroner/cmd/listforms"
)

type listCmd struct {
	filterFlags
	Limit int `help:"How many verdicts to list at most, the latest first; up to 1000." default:"50" placeholder:"N"`
	listforms.Lists
	serverFlags
}

// Help is shown by coroner list --help.
func (listCmd) Help() string {
	return `Examples:
  coroner list --since 24h
  coroner list --open                        # what is wrong now
  coroner list --verdict cgroup-OOM,node-OOM --node build-7
  coroner list --since 24h -o json | jq -r .runner
  coroner list -o wide                       # every column, nothing cut
  coroner list --verdict unknown -o name | xargs -n1 coroner lookup
  coroner list -o jsonpath='{.runner} {.verdict}'        # of each verdict
  coroner list -o jsonpath='{.items[*].runner}'          # of all, as kubectl has it`
}

// Run lists the latest verdicts of a server.
func (c *listCmd) Run(p *program) error {
	form, err := c.Form()
	if err != nil {
		return usage("%w", err)
	}
	client, err := c.newClient()
	if err != nil {
		return err
	}
	q, err := c.makeQuery(p.now(), client)
	if err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > 1000 {
		return usage("--limit %d: want a number from 1 to 1000", c.Limit)
	}
	filtered := len(q) > 0
	q.Set("limit", strconv.Itoa(c.Limit))
	found, err := client.Verdicts(context.Background(), q)
	if err != nil {
		return c.requestError(err)
	}
	c.note(p, len(found.Verdicts), filtered)
	return c.writeList(p, form, found.Verdicts)
}

// note says on standard error what the table alone would hide.
func (c *listCmd) note(p *program, n int, filtered bool) {
	switch {
	case n == 0 && filtered:
		fmt.Fprintln(p.err, "coroner: no verdict fits; an earlier --since or fewer filters find more")
	case n == 0:
		fmt.Fprintln(p.err, "coroner: the server has no verdict yet; it gives one when a runner ends "+
			"whose node or logs are pushed to it, see coroner serve --help")
	case n == c.Limit:
		fmt.Fprintf(p.err, "coroner: the latest %d; --limit shows more\n", n)
	}
}

func (c *listCmd) writeList(p *program, form listforms.Form, all []lookup.Recorded) error {
	switch {
	case len(all) == 0:
		return nil
	case form.Name == listforms.Text:
		return postmortem.List(p.out, plainVerdicts(all), console.Width(p.out))
	case form.Name == listforms.Markdown:
		return postmortem.MarkdownList(p.out, plainVerdicts(all))
	}
	return form.Write(p.out, recordedItems(all))
}
