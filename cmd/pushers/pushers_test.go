package pushers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What contradicts itself is said by the flag's name.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		flags Access
		want  string // "" = fine
	}{
		"nothing":    {Access{}, ""},
		"an account": {Access{AgentAccount: []string{"coroner/agent"}}, ""},
		"an account and a cluster": {
			Access{AgentAccount: []string{"c/a"}, Review: []string{"e=/k"}}, "",
		},
		"no namespace":          {Access{AgentAccount: []string{"agent"}}, "--push.agent-account agent"},
		"three parts":           {Access{AgentAccount: []string{"a/b/c"}}, "--push.agent-account a/b/c"},
		"a cluster without one": {Access{Review: []string{"east=/kube"}}, "--push.review"},
		"no file": {
			Access{AgentAccount: []string{"c/a"}, Review: []string{"east="}}, "--push.review east=",
		},
		"a cluster twice": {
			Access{AgentAccount: []string{"c/a"}, Review: []string{"east=/a", "east=/b"}}, "--push.review east=/b",
		},
	} {
		err := c.flags.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Tokens are read at the start; one is for one cluster, and for shippers or for relays.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"one": "t0ken-1\n", "same": "t0ken-1", "two": "t0ken-2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one, same, two := filepath.Join(dir, "one"), filepath.Join(dir, "same"), filepath.Join(dir, "two")
	type list = []string
	const forRelay = "--push.relay-token-file "
	for name, c := range map[string]struct {
		push, relays list
		want         string // "" = fine
	}{
		"none":                        {nil, nil, ""},
		"a relay":                     {nil, list{"east=" + one}, ""},
		"a relay and shippers":        {list{"east=" + two}, list{"east=" + one}, ""},
		"the same for both":           {list{"east=" + one}, list{"east=" + same}, forRelay + "east=" + same},
		"the same for two clusters":   {nil, list{"east=" + one, "west=" + same}, forRelay + "west=" + same},
		"twice for one":               {nil, list{"east=" + one, "east=" + same}, ""},
		"the same for two's shippers": {list{"east=" + one, "west=" + same}, nil, "--push.token-file west=" + same},
		"no file":                     {nil, list{"east="}, forRelay + "east="},
		"one that is not there":       {nil, list{one + "x"}, forRelay + one + "x"},
		"the second of shippers'":     {list{one, "=x"}, list{two}, "--push.token-file =x"},
	} {
		f := Tokens{PushToken: c.push, Relays: c.relays}
		if err := f.Check(); (err == nil) != (c.want == "") ||
			err != nil && !strings.HasPrefix(err.Error(), c.want+":") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	f := Tokens{PushToken: list{one}, Relays: list{"east=" + two}}
	shared, err := f.Shared()
	if err != nil || len(shared) != 2 || shared[0].Relay || !shared[1].Relay || shared[1].Cluster != "east" {
		t.Errorf("%+v, %v", shared, err)
	}
}
