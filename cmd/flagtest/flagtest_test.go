package flagtest_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/flagtest"

	"github.com/alecthomas/kong"
)

// careless is a daemon that checks one of its addresses and one of its times.
type careless struct {
	Config kong.ConfigFlag `name:"config.file"`
	Good   string          `name:"good.url"`
	Bad    string          `name:"bad.url"`
	Any    string          `name:"any"`
	Wait   time.Duration   `name:"wait" default:"1s"`
	Never  time.Duration   `name:"never" default:"1s"`
	Sort   string          `name:"sort" enum:",a,b" default:""`
	On     bool            `name:"on"`
}

// check refuses the good address and time only, and the bad address in the words of another flag.
func (c *careless) check() error {
	if c.Bad == "x" {
		return daemon.Wrong("good.url", "x is bad")
	}
	if c.Good != "" {
		if err := daemon.CheckURL("good.url", c.Good, "http://HOST"); err != nil {
			return err
		}
	}
	return daemon.CheckNumber("wait", c.Wait)
}

func start(args []string) string {
	var c careless
	var origins daemon.Origins
	k, err := kong.New(&c, kong.Name("careless"), kong.Writers(io.Discard, io.Discard), &origins)
	if err == nil {
		_, err = k.Parse(args)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return origins.Explain(err)
	}
	return ""
}

// A flag without a check, one that nobody thought of, and one that is told as another are found;
// those that keep the promise are not spoken of.
func TestProblems(t *testing.T) {
	k, err := kong.New(&careless{}, &daemon.Origins{})
	if err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{Flags: k.Model.Flags, Start: start, Dir: t.TempDir(), Free: []string{"on"},
		Base: func() []string { return nil }, Rows: []flagtest.Row{
			{Flag: "good.url", Values: []string{"::"}}, {Flag: "bad.url", Values: []string{"x"}},
			{Flag: "gone", Values: []string{"x"}},
		}}
	got := p.Problems()
	for _, want := range []string{
		"any: name a value", "on: it does not take any text", "gone: there is no such flag",
		`never "-5s": no line of "" begins with --never`, `never "-5s": no line of "" begins with ` + p.Dir,
		`never "-5s": no line of "" begins with CORONER_NEVER`, `bad.url "x": no line of "--good.url: x is bad"`,
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("nothing begins with %s", want)
		}
	}
	if len(got) != 9 {
		t.Errorf("%d problems:\n%s", len(got), strings.Join(got, "\n"))
	}
}
