package main

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"coroner/cmd/console"
)

func TestMain(m *testing.M) {
	coroner := func() {
		p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, plugin: isPlugin(os.Args[0]),
			tty: func(stream any) bool { return os.Getenv("FAKE_TTY") != "" || console.IsTerminal(stream) }}
		os.Exit(p.runCommand(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){"coroner": coroner, "kubectl-coroner": coroner})
}

// The program as a person uses it, one script a habit.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Setup: withServer,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serverCommand, "verdict": verdictCommand, "asked": askedCommand,
		}})
}
