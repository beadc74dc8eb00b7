package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"coroner/fixtures"
)

// Every rule of the built-in rulebook that claims to be confirmed has what that takes.
func TestConfirmedRulesOfTheRulebook(t *testing.T) {
	losers, err := fixtures.NearMisses()
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range builtIn(t).CheckConfirmed(losers) {
		t.Error(missing)
	}
}

// A line about the node decides nothing for sure unless the rule asks for the pod in it,
// and a rule that nothing shows to lose is not sure of anything.
func TestCheckConfirmed(t *testing.T) {
	const rule = `
signals:
  - {name: rackd.cut, source: systemd, reach: node, doc: d, printed: p, match: 'power cut in rack'}
  - {name: rackd.pod, source: systemd, doc: d, printed: p, match: 'rackd kills (?P<pod>\S+)', captures: {pod: pod}}
facts:
  - {name: cuts, doc: d, value: 'filter(rackd.cut, .near)'}
  - {name: own_cuts, doc: d, value: 'filter(rackd.cut, .mine and .near)'}
verdicts:
  - {id: x, verdict: node-crash, confidence: %s, doc: d, when: ended, decisive: '%s', summary: s%s}
`
	const lost = `, tests: [{name: t, verdict: none, files: {a.log: x}}]`
	const won = `, tests: [{name: t, verdict: node-crash, files: {a.log: x}}]`
	for _, c := range []struct{ confidence, decisive, more, want string }{
		{"confirmed", "filter(rackd.cut, .near)", lost, "does not name the pod"},
		{"confirmed", "rackd.cut", lost, "does not name the pod"},
		{"confirmed", "cuts", lost, "does not name the pod"},
		{"confirmed", "concat(own_cuts, cuts)", lost, "does not name the pod"},
		{"confirmed", "filter(rackd.cut, .mine or .near)", lost, "does not name the pod"},
		{"confirmed", "filter(rackd.cut, .near and .mine)", lost, ""},
		{"confirmed", "own_cuts", lost, ""},
		{"confirmed", "rackd.pod", lost, ""},
		{"confirmed", "rackd.pod", "", "nothing shows that it can lose"},
		{"confirmed", "rackd.pod", won, "nothing shows that it can lose"},
		{"confirmed", "rackd.cut", ", confirmed_because: all pods die", ""},
		{"probable", "rackd.cut", "", ""},
	} {
		b, err := load(t, fmt.Sprintf(rule, c.confidence, c.decisive, c.more))
		if err != nil {
			t.Fatal(err)
		}
		losers, err := fixtures.NearMisses()
		if err != nil {
			t.Fatal(err)
		}
		missing := strings.Join(b.CheckConfirmed(losers), "\n")
		if c.want == "" && missing != "" || !strings.Contains(missing, c.want) {
			t.Errorf("%s, %s%s: %q, want %q", c.confidence, c.decisive, c.more, missing, c.want)
		}
	}
}
