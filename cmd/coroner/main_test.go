package main

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"coroner/cmd/console"
	"coroner/fixtures"
)

func TestMain(m *testing.M) {
	coroner := func() {
		p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, plugin: isPlugin(os.Args[0]),
			tty: func(stream any) bool { return os.Getenv("FAKE_TTY") != "" || console.IsTerminal(stream) }}
		os.Exit(p.runCommand(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){"coroner": coroner, "kubectl-coroner": coroner})
}

// The program as a person uses it, one script a habit. With the race detector only those
// in which something runs beside something else: the others' commands are of one goroutine.
func TestScripts(t *testing.T) {
	dir, files := "testdata/script", []string(nil)
	if fixtures.UnderRace {
		t.Log("with the race detector, only the scripts that serve, watch and read many files at once")
		dir, files = "", []string{
			"testdata/script/lookup.txtar",
			"testdata/script/watch.txtar",
			"testdata/script/explain.txtar",
		}
	}
	testscript.Run(t, testscript.Params{Dir: dir, Files: files, RequireExplicitExec: true, Setup: withServer,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serverCommand, "verdict": verdictCommand, "asked": askedCommand,
		}})
}
