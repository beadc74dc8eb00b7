package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command; without one, all are listed." complete:"commands"`
}

// Run shows what --help shows.
func (c *helpCmd) Run(p *program, app *kong.Kong) error {
	n := app.Model.Node
	for i, name := range c.Command {
		if n = childNamed(n, name); n == nil {
			return usage("no command %q; coroner help lists all", c.Command[i])
		}
	}
	if code := p.runCommand(append(slices.Clone(c.Command), "--help")); code != exitOK {
		return exitError{code, fmt.Errorf("no help on %v", c.Command)}
	}
	return nil
}

type versionCmd struct{}

// Run prints what --version prints.
func (versionCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.out, versionText([]string{"version"}))
	return err
}
