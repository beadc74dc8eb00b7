package describe

import (
	"strings"
	"testing"

	"coroner/fixtures/shipped"
	"coroner/rules"
)

func builtIn(t *testing.T) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

// Everything that has a name in the list can be described by it.
func TestEverythingListedIsDescribed(t *testing.T) {
	b := builtIn(t)
	var list strings.Builder
	if err := List(&list, b, true); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range rules.Labels {
		names = append(names, string(l))
	}
	for _, r := range b.Rules {
		names = append(names, r.ID)
	}
	for _, d := range b.Signals {
		names = append(names, d.Name)
	}
	for _, d := range b.Secrets {
		names = append(names, d.Name)
	}
	for _, name := range names {
		var page strings.Builder
		described, err := Name(&page, b, name)
		if !described || err != nil || !strings.Contains(page.String(), name) {
			t.Errorf("%s: described %v, %v: %.100q", name, described, err, page.String())
		}
		if !strings.Contains(list.String(), name) {
			t.Errorf("the list does not name %s", name)
		}
	}
	if described, _ := Name(&list, b, "no-such-thing"); described {
		t.Error("something that is not there is described")
	}
}

// Whichever order two rules are named in, the one that is tried first wins.
func TestTwoRulesHaveOneWinner(t *testing.T) {
	b := builtIn(t)
	first, last := b.Rules[0], b.Rules[len(b.Rules)-1]
	var one, other strings.Builder
	if err := Two(&one, b, first, last); err != nil {
		t.Fatal(err)
	}
	if err := Two(&other, b, last, first); err != nil {
		t.Fatal(err)
	}
	if one.String() != other.String() || !strings.HasPrefix(one.String(), "Where both fit, "+first.ID+" wins") {
		t.Errorf("%s\n---\n%s", one.String(), other.String())
	}
	for _, r := range []*rules.Rule{first, last} {
		if when := r.When(); !strings.Contains(one.String(), when) {
			t.Errorf("the condition of %s is not told: %s", r.ID, when)
		}
	}
}
