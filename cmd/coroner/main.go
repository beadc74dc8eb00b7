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
	"runtime/debug"
	"time"

	"coroner/cmd/daemon"

	"github.com/alecthomas/kong"
)

// Exit codes, part of the contract.
const (
	exitOK         = 0
	exitUnreadable = 1
	exitUsage      = 2
)

// program is what every command gets to work with.
type program struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	tty      func(io.Writer) bool
	color    bool
}

type cli struct {
	Explain explainCmd `cmd:"" help:"Name the cause of death of every runner that ends in the input."`
	Serve   serveCmd   `cmd:"" help:"Classify live: take what agents and shippers push, give every dead runner a verdict."`
	Lookup  lookupCmd  `cmd:"" help:"Ask a server what happened to a runner."`
	Signals signalsCmd `cmd:"" help:"Print every recognised line as JSON: grep for deaths."`
	Rules   rulesCmd   `cmd:"" help:"Check, list, describe and test the rulebook."`
	Demo    demoCmd    `cmd:"" help:"Explain the incidents that coroner ships with."`

	Version kong.VersionFlag `help:"Print the version and the rulebook's hash."`
	Color   string           `help:"Colours: auto (on a terminal, unless NO_COLOR is set), always or never." enum:"auto,always,never" default:"auto"`
}

// heapGoal is what the garbage collector aims to stay under: a journal of a
// gigabyte must not need one.
const heapGoal = 150 << 20

func main() {
	debug.SetMemoryLimit(heapGoal)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, tty: isTerminal}
	os.Exit(p.run(os.Args[1:]))
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

// run parses the arguments and runs one command.
func (p *program) run(args []string) int {
	var c cli
	done := -1
	parser, err := kong.New(&c, kong.Name("coroner"), kong.Writers(p.out, p.err), kong.UsageOnError(),
		kong.Description("coroner names the cause of death of CI runners on Kubernetes.\n\nExit codes: 0 explained, 1 nothing could be read, 2 wrong usage or a broken rulebook."),
		kong.Vars{"version": version(), "listen": ":9095"}, kong.Configuration(daemon.Config), daemon.Environment(),
		kong.Exit(func(code int) { done = code }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return p.fail(err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if done >= 0 { // help was asked for
		return done
	}
	if err != nil {
		return p.fail(usage("%w\nhint: coroner --help", err))
	}
	p.color = wantColor(c.Color, p)
	if err := ctx.Run(p); err != nil {
		return p.fail(err)
	}
	return exitOK
}

func (p *program) fail(err error) int {
	fmt.Fprintf(p.err, "coroner: %v\n", err)
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitUnreadable
}

// version is what a bug report needs: the build, and the built-in rulebook.
func version() string {
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				build = s.Value
			}
		}
	}
	book, err := loadBook("")
	if err != nil {
		return build
	}
	return fmt.Sprintf("coroner %s, rulebook %s", build, book.Hash)
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
