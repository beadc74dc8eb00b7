package main

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"coroner": func() {
		p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, tty: func(io.Writer) bool { return os.Getenv("FAKE_TTY") != "" }}
		os.Exit(p.run(os.Args[1:]))
	}})
}

// The program as a person uses it, one script a habit.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true})
}
