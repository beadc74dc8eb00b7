package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fenced = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// example is docs/install.md with its worked example laid out in a folder: the
// log, and the rules that teach its line.
func example(t *testing.T) (page, dir string) {
	t.Helper()
	page, dir = docs(t, "install.md"), t.TempDir()
	for _, b := range fenced.FindAllStringSubmatch(page, -1) {
		path := map[string]string{"text": "controller.log", "yaml": "mine/dispatcher.yaml"}[b[1]]
		if path == "" || b[1] == "yaml" && !strings.HasPrefix(b[2], "signals:") {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, "mine"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(b[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return page, dir
}

// Each helm command of the page renders; one that reuses values adds to those
// of the command before it.
func TestInstallCommandsRender(t *testing.T) {
	page, dir := example(t)
	here, err := filepath.Abs(chart)
	if err != nil {
		t.Fatal(err)
	}
	var before []string
	commands := 0
	for _, b := range fenced.FindAllStringSubmatch(page, -1) {
		if b[1] != "sh" {
			continue
		}
		args := words(strings.ReplaceAll(b[2], "\\\n", " "))
		if strings.Join(args[:5], " ") != "helm upgrade --install coroner deploy/chart/coroner" {
			t.Fatalf("not a command that installs: %q", args)
		}
		var kept []string
		for _, a := range args[5:] {
			if a == "--reuse-values" {
				kept = append(kept, before...)
				continue
			}
			kept = append(kept, strings.Replace(a, "=mine/", "="+dir+"/mine/", 1))
		}
		before = kept
		out, err := helm(t, "", append([]string{"template", "coroner", here}, kept...)...)
		if err != nil {
			t.Errorf("%s: %v", b[2], err)
		}
		all := things(t, strings.ReplaceAll(out, "REGISTRY", "registry.example"))
		credential := strings.Contains(out, "--push.token-file=") || strings.Contains(out, "--push.agent-account=")
		if commands++; len(of(all, "StatefulSet")) != 1 || !credential || !strings.Contains(out, "--web.config.file=") {
			t.Errorf("%s: no server with a credential and TLS", b[2])
		}
		ownControllerIsKnown(t, all, dir)
	}
	if commands < 6 {
		t.Errorf("only %d commands", commands)
	}
}

// ownControllerIsKnown: where rules are installed, they are those of the page,
// whole, and the server and the agents know the controller's pods.
func ownControllerIsKnown(t *testing.T, all []thing, dir string) {
	t.Helper()
	if o := named(all, "ConfigMap coroner-rules"); o != nil {
		want, err := os.ReadFile(filepath.Join(dir, "mine/dispatcher.yaml"))
		if err != nil || str(o, "data", "dispatcher.yaml") != string(want) {
			t.Errorf("%v: the rules are\n%v", err, o["data"])
		}
		for _, kind := range []string{"StatefulSet", "DaemonSet"} {
			const arg = "--controller=ci-system/dispatcher-*"
			if !slices.Contains(list(containerOf(of(all, kind)[0]), "args"), any(arg)) {
				t.Errorf("%s has no %s", kind, arg)
			}
		}
	}
}

// words splits a command as a shell does, as far as the page needs it.
func words(command string) (out []string) {
	for _, w := range regexp.MustCompile(`'[^']*'|[^\s']+`).FindAllString(command, -1) {
		out = append(out, strings.Trim(w, "'"))
	}
	return out
}

// The worked example of an own controller gives what the page shows.
func TestOwnControllersLineIsTaught(t *testing.T) {
	page, dir := example(t)
	coroner, ran := program(t, "coroner", "that the line of an own controller is taught"), 0
	for _, b := range fenced.FindAllStringSubmatch(page, -1) {
		if b[1] != "console" {
			continue
		}
		for part := range strings.SplitSeq("\n"+b[2], "\n$ coroner ") {
			command, shown, _ := strings.Cut(strings.TrimSpace(part), "\n")
			if command == "" {
				continue
			}
			ran++
			cmd := exec.Command(coroner, strings.Fields(command)...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("coroner %s: %v %s", command, err, out)
			}
			inOrder(t, string(out), shown)
		}
	}
	if ran < 2 {
		t.Errorf("only %d commands were run", ran)
	}
}

// inOrder looks for the shown lines, one after the other; … stands for anything.
func inOrder(t *testing.T, out, shown string) {
	t.Helper()
	for want := range strings.Lines(shown) {
		want = strings.TrimSpace(strings.Trim(strings.TrimSpace(want), "…"))
		_, rest, found := strings.Cut(out, want)
		if !found {
			t.Errorf("%q is not in, or out of its order:\n%s", want, out)
			return
		}
		out = rest
	}
}

// Every value that the page speaks of is one of the chart's.
func TestPageSpeaksOfRealValues(t *testing.T) {
	page := docs(t, "install.md")
	var said []string
	for _, line := range regexp.MustCompile("`([a-z]+[A-Za-z]*(?:\\.[a-zA-Z]+)+)(?:=\\S+)?`").FindAllStringSubmatch(
		page, -1) {
		said = append(said, line[1])
	}
	values, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := things(t, string(values))[0]
	checked := 0
	for _, path := range said {
		keys := strings.Split(path, ".")
		if _, ours := known[keys[0]]; !ours {
			continue // a file, or Kubernetes' own
		}
		checked++
		last := len(keys) - 1
		if parent, ok := get(known, keys[:last]...).(thing); !ok ||
			parent[keys[last]] == nil && !strings.Contains(path, "seLinux") {
			t.Errorf("there is no value %s", path)
		}
	}
	if checked < 12 {
		t.Errorf("only %d values found in %q", checked, said)
	}
}

// chartValues are the values of Grafana's k8s-monitoring that the page may use, by the first
// line of its block: as they stand in the charts' values.yaml and templates of 4.5 and 3.8. A
// dash stands for an item of a list.
var chartValues = map[string][]string{
	"# k8s-monitoring 4": {
		"destinations.coroner.type", "destinations.coroner.url", "destinations.coroner.auth.type",
		"destinations.coroner.auth.bearerToken", "destinations.coroner.tls.ca",
		"nodeLogs.enabled", "nodeLogs.collector", "nodeLogs.destinations", "nodeLogs.journalLabels.transport",
		"podLogsViaLoki.enabled", "podLogsViaLoki.collector", "podLogsViaLoki.destinations",
		"collectors.alloy-logs.presets",
	},
	"# k8s-monitoring 2 and 3": {
		"destinations.-.name", "destinations.-.type", "destinations.-.url", "destinations.-.auth.type",
		"destinations.-.auth.bearerToken", "destinations.-.tls.ca",
		"nodeLogs.enabled", "nodeLogs.destinations", "nodeLogs.extraDiscoveryRules", "nodeLogs.labelsToKeep",
		"podLogs.enabled", "podLogs.destinations", "alloy-logs.enabled",
	},
}

// streamLabels are the labels of k8s-monitoring's streams, by its templates of 4.5: what a
// selector can find. The pod's name is none of them.
var streamLabels = []string{"cluster", "k8s_cluster_name", "namespace", "container", "job", "service_name",
	"service_namespace", "app_kubernetes_io_name", "stream", "flags", "instance", "unit", "source", "level",
	"priority_keyword", "transport"}

var (
	selector  = regexp.MustCompile(`\{([a-z_]+(?:=~|!=|!~|=)"[^{}]*)\}`)
	ofMatcher = regexp.MustCompile(`([a-z_]+)(?:=~|!=|!~|=)"`)
)

// Every selector that the pages and the flags have for the logs finds something in a Loki that
// k8s-monitoring fills, and the page that lists its labels lists these.
func TestSelectorsFitTheShipper(t *testing.T) {
	seen := 0
	for _, page := range []string{"grafana.md", "reference.md", "explain.md"} {
		for _, s := range selector.FindAllStringSubmatch(docs(t, page), -1) {
			if strings.Contains(s[1], `job="coroner"`) || s[1] == `pod="…"` { // coroner's own; what finds nothing
				continue
			}
			for _, m := range ofMatcher.FindAllStringSubmatch(s[1], -1) {
				if seen++; !slices.Contains(streamLabels, m[1]) {
					t.Errorf("%s: {%s}: k8s-monitoring has no label %s", page, s[1], m[1])
				}
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d labels in selectors", seen)
	}
	_, table, _ := strings.Cut(docs(t, "grafana.md"), "\n## What k8s-monitoring calls things\n")
	for _, label := range streamLabels {
		if !strings.Contains(table, "`"+label+"`") {
			t.Errorf("grafana.md does not list %s", label)
		}
	}
}

// leaves are the paths to a value's leaves; a list of names is one.
func leaves(path string, v any, found map[string]any) {
	switch v := v.(type) {
	case thing:
		for key, of := range v {
			leaves(strings.TrimPrefix(path+"."+key, "."), of, found)
		}
		return
	case []any:
		if _, objects := v[0].(thing); objects {
			for _, of := range v {
				leaves(path+".-", of, found)
			}
			return
		}
	}
	found[path] = v
}

// The values for k8s-monitoring are those of its chart, and what coroner needs is among them.
func TestShipperValues(t *testing.T) {
	seen := 0
	for _, b := range fenced.FindAllStringSubmatch(docs(t, "install.md"), -1) {
		head, text, _ := strings.Cut(b[2], "\n")
		known, found := chartValues[head]
		if !found {
			if strings.Contains(text, "nodeLogs:") {
				t.Errorf("values of which release? %s", b[2])
			}
			continue
		}
		seen++
		said := map[string]any{}
		leaves("", things(t, text)[0], said)
		for path := range said {
			if !slices.Contains(known, path) {
				t.Errorf("%s has no value %s", head, path)
			}
		}
		for _, path := range known {
			if said[path] == nil {
				t.Errorf("%s: %s is missing", head, path)
			}
		}
		for path, value := range said {
			names, _ := value.([]any)
			if strings.HasSuffix(path, ".destinations") && !slices.Equal(names, []any{"YOURS", "coroner"}) {
				t.Errorf("%s: %s: %v: want both, or a destination gets nothing", head, path, value)
			}
			if strings.HasSuffix(path, ".collector") && said[fmt.Sprintf("collectors.%v.presets", value)] == nil {
				t.Errorf("%s: %s: there is no collector %v", head, path, value)
			}
		}
		kept, _ := said["nodeLogs.labelsToKeep"].([]any)
		rules, _ := said["nodeLogs.extraDiscoveryRules"].(string)
		if said["nodeLogs.journalLabels.transport"] != "transport" &&
			(!slices.Contains(kept, any("transport")) || !strings.Contains(rules, `["__journal__transport"]`)) {
			t.Errorf("%s: the kernel's lines have no transport", head)
		}
	}
	if seen != len(chartValues) {
		t.Errorf("values of %d releases, want %d", seen, len(chartValues))
	}
}
