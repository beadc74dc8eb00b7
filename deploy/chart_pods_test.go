package deploy

import (
	"cmp"
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

// watchers are what may watch the Kubernetes API: the server, or a relay.
func watchers(all []thing) []thing {
	return slices.Concat(of(all, "StatefulSet"), of(all, "Deployment"))
}

// Whatever the values, both programs run without privileges, capabilities and
// namespaces of the host, and cannot write into their own image.
func TestPodsAreConfined(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		for _, o := range slices.Concat(watchers(all), of(all, "DaemonSet"), of(all, "Job")) {
			pod, container := podOf(o), containerOf(o)
			for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
				if v := get(pod, key); v != nil && v != false {
					t.Errorf("%s: %s is %v", nameOf(o), key, v)
				}
			}
			want := thing{
				"allowPrivilegeEscalation": false,
				"privileged":               false,
				"readOnlyRootFilesystem":   true,
				"capabilities":             thing{"drop": []any{"ALL"}},
			}
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
		for _, o := range slices.Concat(watchers(all), of(all, "Job")) {
			context := get(podOf(o), "securityContext")
			if get(context, "runAsNonRoot") != true || get(context, "runAsUser") != 65532 {
				t.Errorf("%s runs as %v", nameOf(o), context)
			}
			if str(o, "kind") != "Job" && get(context, "fsGroup") != 65532 {
				t.Errorf("the volumes of %s are for %v", nameOf(o), context)
			}
		}
	})
}

// As it is delivered the server has 512 MiB, of which it knows, and the agent cannot
// take a node's processors.
func TestDefaultLimits(t *testing.T) {
	all := rendered(t, "")
	for _, o := range of(all, "StatefulSet") {
		container := containerOf(o)
		if got := str(container, "resources", "limits", "memory"); got != "512Mi" {
			t.Errorf("the server may have %q of memory", got)
		}
		env := list(container, "env")
		told := func(v any) bool {
			from := get(v, "valueFrom", "resourceFieldRef")
			return str(v, "name") == "CORONER_MEMORY_LIMIT" && str(from, "resource") == "limits.memory"
		}
		if !slices.ContainsFunc(env, told) {
			t.Errorf("the server is not told its limit: %v", env)
		}
	}
	for _, o := range of(all, "DaemonSet") {
		for what, want := range map[string]string{"memory": "192Mi", "cpu": "500m"} {
			if got := str(containerOf(o), "resources", "limits", what); got != want {
				t.Errorf("the agent may have %q of %s, want %s", got, what, want)
			}
		}
	}
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
			want := []string{
				"/var/log/journal",
				"/run/log/journal",
				"/var/log/pods",
				"/var/log/containers",
				"/etc/machine-id",
			}
			if extra := "/var/lib/docker/containers"; slices.Contains(seen, extra) {
				want = append(want, extra) // the values ask for it
			}
			if !slices.Equal(seen, want) ||
				!slices.Equal(written, []string{"/var/lib/coroner-agent DirectoryOrCreate"}) {
				t.Errorf("it sees %q and writes to %q", seen, written)
			}
		}
	})
}

// may are the rights that somebody can have of the Kubernetes API, each to read
// unless it says otherwise.
var may = []string{"Role[][pods events][get list watch]",
	"Role[actions.github.com][ephemeralrunners ephemeralrunnersets autoscalingrunnersets autoscalinglisteners]" +
		"[get list watch]",
	"Role[actions.summerwind.dev][runners runnerdeployments runnerreplicasets runnersets " +
		"horizontalrunnerautoscalers][get list watch]",
	"ClusterRole[][nodes][get list watch]", "ClusterRole[authentication.k8s.io][tokenreviews][create]",
	"ClusterRole[][pods][list watch]", "Role[][secrets][create]", "Role[][secrets][get update][coroner-tls]",
	"Role[][namespaces][get][ci]", "Role[][namespaces][get][ci-2]"} // each about itself only

// Nobody has a token for the Kubernetes API, but the server, or the relay where that is
// elsewhere, if the values say what it may watch or review, and the job that makes the
// certificate; and then it may do that and no more.
func TestAPIAccess(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		account := "coroner" // of a server elsewhere that reviews the agents' tokens
		for _, o := range slices.Concat(watchers(all), of(all, "DaemonSet"), of(all, "Job")) {
			want := str(o, "kind") == "Job"
			if str(o, "kind") != "DaemonSet" && !want {
				args := fmt.Sprint(list(containerOf(o), "args"))
				want = strings.Contains(args, "--kube.namespace=ci") || strings.Contains(args, "--push.agent-account=")
				account = str(podOf(o), "serviceAccountName")
			}
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
				allowed := fmt.Sprintf(
					"%s%v%v%v",
					str(o, "kind"),
					get(r, "apiGroups"),
					get(r, "resources"),
					get(r, "verbs"),
				)
				if names := get(r, "resourceNames"); names != nil {
					allowed += strings.Replace(fmt.Sprint(names), "-morgue", "", 1)
				}
				if !slices.Contains(may, allowed) {
					t.Errorf("%s allows %s", nameOf(o), allowed)
				}
			}
		}
		for _, o := range slices.Concat(of(all, "RoleBinding"), of(all, "ClusterRoleBinding")) {
			whose := account
			if strings.HasSuffix(nameOf(o), "-certificate") {
				whose = str(podOf(of(all, "Job")[0]), "serviceAccountName")
			}
			want := []any{thing{"kind": "ServiceAccount", "name": whose, "namespace": "coroner"}}
			if !reflect.DeepEqual(get(o, "subjects"), any(want)) ||
				str(o, "roleRef", "kind") != strings.TrimSuffix(str(o, "kind"), "Binding") {
				t.Errorf("%s: %v", nameOf(o), o)
			}
		}
	})
}

// Agents prove their node: what they mount is a token for the server alone, and the
// server believes the account that they have. With no review they have the shared one.
func TestAgentsHaveACredential(t *testing.T) {
	eachSet(t, func(t *testing.T, all []thing) {
		if of(all, "StatefulSet") == nil { // it is elsewhere, see TestAServerElsewhere
			return
		}
		server := list(containerOf(of(all, "StatefulSet")[0]), "args")
		for _, o := range of(all, "DaemonSet") {
			account := "--push.agent-account=coroner/" + str(podOf(o), "serviceAccountName")
			source := ""
			for _, v := range list(podOf(o), "volumes") {
				if str(v, "name") == "token" {
					source = fmt.Sprint(get(v, "projected", "sources"))
				}
			}
			agent := list(containerOf(o), "args")
			reviewed := slices.Contains(server, any(account)) &&
				slices.Contains(agent, any("--server.token-file=/etc/coroner/agent/token")) &&
				source == "[map[serviceAccountToken:map[audience:coroner expirationSeconds:3600 path:token]]]"
			shared := slices.Contains(server, any("--push.token-file=/etc/coroner/push/token")) &&
				slices.Contains(agent, any("--server.token-file=/etc/coroner/push/token")) && source == ""
			if !reviewed && !shared {
				t.Errorf("the agent has %v and %s, the server %v", agent, source, server)
			}
		}
	})
	if _, err := helm(t, "", "template", "coroner", chart, "--kube-version", "1.29.3"); err == nil ||
		!strings.Contains(err.Error(), "Kubernetes 1.30") {
		t.Errorf("on a cluster that cannot bind tokens: %v", err)
	}
	if _, err := helm(t, "tokenReview: {enabled: false}\n", "template", "coroner", chart, "--kube-version", "1.29.3",
		"--values", "-"); err != nil {
		t.Errorf("there without a review: %v", err)
	}
}

// Agents reach the server with TLS and trust whoever made its certificate, however it
// is made; nobody but the server has its key.
func TestTLS(t *testing.T) {
	for name, c := range map[string]struct{ secret, url string }{
		"defaults":        {"coroner-tls", "https://coroner.coroner.svc:9095"},
		"own certificate": {"mine", "https://coroner.coroner.svc:9095"},
		"cert-manager":    {"coroner-tls", "https://coroner.coroner.svc:9095"},
		"other names":     {"coroner-morgue-tls", "https://coroner-morgue.coroner.svc:9095"},
		"no TLS":          {"", "http://coroner.coroner.svc:9095"},
		"TLS and secrets": {"", "https://coroner.coroner.svc:9095"},
	} {
		all := rendered(t, valueSets[name])
		keys := func(kind string) (out string) {
			for _, v := range list(podOf(of(all, kind)[0]), "volumes") {
				if secret := get(v, "secret"); str(v, "name") == "ca" {
					out = str(secret, "secretName") + fmt.Sprint(get(secret, "items"))
				}
				for _, s := range list(v, "projected", "sources") {
					if get(s, "secret") != nil {
						out = str(s, "secret", "name") + fmt.Sprint(get(s, "secret", "items"))
					}
				}
			}
			return out
		}
		server, agent := "", ""
		if c.secret != "" {
			server, agent = c.secret+"[map[key:tls.crt path:tls.crt] map[key:tls.key path:tls.key]]",
				c.secret+"[map[key:ca.crt path:ca.crt]]"
		}
		if got := keys("StatefulSet"); got != server {
			t.Errorf("%s: the server has %s", name, got)
		}
		if got := keys("DaemonSet"); got != agent {
			t.Errorf("%s: the agents have %s", name, got)
		}
		args := list(containerOf(of(all, "DaemonSet")[0]), "args")
		if !slices.Contains(args, any("--server.url="+c.url)) ||
			slices.Contains(args, any("--server.ca-file=/etc/coroner/ca/ca.crt")) != (c.secret != "") {
			t.Errorf("%s: the agents are told %v", name, args)
		}
		for _, job := range of(all, "Job") {
			if got := list(containerOf(job), "args"); !slices.Contains(got, any("--secret=coroner/"+c.secret)) ||
				!slices.Contains(
					got,
					any("--host="+strings.TrimSuffix(strings.TrimPrefix(c.url, "https://"), ":9095")),
				) {
				t.Errorf("%s: the job makes %v", name, got)
			}
			if hook := str(job, "metadata", "annotations", "helm.sh/hook"); hook != "pre-install,pre-upgrade" {
				t.Errorf("%s: the job runs at %q", name, hook)
			}
		}
	}
}

// One Role stands in each namespace of the runners.
func TestAPIWatchIsPerNamespace(t *testing.T) {
	var got []string
	for _, o := range of(rendered(t, valueSets["API watch"]), "RoleBinding") {
		if str(o, "metadata", "name") == "coroner-coroner" {
			got = append(got, str(o, "metadata", "namespace"))
		}
	}
	if !slices.Equal(got, []string{"ci", "ci-2"}) {
		t.Errorf("%q", got)
	}
}

// Two releases of one name, each in a namespace of its own, have no object in common: each
// watches the same runners, with rights of its own.
func TestReleasesShareNothing(t *testing.T) {
	all := map[string]string{}
	for _, release := range []string{"coroner", "staging"} {
		values := valueSets["API watch"] + "dashboards: {enabled: true, namespace: grafana}\n"
		out, err := helm(t, values, "template", "coroner", chart, "--namespace", release, "--values", "-")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range things(t, out) {
			key := str(o, "metadata", "namespace") + " " + nameOf(o)
			if other := all[key]; other != "" && other != release {
				t.Errorf("%s is in the release in %s, too", key, other)
			}
			all[key] = release
		}
	}
}

// Agents run on tainted nodes; the kubelet asks the programs for their state;
// with a web configuration it cannot know the password, and only tries the port.
func TestPlacementAndProbes(t *testing.T) {
	for name, probe := range map[string]string{"defaults": "httpGet", "TLS and secrets": "tcpSocket"} {
		all := rendered(t, valueSets[name])
		agent, server := of(all, "DaemonSet")[0], of(all, "StatefulSet")[0]
		if got := list(podOf(agent), "tolerations"); len(got) != 1 || str(got[0], "operator") != "Exists" ||
			str(got[0], "key") != "" {
			t.Errorf("the agent tolerates %v", got)
		}
		for path, want := range map[string]any{"readinessProbe": "/-/ready", "livenessProbe": "/-/healthy"} {
			if got := get(containerOf(agent), path, "httpGet", "path"); got != want {
				t.Errorf("agent: %s asks %v", path, got)
			}
			got := get(containerOf(server), path, probe)
			if str(got, "port") != "http" ||
				probe == "httpGet" && (get(got, "path") != want || get(got, "scheme") != "HTTPS") {
				t.Errorf("server: %s is %v", path, get(containerOf(server), path))
			}
		}
		env := list(containerOf(agent), "env")
		if str(env[0], "valueFrom", "fieldRef", "fieldPath") != "spec.nodeName" ||
			!slices.Contains(list(containerOf(agent), "args"), any("--node=$("+str(env[0], "name")+")")) {
			t.Errorf("the agent does not know its node: %v", env)
		}
	}
}

// Several servers have a database, whose URL is in no argument, and no volume; they are kept
// apart, and no drain takes more than one.
func TestServersThatShareADatabase(t *testing.T) {
	all := rendered(t, "server: {replicas: 3, postgres: {existingSecret: coroner-db-app}}")
	set := of(all, "StatefulSet")[0]
	server := containerOf(set)
	if n := get(set, "spec", "replicas"); fmt.Sprint(n) != "3" {
		t.Errorf("%v replicas", n)
	}
	if got := list(set, "spec", "volumeClaimTemplates"); len(got) != 0 {
		t.Errorf("a volume: %v", got)
	}
	for _, arg := range list(server, "args") {
		if strings.HasPrefix(arg.(string), "--ledger") {
			t.Errorf("%v", arg)
		}
	}
	ledger := list(server, "env")[1]
	if str(ledger, "name") != "CORONER_LEDGER" ||
		str(ledger, "valueFrom", "secretKeyRef", "name") != "coroner-db-app" ||
		str(ledger, "valueFrom", "secretKeyRef", "key") != "uri" {
		t.Errorf("the database is %v", ledger)
	}
	if got := list(podOf(set), "topologySpreadConstraints"); len(got) != 1 ||
		str(got[0], "topologyKey") != "kubernetes.io/hostname" {
		t.Errorf("spread by %v", got)
	}
	if n := get(of(all, "PodDisruptionBudget")[0], "spec", "maxUnavailable"); fmt.Sprint(n) != "1" {
		t.Errorf("a drain takes %v", n)
	}
	one := of(rendered(t, valueSets["defaults"]), "StatefulSet")[0]
	if got := list(podOf(one), "topologySpreadConstraints"); len(got) != 0 {
		t.Errorf("one server is spread by %v", got)
	}
}

// The cluster's name goes to both programs: what the agents of another cluster send
// to this server is told apart by it.
func TestClusterOfBothPrograms(t *testing.T) {
	for values, want := range map[string]bool{"": false, "cluster: east 1\n": true} {
		all := rendered(t, values)
		for _, kind := range []string{"DaemonSet", "StatefulSet"} {
			args := list(containerOf(of(all, kind)[0]), "args")
			if got := slices.Contains(args, any("--cluster=east 1")); got != want {
				t.Errorf("%q: the %s has %v", values, kind, args)
			}
		}
	}
}

// Where the server is in another cluster agents and relay push there, each with its own
// token, and trust the certificate that they are given; where that token comes from an
// account the server has to review it, and nothing here is open to it.
func TestAServerElsewhere(t *testing.T) {
	all := rendered(t, valueSets["a server elsewhere"])
	const url, ca = "--server.url=https://coroner.example", "--server.ca-file=/etc/coroner/tls/ca.crt"
	for kind, token := range map[string]string{"DaemonSet": "--server.token-file=/etc/coroner/push/token",
		"Deployment": "--server.token-file=/etc/coroner/relay/token"} {
		args := list(containerOf(of(all, kind)[0]), "args")
		for _, want := range []string{url, ca, token, "--cluster=east"} {
			if !slices.Contains(args, any(want)) {
				t.Errorf("the %s lacks %s: %v", kind, want, args)
			}
		}
		if watches := slices.Contains(args, any("--kube.namespace=ci-2")); watches != (kind == "Deployment") {
			t.Errorf("the %s has %v", kind, args)
		}
	}
	volumes := fmt.Sprint(list(podOf(of(all, "Deployment")[0]), "volumes"))
	if !strings.Contains(volumes, "secretName:relay") || strings.Contains(volumes, "secretName:push") {
		t.Errorf("the relay has %s", volumes)
	}
	out := fmt.Sprint(list(named(all, "NetworkPolicy coroner-relay"), "spec", "egress"))
	if !strings.Contains(out, "port:6443") || strings.Contains(fmt.Sprint(named(all, "NetworkPolicy coroner-agent")),
		"component:server") {
		t.Errorf("out of the relay: %s", out)
	}
	agents := rendered(t, valueSets["agents of a server elsewhere"])
	args := list(containerOf(of(agents, "DaemonSet")[0]), "args")
	if !slices.Contains(args, any("--server.token-file=/etc/coroner/agent/token")) || len(of(agents, "Service")) > 0 {
		t.Errorf("its agents have %v", args)
	}
}

// Each other cluster has its own tokens at the server, of which none is another's.
func TestOtherClusters(t *testing.T) {
	server := of(rendered(t, valueSets["other clusters"]), "StatefulSet")[0]
	var got []string
	for _, arg := range list(containerOf(server), "args") {
		if a := arg.(string); strings.Contains(a, "token-file") {
			got = append(got, a)
		}
	}
	want := []string{"--push.token-file=east=/etc/coroner/push-0/token",
		"--push.relay-token-file=east=/etc/coroner/relay-0/token",
		"--push.relay-token-file=west 2=/etc/coroner/relay-1/token"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	volumes := fmt.Sprint(list(podOf(server), "volumes"))
	for _, secret := range []string{"key:token path:token]] secretName:push-east",
		"key:secret path:token]] secretName:relay-east", "key:token path:token]] secretName:relay-west"} {
		if !strings.Contains(volumes, secret) {
			t.Errorf("no %s: %s", secret, volumes)
		}
	}
}

// Agents and Prometheus reach the server, the server reaches Loki and DNS, and
// nobody else is let in.
func TestNetworkPolicy(t *testing.T) {
	all := rendered(t, "networkPolicy: {enabled: true}\ntokenReview: {enabled: false}\n")
	server, agent := of(all, "NetworkPolicy")[0], of(all, "NetworkPolicy")[1]
	monitoring := thing{"namespaceSelector": thing{"matchLabels": thing{"kubernetes.io/metadata.name": "monitoring"}}}
	agents := thing{"podSelector": get(agent, "spec", "podSelector")}
	in := list(server, "spec", "ingress")
	if len(in) != 1 || !reflect.DeepEqual(get(in[0], "from"), any([]any{agents, monitoring})) ||
		str(list(in[0], "ports")[0], "port") != "http" {
		t.Errorf("into the server: %v", in)
	}
	in = list(agent, "spec", "ingress")
	if len(in) != 1 || !reflect.DeepEqual(get(in[0], "from"), any([]any{monitoring})) {
		t.Errorf("into the agents: %v", in)
	}
	out := list(agent, "spec", "egress")
	if to := list(out[len(out)-1], "to"); len(out) != 2 ||
		!reflect.DeepEqual(get(to[0], "podSelector"), get(server, "spec", "podSelector")) {
		t.Errorf("out of the agents: %v", out)
	}
	if ports := fmt.Sprint(list(server, "spec", "egress")); !strings.Contains(ports, "port:53") ||
		!strings.Contains(ports, "port:3100") ||
		strings.Contains(ports, "port:6443") {
		t.Errorf("out of the server: %s", ports)
	}
	asking := of(rendered(t, "networkPolicy: {enabled: true}\n"), "NetworkPolicy")[0]
	if ports := fmt.Sprint(list(asking, "spec", "egress")); !strings.Contains(ports, "port:6443") {
		t.Errorf("out of a server that reviews tokens: %s", ports)
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
	fewer := map[string]int{"Deployment": 10} // in one set of values only
	for kind, command := range map[string][]string{"StatefulSet": {"coroner", "serve", "--help"},
		"DaemonSet":  {"coroner-agent", "--help"},
		"Deployment": {"coroner", "relay", "--help"},
		"Job":        {"coroner", "certificate", "--help"}} {
		help, err := exec.Command(program(t, command[0], "that the programs know the chart's flags"), command[1:]...).
			Output()
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
		if passed < cmp.Or(fewer[kind], 20) || len(known) < 4 {
			t.Errorf("%s: only %d arguments, %d flags", command[0], passed, len(known))
		}
	}
}
