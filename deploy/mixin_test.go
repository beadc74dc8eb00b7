package deploy

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet"
	"go.yaml.in/yaml/v4"
)

// mixin renders a field of the mixin with a configuration.
func mixin(t *testing.T, config, field string) string {
	t.Helper()
	out, err := jsonnet.MakeVM().EvaluateAnonymousSnippet("mixin_test.jsonnet",
		"((import 'mixin/mixin.libsonnet') + { _config+:: "+config+" })."+field)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type ruleGroup struct {
	Name  string
	Rules []map[string]any
}

// groupsOf are the rules of a file, or of what the mixin renders, group by group.
func groupsOf(t *testing.T, data string) []ruleGroup {
	t.Helper()
	var file struct{ Groups []ruleGroup }
	if err := yaml.Unmarshal([]byte(data), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups
}

// The mixin has the rules and alerts of the files, those that record apart, and the dashboards.
func TestMixinIsTheFiles(t *testing.T) {
	for file, fields := range map[string][]string{"prometheus.yaml": {"prometheusRules", "prometheusAlerts"},
		"loki.yaml": {"lokiAlerts"}} {
		var want, got []map[string]any
		for _, g := range groupsOf(t, text(t, file)) {
			want = append(want, g.Rules...)
		}
		for _, field := range fields {
			for _, g := range groupsOf(t, mixin(t, "{}", field)) {
				got = append(got, g.Rules...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
			t.Errorf("the rules of %s and the mixin's: %s", file, diff)
		}
	}
	if diff := cmp.Diff(groupsOf(t, text(t, "loki.yaml")), groupsOf(t, mixin(t, "{}", "lokiAlerts"))); diff != "" {
		t.Errorf("the groups of loki.yaml and the mixin's: %s", diff)
	}
	var dashboards map[string]any
	if err := json.Unmarshal([]byte(mixin(t, "{}", "grafanaDashboards")), &dashboards); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdicts", "health"} {
		data, err := Files.ReadFile("dashboards/" + name + ".json")
		var want any
		if err != nil || json.Unmarshal(data, &want) != nil || !cmp.Equal(want, dashboards["coroner-"+name+".json"]) {
			t.Errorf("dashboard %s is another one in the mixin (%v)", name, err)
		}
	}
}

// Another mixin's alerts stay where this one is added to it.
func TestMixinAddsItsAlerts(t *testing.T) {
	for _, field := range []string{"prometheusAlerts", "prometheusRules", "lokiAlerts"} {
		own := groupsOf(t, mixin(t, "{}", field))
		out, err := jsonnet.MakeVM().EvaluateAnonymousSnippet("mixin_test.jsonnet",
			"({ "+field+":: { groups: [{ name: 'theirs', rules: [] }] } } + (import 'mixin/mixin.libsonnet'))."+field)
		if err != nil {
			t.Fatal(err)
		}
		if all := groupsOf(t, out); len(all) != len(own)+1 || all[0].Name != "theirs" {
			t.Errorf("%s: %d groups of %d", field, len(all), len(own)+1)
		}
	}
}

// Whoever says where coroner is has whole links in every alert.
func TestMixinLinks(t *testing.T) {
	config := "{ coronerUrl: 'https://coroner.example', runbookUrl: 'https://git.example/coroner/' }"
	all := append(groupsOf(t, mixin(t, config, "prometheusAlerts")), groupsOf(t, mixin(t, config, "lokiAlerts"))...)
	for _, g := range all {
		if !slices.ContainsFunc(g.Rules, func(r map[string]any) bool { return r["alert"] != nil }) {
			t.Errorf("group %s has no alert", g.Name)
		}
		for _, r := range g.Rules {
			a := r["annotations"].(map[string]any)
			if !whole.MatchString(a["list"].(string)) || !whole.MatchString(a["runbook_url"].(string)) {
				t.Errorf("%s: %s and %s", r["alert"], a["list"], a["runbook_url"])
			}
		}
	}
}
