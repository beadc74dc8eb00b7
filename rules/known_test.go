package rules_test

import (
	"os"
	"strings"
	"testing"
)

// Every reason that Kubernetes gives to an event, a pod, a container or a node is
// one that the rulebook does something with, or says why not.
func TestKubernetesReasonsAreKnown(t *testing.T) {
	b := builtIn(t)
	data, err := os.ReadFile("testdata/kubernetes-reasons.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons := strings.Fields(string(data))
	if len(reasons) < 300 {
		t.Fatalf("only %d reasons", len(reasons))
	}
	for _, r := range reasons {
		if b.KnowsReason(r) == "" {
			t.Errorf("nothing is said of reason %s: name it in a rule, or in harmless.yaml with why", r)
		}
	}
	if what := b.KnowsReason("MoonInWrongPhase"); what != "" {
		t.Errorf("a reason that nobody gives is known: %s", what)
	}
}

// What is known of a line is the signal that it shows, else why it is harmless.
func TestKnows(t *testing.T) {
	b := builtIn(t)
	for line, want := range map[string]string{
		"Runner listener exit with 0 return code": "runner.listener-exit",
		"failed to get the list of pods":          "a look-up",
		"failed to remove the old folder":         "cleaning up",
		"the moon is full":                        "",
		// A wide pattern of harmless lines does not take a line with it that speaks of a death.
		"failed to read the list: out of memory": "",
		"cannot remove the node, it is lost":     "",
	} {
		if got := b.Knows(line); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
