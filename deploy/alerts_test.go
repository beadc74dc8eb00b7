package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

type rule struct {
	Alert       string
	Expr        string
	Keep        string `yaml:"keep_firing_for"`
	Labels      map[string]string
	Annotations map[string]string
}

// alerts are the alerts of a file of rules.
func alerts(t *testing.T, name string) []rule {
	t.Helper()
	return parse(t, text(t, name))
}

func parse(t *testing.T, rules string) (out []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(rules), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				out = append(out, r)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("no alerts")
	}
	return out
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := Files.ReadFile("alerts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func docs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var severities = map[string]bool{"critical": true, "warning": true}

// Whoever is woken finds what it means, what to do, and the runners.
func TestAlertsAreExplained(t *testing.T) {
	page, names := docs(t, "alerts.md"), map[string]bool{}
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		for _, r := range alerts(t, name) {
			_, section, _ := strings.Cut(r.Annotations["runbook_url"], "docs/alerts.md#")
			if !strings.Contains(strings.ToLower(page), "\n## "+section+"\n") || section == "" {
				t.Errorf("%s: %s: docs/alerts.md has no section %q", name, r.Alert, section)
			}
			if !severities[r.Labels["severity"]] || r.Annotations["summary"] == "" ||
				r.Annotations["description"] == "" {
				t.Errorf("%s: %s lacks a severity, a summary or a description", name, r.Alert)
			}
			if !strings.Contains(page, "`"+r.Alert+"`") {
				t.Errorf("%s: %s is not in the table of docs/alerts.md", name, r.Alert)
			}
			if names[r.Alert] {
				t.Errorf("%s: %s is there twice; whoever loads both files could not tell them apart", name, r.Alert)
			}
			names[r.Alert] = true
		}
	}
}

var listed = regexp.MustCompile(
	`^/\?((verdict|state|cluster|node|pool|repository)=([\w-]+|\{\{ \$labels\.(verdict|cluster|node|pool) ` +
		`\| urlquery \}\})&)*since=\d+h?m?$`,
)

// The link of an alert is one that the list understands, about the verdict and
// the node or pool that the alert is about.
func TestAlertsLinkToTheirList(t *testing.T) {
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		for _, r := range alerts(t, name) {
			list := r.Annotations["list"]
			if !listed.MatchString(list) {
				t.Errorf("%s: %s: list %q", name, r.Alert, list)
			}
			for _, by := range []string{"cluster", "node", "pool"} {
				if strings.Contains(r.Annotations["summary"], "$labels."+by) &&
					!strings.Contains(list, by+"={{ $labels."+by+" | urlquery }}") {
					t.Errorf("%s: %s: speaks of a %s, and its list does not: %s", name, r.Alert, by, list)
				}
			}
			if m := regexp.MustCompile(`[{,] ?verdict="([^"]*)"`).FindStringSubmatch(r.Expr); m != nil &&
				!strings.Contains(list, "verdict="+m[1]) {
				t.Errorf("%s: %s: counts %s, and its list does not: %s", name, r.Alert, m[1], list)
			}
		}
	}
}

var whole = regexp.MustCompile(`^https://[^/]+/(\?|coroner/docs/)`)

// What the page tells an operator to run makes whole addresses of all links.
func TestLinksCanBeMadeWhole(t *testing.T) {
	command := regexp.MustCompile(`(?m)^    (sed .*)$`).FindStringSubmatch(docs(t, "alerts.md"))
	if command == nil {
		t.Fatal("docs/alerts.md has no sed command")
	}
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		cmd := exec.Command("sh", "-c", strings.Replace(command[1], "prometheus.yaml", name, 1))
		cmd.Dir = ".."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range parse(t, string(out)) {
			for _, link := range []string{"runbook_url", "list"} {
				if !whole.MatchString(r.Annotations[link]) {
					t.Errorf("%s: %s: %s is %q", name, r.Alert, link, r.Annotations[link])
				}
			}
		}
	}
}

// Every alert of Prometheus fires in a test, stays quiet in one just below, and
// does not flap in one, by Prometheus' own tool.
func TestAlertsFire(t *testing.T) {
	promtool(t)
	if out, err := run(t, text(t, "prometheus.yaml"), text(t, "prometheus.test.yaml")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The tests of an alert notice when it is broken: one that never fires, one
// whose thresholds are a little lower, one that ends at once.
func TestBrokenAlertsAreNoticed(t *testing.T) {
	promtool(t)
	rules := text(t, "prometheus.yaml")
	for _, r := range alerts(t, "prometheus.yaml") {
		t.Run(r.Alert, func(t *testing.T) {
			t.Parallel()
			noticed(t, r, "fires", rules, never(r))
			for _, lower := range lowered(r.Expr) {
				noticed(t, r, "stays quiet just below", rules, lower)
			}
			if r.Keep == "" {
				t.Error("it has no keep_firing_for")
			}
			noticed(t, r, "does not flap", rules, "")
		})
	}
}

// The tests notice where a guess would wake somebody, and where what late evidence
// said is not counted.
func TestBrokenCountsAreNoticed(t *testing.T) {
	promtool(t)
	rules := text(t, "prometheus.yaml")
	for _, c := range []struct{ from, to, test string }{
		{`confidence!="suspected"`, `confidence!="none"`, "CoronerHostTeardownSpike stays quiet"},
		{`confidence!="suspected"`, `confidence!="none"`, "CoronerHostTeardownFleet stays quiet"},
		{`confidence!="suspected"`, `confidence!="none"`, "CoronerNodeCrash stays quiet"},
		{`change=~"label|confidence"`, `change=~"none"`, "CoronerHostTeardownSpike fires for"},
		{`change=~"label|confidence"`, `change=~"label"`, "CoronerHostTeardownSpike fires for"},
		{`change=~"label|confidence"`, `change=~".*"`, "CoronerHostTeardownSpike stays quiet"},
		{`change=~"label|confidence"}[1d]`, `change=~"none"}[1d]`,
			"CoronerHostTeardownSpike stays quiet just below its own past of"},
		{`change=~"label|confidence"}[1d]`, `change=~"none"}[1d]`,
			"CoronerHostTeardownFleet stays quiet just below its own past"},
		{`change=~"label|confidence"`, `change=~"none"`, "CoronerHostTeardownFleet fires"},
		{`change=~"label|confidence"`, `change=~"none"`, "CoronerNodeCrash fires for"},
		{`change="label"`, `change="none"`, "CoronerCgroupOOMSpike fires for"},
		{`change="label"`, `change=~".*"`, "CoronerCgroupOOMSpike stays quiet"},
	} {
		t.Run(c.test+" "+c.to, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, strings.ReplaceAll(rules, c.from, c.to), only(t, c.test)); err == nil {
				t.Errorf("that %s does not notice %s\n%s", c.test, c.to, out)
			}
		})
	}
}

// Whoever is critical counts what is founded alone, in both files.
func TestNobodyIsWokenForAGuess(t *testing.T) {
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		for _, r := range alerts(t, name) {
			counted := strings.Count(r.Expr, `verdict="`)
			founded := strings.Count(r.Expr, "coroner:founded_verdicts:") + strings.Count(r.Expr,
				`confidence!="suspected"`)
			if r.Labels["severity"] == "critical" && (counted == 0 || counted != founded) {
				t.Errorf("%s: %s counts %d times, and %d times what is more than suspected", name, r.Alert, counted,
					founded)
			}
		}
	}
}

// never is the alert's expression with a condition that does not hold.
func never(r rule) string { return "(" + r.Expr + ") and on () vector(0) > 1" }

var threshold = regexp.MustCompile(`(>=|<=|>) ([\d.]+)`)

// lowered are the expressions with one threshold each that lets more through.
func lowered(expr string) (out []string) {
	for _, m := range threshold.FindAllStringSubmatchIndex(expr, -1) {
		n, _ := strconv.ParseFloat(expr[m[4]:m[5]], 64)
		easier := ">= " + expr[m[4]:m[5]]
		switch operator := expr[m[2]:m[3]]; {
		case operator == ">=":
			easier = ">= " + strconv.FormatFloat(n-1, 'g', -1, 64)
		case operator == "<=" && strings.Contains(expr[:m[2]], "unless"):
			easier = "<= " + strconv.FormatFloat(n-1, 'g', -1, 64)
		case operator == "<=":
			easier = "<= " + strconv.FormatFloat(n+1, 'g', -1, 64)
		}
		out = append(out, expr[:m[0]]+easier+expr[m[1]:])
	}
	return out
}

// noticed breaks one alert, with another expression or, where that is empty,
// without keep_firing_for, and wants its test of that name to fail.
func noticed(t *testing.T, r rule, test, rules, expr string) {
	t.Helper()
	tests := only(t, r.Alert+" "+test)
	if tests == "" {
		t.Errorf("there is no test that it %s", test)
		return
	}
	if out, err := run(t, broken(t, rules, r.Alert, expr), tests); err == nil {
		t.Errorf("that it %s does not notice %q\n%s", test, expr, out)
	}
}

// only is the file of tests with those whose name begins so.
func only(t *testing.T, name string) string {
	t.Helper()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(text(t, "prometheus.test.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	var kept []any
	for _, one := range file["tests"].([]any) {
		if strings.HasPrefix(one.(map[string]any)["name"].(string), name) {
			kept = append(kept, one)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	file["tests"] = kept
	return marshal(t, file)
}

// broken is the file of rules with one alert changed.
func broken(t *testing.T, rules, alert, expr string) string {
	t.Helper()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(rules), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file["groups"].([]any) {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			r := r.(map[string]any)
			if r["alert"] != alert {
				continue
			}
			if expr == "" {
				delete(r, "keep_firing_for")
			} else {
				r["expr"] = expr
			}
		}
	}
	return marshal(t, file)
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func promtool(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("not shown: that the alerts fire (promtool, of the package prometheus, is not installed)")
	}
}

// run gives rules and their tests to promtool.
func run(t *testing.T, rules, tests string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string]string{"prometheus.yaml": rules, "prometheus.test.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("promtool", "test", "rules", filepath.Join(dir, "prometheus.test.yaml")).CombinedOutput()
	return string(out), err
}
