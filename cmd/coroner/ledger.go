package main

import "coroner/cmd/copying"

type ledgerCmd struct {
	Copy copyCmd `cmd:"" help:"Copy a ledger: a file into a PostgreSQL, or the other way."`
}

type copyCmd struct{ copying.Args }

// Run copies.
func (c *copyCmd) Run(p *program) error {
	if err := c.Copy(p.err, p.now); err != nil {
		return unreadable("%w", err)
	}
	return nil
}
