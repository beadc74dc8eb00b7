package main

import (
	"reflect"
	"strings"
	"testing"

	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/cmd/uplink"
	"coroner/ingest/agent"

	"github.com/alecthomas/kong"
)

// A default stands once: what is read of a node without flags is what package agent says, and
// its flags have no default beside that.
func TestDefaultsStandOnce(t *testing.T) {
	var c cli
	p, err := kong.New(&c, daemon.Vars, uplink.Vars, vars, defaults(), units.Option(), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse(nil); err != nil {
		t.Fatal(err)
	}
	want := agent.Defaults()
	got := agent.Config{
		Journal: c.Journal, Pods: c.Pods, Follow: c.Follow, Controller: c.Controller,
		MaxAge: c.MaxAge, LastLines: c.Last,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("without flags the agent is given %+v, its defaults are %+v", got, want)
	}
	flags := reflect.TypeFor[Reading]()
	for i := range flags.NumField() {
		if value := flags.Field(i).Tag.Get("default"); !strings.HasPrefix(value, "${") {
			t.Errorf("--%s has the default %q of its own", flags.Field(i).Tag.Get("name"), value)
		}
	}
}
