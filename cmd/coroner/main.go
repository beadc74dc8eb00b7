// Command coroner names the cause of death of CI runners on Kubernetes.
//
// This package is the seam between a person and the pure packages: it reads
// arguments, opens files, writes pages. Invariant: what it prints on standard
// output is the answer and nothing else; problems and progress go to standard
// error. Crash behaviour: it keeps no state; run it again.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coroner/cmd/console"
	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/deploy/chart"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"
)

// Exit codes, part of the contract.
const (
	exitOK         = 0
	exitUnreadable = 1
	exitUsage      = 2

	exitNotUnderstood = 3 // explain --strict only
)

// program is what every command gets to work with.
type program struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	tty      func(stream any) bool
	color    bool
	plugin   bool   // called as kubectl coroner
	command  string // that runs, as it is typed
	origins  daemon.Origins
}

type cli struct {
	Explain explainCmd `cmd:"" help:"Name the cause of death of every runner that ends in the input."`
	Serve   serveCmd   `cmd:"" help:"${main_serve}"`
	Relay   relayCmd   `cmd:"" help:"${main_relay}"`
	Collect collectCmd `cmd:"" help:"${main_collect}"`
	Lookup  lookupCmd  `cmd:"" help:"Ask a server what happened to a runner."`
	List    listCmd    `cmd:"" help:"List a server's latest verdicts."`
	Watch   watchCmd   `cmd:"" help:"Show verdicts as they come."`
	Signals signalsCmd `cmd:"" help:"Print every recognised line as JSON: grep for deaths."`
	Rules   rulesCmd   `cmd:"" help:"Check, list, describe and test the rulebook."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Answer an assistant that speaks the Model Context Protocol."`
	Demo    demoCmd    `cmd:"" help:"Explain the incidents that coroner ships with."`

	setup
	about

	Color string `help:"${main_color}" enum:"auto,always,never" default:"auto"`
}

// setup is what is done once.
type setup struct {
	Ledger ledgerCmd `cmd:"" help:"Copy a server's ledger."`

	Certificate certificateCmd `cmd:"" help:"Make a certificate for the server, in a folder or a Secret."`

	Completion completionCmd `cmd:"" help:"Print a script that completes commands, labels and runners in a shell."`
}

// about is what the program says of itself.
type about struct {
	Docs    docsCmd    `cmd:"" help:"Write the documentation as web pages."`
	Help    helpCmd    `cmd:"" help:"Say how a command is used."`
	Version versionCmd `cmd:"" help:"Print the version and the rulebook's hash."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and the rulebook's hash."`
}

// heapGoal is what the garbage collector aims to stay under: a gigabyte of journal needs no more.
const heapGoal = 260 << 20

func main() {
	daemon.AimAtMemory(heapGoal)
	p := &program{
		in:     os.Stdin,
		out:    os.Stdout,
		err:    os.Stderr,
		now:    time.Now,
		tty:    console.IsTerminal,
		plugin: isPlugin(os.Args[0]),
	}
	os.Exit(p.runCommand(os.Args[1:]))
}

// isPlugin says whether the program runs under the name by which kubectl finds
// its plugins.
func isPlugin(path string) bool {
	return strings.HasPrefix(filepath.Base(path), "kubectl-coroner")
}

// exitError ends the program with a code after its one line.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

func unreadable(format string, args ...any) error {
	return exitError{exitUnreadable, fmt.Errorf(format, args...)}
}

const description = `coroner names the cause of death of CI runners on Kubernetes.

Exit codes: 0 explained, 1 nothing could be read or found, 2 wrong usage or a broken rulebook,
3 with explain --strict: no line was understood.`

// runCommand parses the arguments and runs one command.
func (p *program) runCommand(args []string) int {
	var c cli
	done := -1
	parser, err := p.newParser(&c, args, kong.Exit(func(code int) { done = code }))
	if err != nil {
		return p.fail(err)
	}
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		p.complete(parser.Model.Node, args[1:])
		return exitOK
	}
	ctx, err := parser.Parse(p.arguments(parser.Model.Node, args))
	if done >= 0 { // help was asked for
		return done
	}
	if err != nil {
		return p.fail(p.parseError(err))
	}
	if n := ctx.Selected(); n != nil {
		p.command = n.FullPath()
	}
	p.color = wantColor(c.Color, p)
	if err := ctx.Run(p); err != nil {
		return p.fail(err)
	}
	return exitOK
}

// newParser reads the command line into c, which is a *cli but in tests.
func (p *program) newParser(c any, args []string, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append(more,
		kong.Name(p.name()),
		kong.Writers(p.out, p.err),
		kong.UsageOnError(),
		kong.Description(description),
		flagVars(":9095"),
		kong.Vars{"version": versionText(args)},
		&p.origins,
		units.Option(),
		daemon.HelpValues(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)...)
}

// name is what a person types to run the program.
func (p *program) name() string {
	if p.plugin {
		return "kubectl coroner"
	}
	return "coroner"
}

// arguments are args, or what they are short for: kubectl coroner NAME is a lookup.
func (p *program) arguments(app *kong.Node, args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case p.plugin && childNamed(app, args[0]) == nil &&
		!slices.Contains([]string{"-h", "--help", "--version"}, args[0]):
		return append([]string{"lookup"}, args...)
	}
	return args
}

func (p *program) fail(err error) int {
	if text := p.origins.Explain(err); text != "" {
		fmt.Fprintf(p.err, "coroner: %s\n", text)
	}
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitUnreadable
}

// versionText is what a bug report needs: the build, and the built-in rulebook. It
// takes a moment, so it is there when it is asked for.
func versionText(args []string) string {
	if !slices.Contains(args, "--version") && !slices.Contains(args, "version") {
		return ""
	}
	book, err := loadBook("")
	if err != nil {
		return "coroner " + chart.Build()
	}
	return fmt.Sprintf("coroner %s, rulebook %s", chart.Build(), book.Hash)
}

func wantColor(choice string, p *program) bool {
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && p.tty(p.out)
}
