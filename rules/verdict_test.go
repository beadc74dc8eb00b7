package rules_test

import (
	"testing"

	"coroner/rules"
)

// A revision is another label, a verdict that is no guess any more, or a detail.
func TestChange(t *testing.T) {
	was := func(l rules.Label, c rules.Confidence) *rules.Revised { return &rules.Revised{Label: l, Confidence: c} }
	for _, c := range []struct {
		was  *rules.Revised
		is   rules.Confidence
		want string
	}{
		{nil, rules.Confirmed, ""},
		{was(rules.Unknown, rules.Suspected), rules.Suspected, rules.ChangeLabel},
		{was(rules.Unknown, rules.Confirmed), rules.Probable, rules.ChangeLabel},
		{was(rules.CgroupOOM, rules.Suspected), rules.Probable, rules.ChangeConfidence},
		{was(rules.CgroupOOM, rules.Suspected), rules.Suspected, rules.ChangeDetail},
		{was(rules.CgroupOOM, rules.Probable), rules.Confirmed, rules.ChangeDetail},
		{was(rules.CgroupOOM, rules.Confirmed), rules.Suspected, rules.ChangeDetail},
	} {
		v := rules.Verdict{Label: rules.CgroupOOM, Confidence: c.is, Revises: c.was}
		if got := v.Change(); got != c.want {
			t.Errorf("%+v to %s: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}
