package deploy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// A value that is misspelt, or that no run could use, is refused before
// anything is installed, and the message says which it is.
func TestSenselessValuesAreRefused(t *testing.T) {
	const elsewhere = "server: {enabled: false}\nagent: {serverUrl: 'https://coroner.example'}\n"
	for values, says := range map[string]string{
		"agents: {enabled: false}":                                    "agents",
		"agent: {enable: false}":                                      "enable",
		"agent: {enabled: 'no'}":                                      "/agent/enabled",
		"agent: {stateDir: state}":                                    "/agent/stateDir",
		"agent: {stateDir: /}":                                        "/agent/stateDir",
		"agent: {stateDir: /var/../etc}":                              "/agent/stateDir",
		"agent: {journalDirs: []}":                                    "/agent/journalDirs",
		"agent: {follow: [ci/runner]}":                                "/agent/follow/0",
		"agent: {tolerations: [{operator: Exist}]}":                   "/agent/tolerations/0/operator",
		"agent: {tolerations: [{keys: a}]}":                           "/agent/tolerations/0",
		"agent: {serverUrl: 'coroner:9095'}":                          "/agent/serverUrl",
		"agent: {tls: {existingSecret: a, cert: tls.crt}}":            "/agent/tls/key",
		"agent: {tls: {cert: tls.crt, key: tls.key}}":                 "/agent/tls/existingSecret",
		"agent: {updateStrategy: {type: Recreate}}":                   "/agent/updateStrategy/type",
		"agent: {resources: {limits: {memory: lots}}}":                "/agent/resources/limits/memory",
		"agent: {resources: {limit: {memory: 1Gi}}}":                  "limit",
		"agent: {hostNetwork: true}":                                  "hostNetwork",
		"agent: {securityContext: {privileged: true}}":                "securityContext",
		"server: {replicas: 2}":                                       "replicas",
		"server: {replicas: 0}":                                       "/server/replicas",
		"server: {replicas: 2, postgres: {key: url}}":                 "replicas",
		"server: {retention: {verdicts: 90d}}":                        "/server/retention/verdicts",
		"server: {retention: {bytes: 8GiB}}":                          "/server/retention/bytes",
		"server: {retention: {bytes: -1}}":                            "/server/retention/bytes",
		"server: {persistence: {size: big}}":                          "/server/persistence/size",
		"server: {persistence: {accessModes: [ReadOnlyMany]}}":        "/server/persistence/accessModes/0",
		"server: {service: {port: 0}}":                                "/server/service/port",
		"server: {service: {type: Cluster}}":                          "/server/service/type",
		"server: {web: {tls: true}}":                                  "/server/web/existingSecret",
		"server: {image: {digest: latest}}":                           "/server/image/digest",
		"server: {podDisruptionBudget: {minAvailable: 1}}":            "minAvailable",
		"server: {extraArgs: [settle-deadline=2m]}":                   "/server/extraArgs/0",
		"runners: [amber]":                                            "/runners/0",
		"controllers: [arc-systems/a/b]":                              "/controllers/0",
		"rules: {mine.yml: 'signals: []'}":                            "mine.yml",
		"rules: {mine.yaml: {signals: []}}":                           "/rules/mine.yaml",
		"rules: {../mine.yaml: 'signals: []'}":                        "../mine.yaml",
		"apiWatch: {namespaces: ['*']}":                               "/apiWatch/namespaces/0",
		"apiWatch: {namespaces: [ci, ci]}":                            "/apiWatch/namespaces",
		"apiWatch: {ephemeralRunners: true}":                          "/apiWatch/namespaces",
		"loki: {url: 'loki:3100'}":                                    "/loki/url",
		"loki: {existingSecret: token}":                               "/loki/url",
		"loki: {url: 'http://loki', user: me}":                        "/loki/existingSecret",
		"loki: {token: secret}":                                       "token",
		"pushToken: {secret: a}":                                      "secret",
		"pushToken: {existingSecret: Push_Token}":                     "/pushToken/existingSecret",
		"externalUrl: https://coroner.example/":                       "/externalUrl",
		"tls: {hosts: ['https://coroner.example']}":                   "/tls/hosts/0",
		"tls: {existingSecret: a, certManager: {enabled: true}}":      "/tls",
		"tls: {certManager: {enabled: true, issuer: {kind: Issuer}}}": "/tls/certManager/issuer",
		"tls: {selfSigned: true}":                                     "selfSigned",
		"tokenReview: {audience: coroner}":                            "audience",
		"operatorToken: {token: secret}":                              "token",
		"webToken: {existingSecret: My_Token}":                        "/webToken/existingSecret",
		"image: {pullPolicy: Sometimes}":                              "/image/pullPolicy",
		"serviceMonitor: {enabled: true, interval: often}":            "/serviceMonitor/interval",
		"prometheusRule: {enabled: true, runbookUrl: git.example}":    "/prometheusRule/runbookUrl",
		"networkPolicy: {enabled: true, clients: [monitoring]}":       "/networkPolicy/clients/0",
		"dashboards: {labels: {grafana_dashboard: 1}}":                "/dashboards/labels/grafana_dashboard",
		"cluster: ' east'":                                            "/cluster",
		"imagePullSecrets: [mine]":                                    "/imagePullSecrets/0",
		"server: {podAnnotations: {prometheus.io/scrape: true}}":      "/server/podAnnotations/prometheus.io~1scrape",
		"server: {terminationGracePeriodSeconds: 0}":                  "/server/terminationGracePeriodSeconds",
		"github: {token: secret}":                                     "token",
		"server: {enabled: false}":                                    "agent.serverUrl",
		elsewhere + "apiWatch: {namespaces: [ci]}":                    "relay.token.existingSecret",
		"server: {enabled: 'no'}":                                     "/server/enabled",
		"relay: {enabled: true}":                                      "enabled",
		"relay: {replicas: 9}":                                        "/relay/replicas",
		"relay: {token: {existingSecret: My_Token}}":                  "/relay/token/existingSecret",
		"clusters: [{pushToken: {existingSecret: a}}]":                "name",
		"clusters: [{name: east, pushToken: {key: token}}]":           "existingSecret",
		"clusters: [{name: east, token: {existingSecret: a}}]":        "token",
		"clusters: [{name: a=b}]":                                     "/clusters/0/name",
		"clusters: [{name: ./a}]":                                     "/clusters/0/name",
		"clusters: [{name: ''}]":                                      "/clusters/0/name",
		"agent: {image: {repository: 'host.example/Coroner agent'}}":  "/agent/image/repository",
	} {
		_, err := helm(t, values, "template", "coroner", chart, "--values", "-")
		if err == nil {
			t.Errorf("%s is taken", values)
			continue
		}
		if said := strings.NewReplacer("'", "", "~1", "/").Replace(err.Error()); !strings.Contains(
			said,
			strings.ReplaceAll(says, "~1", "/"),
		) {
			t.Errorf("%s: want a word about %s: %.600s", values, says, said)
		}
	}
}

// values.yaml shows every value that there is, with a default that passes.
func TestEveryValueIsShown(t *testing.T) {
	var values any
	var schema thing
	for path, read := range map[string]func([]byte) error{
		chart + "/values.yaml":        func(b []byte) error { return yaml.Unmarshal(b, &values) },
		chart + "/values.schema.json": func(b []byte) error { return json.Unmarshal(b, &schema) },
	} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = read(data)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	delete(get(schema, "properties").(thing), "global")
	delete(get(schema, "definitions", "tolerations", "items").(thing), "properties")
	shown(t, "", values, schema, get(schema, "definitions").(thing))
}

// optional are values that stand for themselves: what is below is Kubernetes'.
var optional = map[string]bool{
	".tls.certManager.issuer": true,
	".agent.seLinuxOptions":   true,
	".server.resources":       true,
	".relay.resources":        true,
	".agent.resources":        true,
	".agent.updateStrategy":   true,
}

func shown(t *testing.T, path string, value any, schema any, definitions thing) {
	t.Helper()
	if ref := str(schema, "$ref"); ref != "" {
		schema = definitions[strings.TrimPrefix(ref, "#/definitions/")]
	}
	properties, _ := get(schema, "properties").(thing)
	if optional[path] {
		return
	}
	if len(properties) > 0 && get(schema, "additionalProperties") != false {
		t.Errorf("%s takes anything", path)
	}
	for name, sub := range properties {
		below, ok := value.(thing)[name]
		if !ok {
			t.Errorf("values.yaml does not show %s.%s", path, name)
			continue
		}
		shown(t, path+"."+name, below, sub, definitions)
	}
}
