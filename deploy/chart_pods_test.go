package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func podOf(o thing) any { return get(o, "spec", "template", "spec") }

func containerOf(o thing) any { return list(podOf(o), "containers")[0] }

// Whatever the values, both programs run without privileges, capabilities and
// namespaces of the host, and cannot write into their own image.
func TestPodsAreConfined(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		for _, o := range slices.Concat(of(all, "StatefulSet"), of(all, "DaemonSet")) {
			pod, container := podOf(o), containerOf(o)
			for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
				if v := get(pod, key); v != nil && v != false {
					t.Errorf("%s: %s is %v", nameOf(o), key, v)
				}
			}
			want := thing{"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true, "capabilities": thing{"drop": []any{"ALL"}}}
			if got := get(container, "securityContext"); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the container's security context is %v", nameOf(o), got)
			}
			if got := str(pod, "securityContext", "seccompProfile", "type"); got != "RuntimeDefault" {
				t.Errorf("%s: seccomp is %q", nameOf(o), got)
			}
			if get(pod, "enableServiceLinks") != false {
				t.Errorf("%s: services set variables that begin with CORONER_", nameOf(o))
			}
			for _, part := range []string{"requests", "limits"} {
				if str(container, "resources", part, "memory") == "" {
					t.Errorf("%s: no memory in its %s", nameOf(o), part)
				}
			}
		}
		for _, o := range of(all, "StatefulSet") {
			context := get(podOf(o), "securityContext")
			if get(context, "runAsNonRoot") != true || get(context, "runAsUser") != 65532 || get(context, "fsGroup") != 65532 {
				t.Errorf("the server runs as %v", context)
			}
		}
	})
}

// The agent sees the node's logs and nothing else of it, and writes to one
// folder.
func TestAgentSeesLogsOnly(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		for _, o := range of(all, "DaemonSet") {
			readOnly := map[string]bool{}
			for _, m := range list(containerOf(o), "volumeMounts") {
				readOnly[str(m, "name")] = get(m, "readOnly") == true
			}
			var seen, written []string
			for _, v := range list(podOf(o), "volumes") {
				path := str(v, "hostPath", "path")
				if path != "" && readOnly[str(v, "name")] {
					seen = append(seen, path)
				} else if path != "" {
					written = append(written, path+" "+str(v, "hostPath", "type"))
				}
			}
			want := []string{"/var/log/journal", "/run/log/journal", "/var/log/pods", "/var/log/containers", "/etc/machine-id"}
			if extra := "/var/lib/docker/containers"; slices.Contains(seen, extra) {
				want = append(want, extra) // the values ask for it
			}
			if !slices.Equal(seen, want) || !slices.Equal(written, []string{"/var/lib/coroner-agent DirectoryOrCreate"}) {
				t.Errorf("it sees %q and writes to %q", seen, written)
			}
		}
	})
}

// Nobody has a token for the Kubernetes API, but the server where the values
// say what it may watch; and then it may read that and no more.
func TestAPIAccess(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		watches := slices.Contains(list(containerOf(of(all, "StatefulSet")[0]), "args"), any("--kube.namespace=ci"))
		for _, o := range slices.Concat(of(all, "StatefulSet"), of(all, "DaemonSet")) {
			want := watches && str(o, "kind") == "StatefulSet"
			if got := get(podOf(o), "automountServiceAccountToken"); got != want {
				t.Errorf("%s: a token is mounted: %v", nameOf(o), got)
			}
		}
		for _, o := range of(all, "ServiceAccount") {
			if get(o, "automountServiceAccountToken") != false {
				t.Errorf("%s gives its token away", nameOf(o))
			}
		}
		for _, o := range slices.Concat(of(all, "Role"), of(all, "ClusterRole")) {
			for _, r := range list(o, "rules") {
				allowed := fmt.Sprintf("%s%v%v%v", str(o, "kind"), get(r, "apiGroups"), get(r, "resources"), get(r, "verbs"))
				if !slices.Contains([]string{"Role[][pods events][get list watch]", "Role[actions.github.com][ephemeralrunners][get list watch]", "ClusterRole[][nodes][get list watch]"}, allowed) {
					t.Errorf("%s allows %s", nameOf(o), allowed)
				}
			}
		}
		for _, o := range slices.Concat(of(all, "RoleBinding"), of(all, "ClusterRoleBinding")) {
			account := str(podOf(of(all, "StatefulSet")[0]), "serviceAccountName")
			want := []any{thing{"kind": "ServiceAccount", "name": account, "namespace": "coroner"}}
			if !reflect.DeepEqual(get(o, "subjects"), any(want)) || str(o, "roleRef", "kind") != strings.TrimSuffix(str(o, "kind"), "Binding") {
				t.Errorf("%s: %v", nameOf(o), o)
			}
		}
	})
}

// One Role stands in each namespace of the runners.
func TestAPIWatchIsPerNamespace(t *testing.T) {
	var got []string
	for _, o := range of(rendered(t, valueSets["API watch"]), "RoleBinding") {
		got = append(got, str(o, "metadata", "namespace"))
	}
	if !slices.Equal(got, []string{"ci", "ci-2"}) {
		t.Errorf("%q", got)
	}
}

// Agents run on tainted nodes; the kubelet asks the programs for their state;
// with a web configuration it cannot know the password, and only tries the port.
func TestPlacementAndProbes(t *testing.T) {
	for name, probe := range map[string]string{"defaults": "httpGet", "TLS and secrets": "tcpSocket"} {
		all := rendered(t, valueSets[name])
		agent, server := of(all, "DaemonSet")[0], of(all, "StatefulSet")[0]
		if got := list(podOf(agent), "tolerations"); len(got) != 1 || str(got[0], "operator") != "Exists" || str(got[0], "key") != "" {
			t.Errorf("the agent tolerates %v", got)
		}
		for path, want := range map[string]any{"readinessProbe": "/-/ready", "livenessProbe": "/-/healthy"} {
			if got := get(containerOf(agent), path, "httpGet", "path"); got != want {
				t.Errorf("agent: %s asks %v", path, got)
			}
			got := get(containerOf(server), path, probe)
			if str(got, "port") != "http" || probe == "httpGet" && get(got, "path") != want {
				t.Errorf("server: %s is %v", path, get(containerOf(server), path))
			}
		}
		env := list(containerOf(agent), "env")
		if str(env[0], "valueFrom", "fieldRef", "fieldPath") != "spec.nodeName" || !slices.Contains(list(containerOf(agent), "args"), any("--node=$("+str(env[0], "name")+")")) {
			t.Errorf("the agent does not know its node: %v", env)
		}
	}
}

// Agents and Prometheus reach the server, the server reaches Loki and DNS, and
// nobody else is let in.
func TestNetworkPolicy(t *testing.T) {
	all := rendered(t, "networkPolicy: {enabled: true}\n")
	server, agent := of(all, "NetworkPolicy")[0], of(all, "NetworkPolicy")[1]
	monitoring := thing{"namespaceSelector": thing{"matchLabels": thing{"kubernetes.io/metadata.name": "monitoring"}}}
	agents := thing{"podSelector": get(agent, "spec", "podSelector")}
	in := list(server, "spec", "ingress")
	if len(in) != 1 || !reflect.DeepEqual(get(in[0], "from"), any([]any{agents, monitoring})) || str(list(in[0], "ports")[0], "port") != "http" {
		t.Errorf("into the server: %v", in)
	}
	in = list(agent, "spec", "ingress")
	if len(in) != 1 || !reflect.DeepEqual(get(in[0], "from"), any([]any{monitoring})) {
		t.Errorf("into the agents: %v", in)
	}
	out := list(agent, "spec", "egress")
	if to := list(out[len(out)-1], "to"); len(out) != 2 || !reflect.DeepEqual(get(to[0], "podSelector"), get(server, "spec", "podSelector")) {
		t.Errorf("out of the agents: %v", out)
	}
	if ports := fmt.Sprint(list(server, "spec", "egress")); !strings.Contains(ports, "port:53") || !strings.Contains(ports, "port:3100") || strings.Contains(ports, "port:6443") {
		t.Errorf("out of the server: %s", ports)
	}
	for _, o := range []thing{server, agent} {
		if !reflect.DeepEqual(get(o, "spec", "policyTypes"), any([]any{"Ingress", "Egress"})) {
			t.Errorf("%s: %v", nameOf(o), get(o, "spec", "policyTypes"))
		}
	}
}

// program is a built program's path; CORONER_BIN says where they are.
func program(t *testing.T, name, what string) string {
	t.Helper()
	bin := os.Getenv("CORONER_BIN")
	if bin == "" {
		t.Skipf("not shown: %s (make chart shows it)", what)
	}
	path, err := filepath.Abs(filepath.Join(bin, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var flagOf = regexp.MustCompile(`(?m)^\s+(?:-\w, )?(--[a-z][\w.-]*)`)

// Every flag that the chart passes is one that the program has.
func TestProgramsKnowTheirFlags(t *testing.T) {
	for kind, command := range map[string][]string{"StatefulSet": {"coroner", "serve", "--help"}, "DaemonSet": {"coroner-agent", "--help"}} {
		help, err := exec.Command(program(t, command[0], "that the programs know the chart's flags"), command[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, m := range flagOf.FindAllSubmatch(help, -1) {
			known[string(m[1])] = true
		}
		passed := 0
		for name, values := range valueSets {
			for _, o := range of(rendered(t, values), kind) {
				for _, arg := range list(containerOf(o), "args") {
					flag, _, _ := strings.Cut(arg.(string), "=")
					if passed++; strings.HasPrefix(flag, "--") && !known[flag] {
						t.Errorf("%s: %s does not know %s", name, command[0], arg)
					}
				}
			}
		}
		if passed < 20 || len(known) < 20 {
			t.Errorf("%s: only %d arguments, %d flags", command[0], passed, len(known))
		}
	}
}
