package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// valueSets are installations that the chart must serve, as values.
var valueSets = map[string]string{
	"defaults":               "",
	"no agent":               "agent: {enabled: false}\nloki: {url: 'http://loki:3100'}\n",
	"no persistence":         "server: {persistence: {enabled: false}, podDisruptionBudget: {enabled: false}}\n",
	"own claim":              "server: {persistence: {existingClaim: mine}}\n",
	"API watch":              "apiWatch: {namespaces: [ci, ci-2], ephemeralRunners: true, nodes: true}\n",
	"API watch of pods only": "apiWatch: {namespaces: [ci]}\n",
	"no review of tokens":    "tokenReview: {enabled: false}\npushToken: {existingSecret: push}\n",
	"no TLS":                 "tls: {enabled: false}\n",
	"own certificate":        "tls: {existingSecret: mine}\nserviceMonitor: {enabled: true}\n",
	"cert-manager":           "tls: {hosts: [coroner.example, 10.0.0.9], certManager: {enabled: true}}\n",
	"own issuer":             "tls: {certManager: {enabled: true, issuer: {kind: ClusterIssuer, name: mine}}}\n",
	"TLS and secrets": `
pushToken: {existingSecret: push}
loki: {url: 'https://loki', user: me, existingSecret: loki-token, key: password}
github: {existingSecret: github, url: 'https://github.example/api/v3', webhook: {existingSecret: github-webhook}}
server: {web: {existingSecret: web, tls: true}}
agent: {tls: {existingSecret: agent-tls, cert: tls.crt, key: tls.key}}
`,
	"other names": "nameOverride: morgue\nserver: {serviceAccount: {name: given}}\n" +
		"agent: {serviceAccount: {name: given}}\n",
	"a server elsewhere": `
cluster: east
server: {enabled: false}
tokenReview: {enabled: false}
pushToken: {existingSecret: push}
apiWatch: {namespaces: [ci, ci-2], ephemeralRunners: true, nodes: true}
agent: {serverUrl: 'https://coroner.example', tls: {existingSecret: server-ca}}
relay: {token: {existingSecret: relay, key: secret}, replicas: 2, podLabels: {team: ci}, podAnnotations: {a: b},
  extraEnv: [{name: GOMEMLIMIT, value: 200MiB}], extraArgs: ['--log.level=debug'], tolerations: [{operator: Exists}]}
serviceMonitor: {enabled: true}
networkPolicy: {enabled: true, agentEgress: [{ports: [{port: 443}]}]}
`,
	"agents of a server elsewhere": "server: {enabled: false}\ncluster: east\n" +
		"agent: {serverUrl: 'https://coroner.example'}\n",
	"other clusters": `
clusters:
  - {name: east, pushToken: {existingSecret: push-east}, relayToken: {existingSecret: relay-east, key: secret}}
  - {name: west 2, relayToken: {existingSecret: relay-west}}
`,
	"everything": `
externalUrl: https://coroner.example
cluster: blue
image: {registry: registry.example/ci, pullPolicy: Always}
imagePullSecrets: [{name: pull}]
loki: {url: 'https://loki', tenant: ci, user: me, existingSecret: loki-token, key: password}
pushToken: {existingSecret: push, key: secret}
operatorToken: {existingSecret: operator, key: secret}
webToken: {existingSecret: readers}
runners: ['ci/*', '*/*-runner-*']
controllers: ['my-system/dispatcher-*']
rules: {mine.yaml: "signals: []\n"}
apiWatch: {namespaces: [ci], ephemeralRunners: true, nodes: true}
github: {existingSecret: github, url: 'https://github.example/api/v3', webhook: {existingSecret: github-webhook}}
server:
  image: {digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}
  retention: {verdicts: 720h, evidence: 24h, bytes: 4294967296}
  persistence: {storageClass: fast, annotations: {a: b}, size: 20Gi}
  web: {existingSecret: web, tls: true}
  service: {type: LoadBalancer, port: 80, annotations: {a: b}}
  serviceAccount: {annotations: {a: b}}
  extraArgs: ['--settle-deadline=2m']
  extraEnv: [{name: GOMEMLIMIT, value: 800MiB}]
  extraVolumes: [{name: more, emptyDir: {}}]
  extraVolumeMounts: [{name: more, mountPath: /more}]
  podAnnotations: {a: b}
  podLabels: {team: ci}
  nodeSelector: {a: b}
  tolerations: [{key: a, operator: Exists}]
  affinity: {nodeAffinity: {}}
  priorityClassName: high
agent:
  tls: {existingSecret: agent-tls, cert: tls.crt, key: tls.key}
  follow: ['*/*/runner']
  seLinuxOptions: {type: spc_t}
  extraArgs: ['--max-age=1h']
  extraEnv: [{name: GODEBUG, value: netdns=go}]
  extraVolumes: [{name: docker, hostPath: {path: /var/lib/docker/containers}}]
  extraVolumeMounts: [{name: docker, mountPath: /var/lib/docker/containers, readOnly: true}]
  podAnnotations: {a: b}
  podLabels: {team: ci}
  priorityClassName: system-node-critical
serviceMonitor: {enabled: true, labels: {release: p}, server: {tlsConfig: {insecureSkipVerify: true}}, ` +
		`agent: {honorLabels: true}}
prometheusRule: {enabled: true, labels: {release: p}, runbookUrl: 'https://git.example/coroner/'}
lokiRules: {enabled: true, annotations: {k8s-sidecar-target-directory: /rules/ci}}
dashboards: {enabled: true, annotations: {grafana_folder: coroner}}
networkPolicy: {enabled: true, clients: [{namespaceSelector: {}}], agentEgress: [{ports: [{port: 443}]}]}
`,
}

const chart = "chart/coroner"

// helm runs Helm, whose path is in CORONER_HELM or bin/helm.
func helm(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("CORONER_HELM")
	if program == "" {
		program = "../bin/helm"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("not shown: what the chart renders (make bin/helm builds Helm)")
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(
		os.Environ(),
		"HELM_CACHE_HOME="+t.TempDir(),
		"HELM_CONFIG_HOME="+t.TempDir(),
		"HELM_DATA_HOME="+t.TempDir(),
	)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(said.String()+string(out)))
	}
	return string(out), err
}

// thing is a rendered object.
type thing = map[string]any

// get is the value at a path of keys, nil if there is none.
func get(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(thing)
		v = m[key]
	}
	return v
}

func str(v any, path ...string) string { s, _ := get(v, path...).(string); return s }

func list(v any, path ...string) []any { l, _ := get(v, path...).([]any); return l }

func nameOf(o thing) string { return str(o, "kind") + " " + str(o, "metadata", "name") }

// rendered is what the chart makes of values.
func rendered(t *testing.T, values string) []thing {
	t.Helper()
	out, err := helm(t, values, "template", "coroner", chart, "--namespace", "coroner", "--values", "-")
	if err != nil {
		t.Fatal(err)
	}
	return things(t, out)
}

func things(t *testing.T, text string) (out []thing) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o thing
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

// of are the objects of a kind.
func of(all []thing, kind string) (out []thing) {
	for _, o := range all {
		if str(o, "kind") == kind {
			out = append(out, o)
		}
	}
	return out
}

// named is the object with that kind and name, nil if there is none.
func named(all []thing, name string) thing {
	for _, o := range all {
		if nameOf(o) == name {
			return o
		}
	}
	return nil
}

// each runs a test for every value set.
func eachSet(t *testing.T, test func(t *testing.T, all []thing)) {
	t.Helper()
	for name, values := range valueSets {
		t.Run(name, func(t *testing.T) { test(t, rendered(t, values)) })
	}
}

func TestChartLints(t *testing.T) {
	for name, values := range valueSets {
		if _, err := helm(t, values, "lint", "--strict", chart, "--values", "-"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing is made that nobody asked for, and what was asked for is there.
func TestChartMakesWhatIsAskedFor(t *testing.T) {
	server := []string{
		"PodDisruptionBudget coroner",
		"Service coroner",
		"ServiceAccount coroner",
		"StatefulSet coroner",
	}
	agent := []string{"DaemonSet coroner-agent", "ServiceAccount coroner-agent"}
	reviews := []string{"ClusterRole coroner-coroner-agents", "ClusterRoleBinding coroner-coroner-agents"}
	tls := []string{
		"ConfigMap coroner-web",
		"Job coroner-certificate",
		"Role coroner-certificate",
		"RoleBinding coroner-certificate",
		"ServiceAccount coroner-certificate",
	}
	watch := []string{"Role coroner-coroner", "RoleBinding coroner-coroner"}
	nodes := []string{"ClusterRole coroner-coroner-nodes", "ClusterRoleBinding coroner-coroner-nodes"}
	for name, want := range map[string][]string{
		"defaults":            slices.Concat(server, agent, reviews, tls),
		"no agent":            slices.Concat(server, tls),
		"no persistence":      slices.Concat(server[1:], agent, reviews, tls),
		"no review of tokens": slices.Concat(server, agent, tls),
		"no TLS":              slices.Concat(server, agent, reviews),
		"TLS and secrets":     slices.Concat(server, agent, reviews),
		"own certificate": slices.Concat(server, agent, reviews, tls[:1],
			[]string{"ServiceMonitor coroner", "PodMonitor coroner-agent"}),
		"own issuer":             slices.Concat(server, agent, reviews, tls[:1], []string{"Certificate coroner"}),
		"API watch":              slices.Concat(server, agent, reviews, tls, watch, watch, nodes),
		"API watch of pods only": slices.Concat(server, agent, reviews, tls, watch),
		"cert-manager": slices.Concat(server, agent, reviews, tls[:1],
			[]string{"Certificate coroner", "Certificate coroner-ca", "Issuer coroner-ca", "Issuer coroner-self"}),
		"a server elsewhere": slices.Concat(agent, watch, watch, nodes, []string{"Deployment coroner-relay",
			"ServiceAccount coroner-relay", "PodMonitor coroner-agent", "PodMonitor coroner-relay",
			"NetworkPolicy coroner-agent", "NetworkPolicy coroner-relay"}),
		"agents of a server elsewhere": slices.Concat(agent, reviews, []string{"ServiceAccount coroner"}),
		"other clusters":               slices.Concat(server, agent, reviews, tls),
		"everything": slices.Concat(server, agent, reviews, watch, nodes, []string{
			"ConfigMap coroner-rules", "ConfigMap coroner-loki-rules", "ConfigMap coroner-dashboard-health",
			"ConfigMap coroner-dashboard-verdicts",
			"ServiceMonitor coroner", "PodMonitor coroner-agent", "PrometheusRule coroner", "NetworkPolicy coroner",
			"NetworkPolicy coroner-agent"}),
		"other names": {"PodDisruptionBudget coroner-morgue", "Service coroner-morgue", "StatefulSet coroner-morgue",
			"DaemonSet coroner-morgue-agent", "ClusterRole coroner-coroner-morgue-agents",
			"ClusterRoleBinding coroner-coroner-morgue-agents",
			"ConfigMap coroner-morgue-web", "Job coroner-morgue-certificate", "Role coroner-morgue-certificate",
			"RoleBinding coroner-morgue-certificate", "ServiceAccount coroner-morgue-certificate"},
	} {
		var got []string
		for _, o := range rendered(t, valueSets[name]) {
			got = append(got, nameOf(o))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// Whatever an object refers to is in the chart or was named in the values.
func TestObjectsFitTogether(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		seen := map[string]bool{}
		for _, o := range all {
			key := nameOf(o) + " " + str(o, "metadata", "namespace")
			if seen[key] || str(o, "apiVersion") == "" || len(str(o, "metadata", "name")) > 63 ||
				str(o, "metadata", "labels", "app.kubernetes.io/instance") != "coroner" {
				t.Errorf("%s is there twice or lacks something", key)
			}
			seen[key] = true
		}
		for _, o := range slices.Concat(of(all, "StatefulSet"), of(all, "DaemonSet"), of(all, "Deployment")) {
			labels := get(o, "spec", "template", "metadata", "labels").(thing)
			for k, v := range get(o, "spec", "selector", "matchLabels").(thing) {
				if labels[k] != v {
					t.Errorf("%s selects %s=%v, its pods have %v", nameOf(o), k, v, labels[k])
				}
			}
			volumesAreMounted(t, o)
		}
		for _, kind := range []string{"Service", "PodDisruptionBudget"} {
			for _, o := range of(all, kind) {
				selector := get(o, "spec", "selector")
				if kind != "Service" {
					selector = get(selector, "matchLabels")
				}
				if want := get(of(all, "StatefulSet")[0], "spec", "selector", "matchLabels"); !reflect.DeepEqual(
					selector,
					want,
				) {
					t.Errorf("%s selects %v, want %v", nameOf(o), selector, want)
				}
			}
		}
	})
}

// volumesAreMounted: every volume has its mount and the other way round, and no
// two mounts have one place.
func volumesAreMounted(t *testing.T, o thing) {
	t.Helper()
	volumes, places := map[string]bool{}, map[string]bool{}
	for _, v := range append(list(o, "spec", "template", "spec", "volumes"),
		list(o, "spec", "volumeClaimTemplates")...) {
		volumes[str(v, "name")+str(v, "metadata", "name")] = true
	}
	for _, m := range list(list(o, "spec", "template", "spec", "containers")[0], "volumeMounts") {
		if !volumes[str(m, "name")] || places[str(m, "mountPath")] {
			t.Errorf("%s: the mount %v has no volume, or its place is taken", nameOf(o), m)
		}
		places[str(m, "mountPath")] = true
	}
	if len(volumes) != len(places) {
		t.Errorf("%s: %d volumes, %d mounts", nameOf(o), len(volumes), len(places))
	}
}

// The plain manifests are what the chart makes of its defaults.
func TestManifestsAreRendered(t *testing.T) {
	want, err := helm(t, "", "template", "coroner", chart, "--namespace", "coroner")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("manifests/coroner.yaml")
	if err != nil || string(got) != want {
		t.Errorf(
			"%v: the chart renders something else; make manifests renews it:\n"+
				"  bin/helm template coroner deploy/chart/coroner --namespace coroner > deploy/manifests/coroner.yaml",
			err,
		)
	}
	if namespace, err := os.ReadFile("manifests/namespace.yaml"); err != nil ||
		str(things(t, string(namespace))[0], "metadata", "name") != "coroner" {
		t.Errorf("%v: the namespace is not theirs", err)
	}
}

// A packed chart renders the same: the files that are links in the source are
// in it.
func TestPackedChartIsWhole(t *testing.T) {
	dir := t.TempDir()
	if _, err := helm(t, "", "package", chart, "--destination", dir); err != nil {
		t.Fatal(err)
	}
	packed, err := filepath.Glob(dir + "/coroner-*.tgz")
	if err != nil || len(packed) != 1 {
		t.Fatal(err, packed)
	}
	want, err := helm(t, valueSets["everything"], "template", "coroner", chart, "--values", "-")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := helm(t, valueSets["everything"], "template", "coroner", packed[0], "--values", "-"); err != nil ||
		got != want {
		t.Errorf("%v: it renders %d bytes, want %d", err, len(got), len(want))
	}
}

// The alerts of the chart are those of deploy/alerts, every one, and link to
// where coroner and its pages are.
func TestChartHoldsEveryAlert(t *testing.T) {
	const plain = "prometheusRule: {enabled: true}\nlokiRules: {enabled: true}\n"
	all := rendered(t, plain)
	var file thing
	if err := yaml.Unmarshal([]byte(text(t, "prometheus.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	if got := get(of(all, "PrometheusRule")[0], "spec", "groups"); !reflect.DeepEqual(got, file["groups"]) {
		t.Errorf("PrometheusRule: %v", got)
	}
	if got := str(named(all, "ConfigMap coroner-loki-rules"), "data", "coroner.yaml"); strings.TrimSpace(
		got,
	) != strings.TrimSpace(
		text(t, "loki.yaml"),
	) {
		t.Errorf("rules for Loki: %s", got)
	}
	all = rendered(t, valueSets["everything"])
	spec, err := yaml.Marshal(get(of(all, "PrometheusRule")[0], "spec"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{string(spec), str(named(all, "ConfigMap coroner-loki-rules"), "data",
		"coroner.yaml")} {
		for _, r := range parse(t, rules) {
			if !strings.HasPrefix(r.Annotations["list"], "https://coroner.example/?") ||
				!strings.HasPrefix(r.Annotations["runbook_url"], "https://git.example/coroner/docs/alerts.md#") {
				t.Errorf("%s links to %s and %s", r.Alert, r.Annotations["list"], r.Annotations["runbook_url"])
			}
		}
	}
}

// Every dashboard is in the chart, whole, and links to where coroner is.
func TestChartHoldsEveryDashboard(t *testing.T) {
	files, err := filepath.Glob("dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for url, values := range map[string]string{"https://coroner.example": "externalUrl: https://coroner.example\n",
		"https://coroner.coroner.svc:9095": "",
		"http://coroner.coroner.svc:9095":  "tls: {enabled: false}\n"} {
		maps := slices.DeleteFunc(
			of(rendered(t, values+"dashboards: {enabled: true, namespace: grafana}\n"), "ConfigMap"),
			func(o thing) bool { return nameOf(o) == "ConfigMap coroner-web" },
		)
		if len(maps) != len(files) {
			t.Errorf("%d dashboards, want %d", len(maps), len(files))
		}
		for i, m := range maps {
			data, err := os.ReadFile(files[i])
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(string(data), "http://coroner:9095", url)
			got := str(m, "data", "coroner-"+filepath.Base(files[i]))
			if strings.TrimSpace(got) != strings.TrimSpace(want) || !json.Valid([]byte(got)) ||
				!strings.Contains(got, url) {
				t.Errorf("%s is not %s with %s", nameOf(m), files[i], url)
			}
			if str(m, "metadata", "labels", "grafana_dashboard") != "1" ||
				str(m, "metadata", "namespace") != "grafana" {
				t.Errorf("%s: Grafana's sidecar does not find it: %v", nameOf(m), m["metadata"])
			}
		}
	}
}
