package deploy

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

type rule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T, name string) (out []rule) {
	t.Helper()
	data, err := Alerts.ReadFile("alerts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) == 0 {
		t.Fatalf("%s has no rules", name)
	}
	return out
}

// Whoever is woken finds what it means, what to do, and the runners.
func TestAlertsAreExplained(t *testing.T) {
	docs, err := os.ReadFile("../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		for _, r := range rules(t, name) {
			_, section, _ := strings.Cut(r.Annotations["runbook_url"], "#")
			if !strings.Contains(strings.ToLower(string(docs)), "\n## "+section+"\n") || section == "" {
				t.Errorf("%s: %s: docs/alerts.md has no section %q", name, r.Alert, section)
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || !strings.HasPrefix(r.Annotations["list"], "/?") {
				t.Errorf("%s: %s lacks a severity, a summary or a list", name, r.Alert)
			}
			if !strings.Contains(string(docs), r.Alert) {
				t.Errorf("%s: %s is not in docs/alerts.md", name, r.Alert)
			}
		}
	}
}

// Every alert fires in a test and stays quiet in one, by Prometheus' own tool.
func TestAlertsFire(t *testing.T) {
	tests, err := Alerts.ReadFile("alerts/prometheus.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t, "prometheus.yaml") {
		if n := strings.Count(string(tests), "alertname: "+r.Alert); n < 1 {
			t.Errorf("%s has no test", r.Alert)
		}
	}
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("not shown: that the alerts fire (promtool, of the package prometheus, is not installed)")
	}
	if out, err := exec.Command("promtool", "test", "rules", "alerts/prometheus.test.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
