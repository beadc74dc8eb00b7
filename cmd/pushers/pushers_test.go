package pushers

import (
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
