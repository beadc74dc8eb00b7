package main

import (
	"context"
	"fmt"
	"time"

	"coroner/classify"
	"coroner/classify/backfill"
	"coroner/classify/postmortem"
	"coroner/cmd/listforms"
	"coroner/rules"
)

// fromLoki explains what a Loki has.
func (c *explainCmd) fromLoki(p *program, form listforms.Form) error {
	if c.Runner == "" && !c.All {
		return usage("--loki needs --runner NAME, or --all for every runner that died since --since")
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	source, err := c.Loki.Source(p.now())
	if err != nil {
		return usage("%w", err)
	}
	clear := func() {}
	if p.tty(p.err) {
		source.Progress = func(n int) { fmt.Fprintf(p.err, "\r\x1b[K%d lines read from Loki", n) }
		clear = func() { fmt.Fprint(p.err, "\r\x1b[K") }
	}
	entries := source.All(context.Background())
	if c.Runner != "" {
		entries = source.Runner(context.Background(), c.Runner)
	}
	verdicts := classify.Replay(entries, book, classify.Options{Runner: c.Runner, Strict: true})
	clear()
	if err := source.Err(); err != nil {
		return unreadable("%w", c.Loki.Problem(err))
	}
	return c.showBackfilled(p, form, source, verdicts)
}

func (c *explainCmd) showBackfilled(
	p *program, form listforms.Form, s *backfill.Source, verdicts []rules.Verdict,
) error {
	if s.Lines() == 0 {
		fmt.Fprintf(p.err, "coroner: Loki has no line of %s between %s and %s; "+
			"see --since and the --loki-… selectors\n",
			postmortem.Clean(c.Runner), s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339))
	}
	c.note(p, verdicts, func() []rules.Verdict { return nil })
	return p.verdicts(form, verdicts, 0, c.All && c.Runner != "")
}
