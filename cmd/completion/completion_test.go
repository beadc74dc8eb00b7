package completion

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/lookup"
	"coroner/fixtures/shipped"
	"coroner/rules"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"
)

type app struct {
	Server string `help:"Where it is. And more." env:"COMPLETION_TEST_SERVER"`
	Look   struct {
		Name string `arg:"" complete:"names" help:"Whom to look for."`
		Form string `short:"o" enum:"text,json" default:"text" help:"How it is written."`
		Out  string `placeholder:"FILE" help:"Where it is written."`
		All  bool   `help:"Everything."`
	} `cmd:"" help:"Look for somebody. Slowly."`
	Rules struct {
		Check struct{} `cmd:"" help:"Check them."`
	} `cmd:"" help:"The rulebook."`
	Help struct {
		Command []string `arg:"" optional:"" complete:"commands"`
	} `cmd:""`
}

// complete is what may stand in place of the last word, and the directive at the end.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	k, err := kong.New(&app{}, kong.Name("app"))
	if err != nil {
		t.Fatal(err)
	}
	root := Tree(k.Model.Node, func(cmd *cobra.Command, kind, begun string) []string {
		return []string{kind + "-of-" + cmd.Flag("server").Value.String(), "amber"}
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, words...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// What may come next is offered: commands, flags, an enumeration's values, and the
// candidates of the program for arguments that ask for them.
func TestCandidates(t *testing.T) {
	t.Setenv("COMPLETION_TEST_SERVER", "moon")
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"l", []string{"look\tLook for somebody", ":4"}},
		{"rules ", []string{"check\tCheck them", ":4"}},
		{"help r", []string{"rules\tThe rulebook", ":4"}},
		{"help rules ", []string{"check\tCheck them", ":4"}},
		{"help rules check ", []string{":4"}},
		{"help nonsense ", []string{":4"}},
		{"look n", []string{"names-of-moon", ":4"}},
		{"look a", []string{"amber", ":4"}},
		{"look amber ", []string{":4"}},
		{"look --fo", []string{"--form\tHow it is written", ":4"}},
		{"look --form j", []string{"json", ":4"}},
		{"look -o ", []string{"text", "json", ":4"}},
		{"look --out ", []string{":0"}}, // the shell completes files
		{"--server star look n", []string{"names-of-star", ":4"}},
	} {
		if got := complete(t, strings.Split(c.words, " ")...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

// A name is offered once, and never one that a shell would read something into.
func TestNames(t *testing.T) {
	died := time.Date(2026, 3, 1, 10, 4, 0, 0, time.UTC)
	verdict := func(runner string) lookup.Recorded {
		return lookup.Recorded{Verdict: rules.Verdict{
			Cluster: "east", Namespace: "ci", Runner: runner, Node: "build-7", Label: rules.NodeCrash, DiedAt: &died,
		}}
	}
	all := []lookup.Recorded{verdict("amber-1"), verdict("amber-1"), verdict("$(reboot)"), verdict("-rf"), verdict("")}
	for _, c := range []struct {
		kind, begun string
		want        []string
	}{
		{"runners", "a", []string{"amber-1\tnode-crash 2026-03-01 10:04Z"}},
		{"runners", "ci/a", []string{"ci/amber-1\tnode-crash 2026-03-01 10:04Z"}},
		{"nodes", "", []string{"build-7\t"}},
		{"clusters", "", []string{"east\t"}},
	} {
		got := Names(all, c.kind, c.begun)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s beginning with %q: %q, want %q", c.kind, c.begun, got, c.want)
		}
	}
}

// Whatever can be described is offered, each once, with what it means; a rule stands where one
// is wanted.
func TestEntries(t *testing.T) {
	book := shipped.Rulebook(t)
	entries, ofRules := Entries(book), Rules(book)
	for want, rule := range map[string]bool{
		"cgroup-OOM\t": false, "cgroup-OOM-kernel-kill\t": true, "kernel.oom-kill\t": false, "password\t": false,
	} {
		begins := func(s string) bool { return strings.HasPrefix(s, want) && len(s) > len(want) }
		if !slices.ContainsFunc(entries, begins) || slices.ContainsFunc(ofRules, begins) != rule {
			t.Errorf("%s", want)
		}
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(entries)))); n != len(entries) {
		t.Errorf("of %d candidates %d are others", len(entries), n)
	}
}
