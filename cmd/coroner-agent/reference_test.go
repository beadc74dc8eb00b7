package main

import (
	"flag"
	"io"
	"testing"

	"coroner/cmd/daemon"
	"coroner/cmd/reference"

	"github.com/rs/zerolog"
)

var renew = flag.Bool("reference", false, "rewrite docs/reference.md")

// docs/reference.md has every flag and metric of this program.
func TestReference(t *testing.T) {
	var c cli
	parser, err := newParser(&c, &daemon.Origins{})
	if err != nil {
		t.Fatal(err)
	}
	const page = "../../docs/reference.md"
	if err := reference.Hold(page, "flags of coroner-agent", reference.Flags(parser.Model.Node), *renew); err != nil {
		t.Error(err)
	}
	if _, err := parser.Parse([]string{"--state", t.TempDir(), "--node", "n"}); err != nil {
		t.Fatal(err)
	}
	d := daemon.New(&c.Flags, zerolog.New(io.Discard))
	if _, err := c.agent(d); err != nil {
		t.Fatal(err)
	}
	if err := reference.Hold(page, "metrics of coroner-agent", reference.Metrics(d.Registry), *renew); err != nil {
		t.Error(err)
	}
}
