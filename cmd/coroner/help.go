package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command; without one, all are listed." complete:"commands"`
}

// Run shows what --help shows.
func (c *helpCmd) Run(p *program) error {
	if code := p.runCommand(append(slices.Clone(c.Command), "--help")); code != exitOK {
		return exitError{code, errors.New("")} // why was said
	}
	return nil
}

// parseError says what is wrong with the command line, and where to read how it would be right.
func (p *program) parseError(err error) error {
	text, command, takesWords := p.origins.Explain(err), p.name(), false
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		if n := wrong.Context.Selected(); n != nil { // the command, as far as it was understood
			command, takesWords = n.FullPath(), len(n.Children) == 0
		}
	}
	word, unexpected := strings.CutPrefix(text, "unexpected argument ")
	if !unexpected || takesWords {
		return usage("%s\nhint: %s --help", text, command)
	}
	help := strings.Replace(command, p.name(), p.name()+" help", 1)
	if word, near, found := strings.Cut(word, ", did you mean "); found {
		return usage("no command %q; did you mean %s %s lists all", word, near, help)
	}
	return usage("no command %q; %s lists all", word, help)
}

type versionCmd struct{}

// Run prints what --version prints.
func (versionCmd) Run(p *program) error {
	_, err := fmt.Fprintln(p.out, versionText([]string{"version"}))
	return err
}
