package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
)

// outside is an address of this machine that is not the loopback's: the API server forwards
// to no other. "" where there is none.
func outside() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

// logsOf answers as a kubelet does whom the API server asks for logs: those of two pods, and
// the node's journal. It stands in for a kubelet, for which there is no container runtime here.
func logsOf(t *testing.T, address, died string) (port int) {
	t.Helper()
	kubelet := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/containerLogs/ci/mill-runner-1/runner"):
			fmt.Fprintf(w, "%s √ Connected to GitHub\n%s Running job: build\n", died, died)
		case strings.HasPrefix(r.URL.Path, "/containerLogs/arc-systems/arc-gha-rs-controller-0/manager"):
			fmt.Fprintf(w, "%s %s\tINFO\tEphemeralRunner\tnothing to tell\n", died, died)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	kubelet.Listener = l
	kubelet.StartTLS()
	t.Cleanup(kubelet.Close)
	return l.Addr().(*net.TCPAddr).Port
}

// run runs a command line as a person would, of kubectl's plugin where plugin is set.
func run(plugin bool, args ...string) (out, stderr string, code int) {
	var o, e bytes.Buffer
	p := &program{out: &o, err: &e, now: time.Now, tty: func(any) bool { return false }, plugin: plugin}
	code = p.runCommand(args)
	return o.String(), e.String(), code
}

// TestCollect: against a real API server the bundle holds what it has of a runner, explain
// finds the runner in it, and kubectl coroner asks the server by its Service, or collects.
// The kubelet that the logs come from is not real, so what a kubelet refuses is not shown.
func TestCollect(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that coroner collect reads a real API server: %v", err)
	}
	address := outside()
	if address == "" {
		t.Skip("not shown: that coroner collect reads a real API server: it forwards to no loopback address, " +
			"and this machine has no other")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	died := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	deadRunner(t, k, address, died)
	config, err := k.Kubeconfig(k.URL, apiserver.Admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	kube := []string{"--kubeconfig", config}

	out, notes, code := run(
		false,
		append([]string{"collect", "pod/mill-runner-1", "-n", "ci", "-o", "bundle"}, kube...)...)
	if code != exitOK || !strings.HasPrefix(out, "cgroup-OOM (probable) · ci/mill-runner-1 · ") &&
		!strings.HasPrefix(out, "cgroup-OOM (confirmed) · ci/mill-runner-1 · ") {
		t.Errorf("ended with %d:\n%s\n%s", code, out, notes)
	}
	if !strings.Contains(notes, "not collected: the journal of the node build-7") ||
		!strings.Contains(notes, "collected into bundle") {
		t.Errorf("notes:\n%s", notes)
	}
	for pattern, want := range map[string]string{
		"objects/ci_mill-runner-1.json":            `"reason": "OOMKilled"`,
		"pods/ci_mill-runner-1_*/runner/0.log":     "Running job: build",
		"ephemeralrunner-mill-runner-1.json":       "EphemeralRunner",
		"events-mill-runner-1.json":                "BackOff",
		"node-build-7.json":                        "Ready",
		"pods/arc-systems_arc-gha-*/manager/0.log": "nothing to tell",
		"NOT-COLLECTED.txt":                        "the journal",
	} {
		paths, _ := filepath.Glob(filepath.Join("bundle", pattern))
		if len(paths) != 1 {
			t.Errorf("%s: %v", pattern, paths)
			continue
		}
		data, err := os.ReadFile(paths[0])
		if text := strings.ReplaceAll(string(data), `":"`, `": "`); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %.300s %v", pattern, want, data, err)
		}
	}
	first, _, _ := strings.Cut(out, "\n")
	if out, _, _ := run(false, "explain", "--json", "bundle"); out == "" || strings.Contains(out, "NOT-COLLECTED") {
		t.Errorf("what was not collected is evidence:\n%s", out)
	}
	archive := append([]string{"collect", "mill-runner-1", "-A", "-o", "b.tar.gz", "--no-explain"}, kube...)
	if out, notes, code := run(false, archive...); code != exitOK ||
		out != "" {
		t.Errorf("ended with %d:\n%s\n%s", code, out, notes)
	}
	if out, _, _ := run(false, "explain", "b.tar.gz"); !strings.HasPrefix(out, first) {
		t.Errorf("the archive says\n%s", out)
	}
	nobody := append([]string{"collect", "cedar-1", "-n", "ci"}, kube...)
	if out, notes, code := run(false, nobody...); code != exitUnreadable || out != "" ||
		!strings.Contains(notes, "cedar-1 not found") {
		t.Errorf("ended with %d:\n%s\n%s", code, out, notes)
	}

	plugin := append([]string{"mill-runner-1", "-n", "ci"}, kube...)
	out, notes, code = run(true, plugin...)
	if code != exitOK || !strings.HasPrefix(out, first) || !strings.Contains(notes, "no Service of coroner serve") {
		t.Errorf("without a server it ended with %d:\n%s\n%s", code, out, notes)
	}
	t.Chdir(t.TempDir())                                           // a bundle's folder is named after the second
	everywhere := append([]string{"mill-runner-1", "-A"}, kube...) // the context's namespace is another
	out, notes, code = run(true, everywhere...)
	if code != exitOK || !strings.HasPrefix(out, first) || !strings.Contains(notes, "no Service of coroner serve") {
		t.Errorf("in all namespaces without a server it ended with %d:\n%s\n%s", code, out, notes)
	}
	t.Chdir(t.TempDir())
	if out, notes, code := run(true, append([]string{"mill-runner-1"}, kube...)...); code != exitUnreadable ||
		!strings.Contains(notes, "mill-runner-1 not found") {
		t.Errorf("in another namespace without a server it ended with %d:\n%s\n%s", code, out, notes)
	}
	s := serveFor(t, "--ledger=l.db", "--web.listen-address="+net.JoinHostPort(address, "0"), "--kube.namespace=ci",
		"--kube.config="+config)
	defer s.stop()
	service(t, k, s.daemon.Addr())
	wait(t, "a verdict", func() bool { return s.verdict(t, "mill-runner-1") != "" })
	wait(t, "the way through the API server", func() bool {
		out, notes, code = run(true, plugin...)
		return code == exitOK && !strings.Contains(notes, "collected")
	})
	if all, notes, code := run(true, everywhere...); code != exitOK || all != out || notes != "" {
		t.Errorf("in all namespaces of the server it ended with %d:\n%s\n%s", code, all, notes)
	}
	if !strings.Contains(out, "· ci/mill-runner-1 ·") ||
		!strings.Contains(out, "/services/coroner:http/proxy/runners/") {
		t.Errorf("by the server's Service:\n%s\n%s", out, notes)
	}
}

// deadRunner makes a runner that was killed for its memory, its node, what made it and who
// speaks for it.
func deadRunner(t *testing.T, k *apiserver.Server, address, died string) {
	t.Helper()
	do := func(method, path, body string) string {
		t.Helper()
		answer, err := k.Do(method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	const arc = "/apis/actions.github.com/v1alpha1/namespaces/ci/ephemeralrunners"
	for _, ns := range []string{"ci", "arc-systems", "coroner"} {
		do("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+ns+`"}}`)
	}
	do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("actions.github.com", "EphemeralRunner"))
	wait(t, "the resource of EphemeralRunners", func() bool { _, err := k.Do("GET", arc, ""); return err == nil })
	do(
		"POST",
		arc,
		`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","metadata":{"name":"mill-runner-1"},`+
			`"spec":{},"status":{"phase":"Running"}}`,
	)
	do("POST", "/api/v1/nodes", `{"metadata":{"name":"build-7"}}`)
	do(
		"PATCH",
		"/api/v1/nodes/build-7/status",
		fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q}],`+
			`"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}},"conditions":[{"type":"Ready","status":"True"}]}}`,
			address, logsOf(t, address, died)),
	)
	pod := func(namespace, name, container, labels, status string) {
		path := "/api/v1/namespaces/" + namespace + "/pods"
		do("POST", path, `{"metadata":{"name":"`+name+`","labels":{`+labels+`},"ownerReferences":[{"apiVersion":`+
			`"actions.github.com/v1alpha1","kind":"EphemeralRunner","name":"`+name+`","uid":"u-1"}]},`+
			`"spec":{"nodeName":"build-7","containers":[{"name":"`+container+`","image":"x"}]}}`)
		do("PATCH", path+"/"+name+"/status", status)
	}
	pod("ci", "mill-runner-1", "runner", `"actions.github.com/scale-set-name":"mill"`, `{"status":{"phase":"Failed",`+
		`"containerStatuses":[{"name":"runner","image":"x","imageID":"y","ready":false,"restartCount":0,`+
		`"state":{"terminated":`+
		`{"exitCode":137,"reason":"OOMKilled","startedAt":"`+died+`","finishedAt":"`+died+`",`+
		`"containerID":"containerd://`+
		strings.Repeat("ab", 32)+`"}}}]}}`)
	pod("arc-systems", "arc-gha-rs-controller-0", "manager", `"app.kubernetes.io/part-of":"gha-rs-controller"`,
		`{"status":{"phase":"Running"}}`)
	do(
		"POST",
		"/api/v1/namespaces/ci/events",
		`{"metadata":{"name":"mill-runner-1.1"},"type":"Warning","reason":"BackOff",`+
			`"message":"Back-off","firstTimestamp":"`+died+`","lastTimestamp":"`+died+`","count":1,`+
			`"involvedObject":{"kind":"Pod","namespace":"ci","name":"mill-runner-1"}}`,
	)
}

// service is a Service like the chart's, which leads to an address.
func service(t *testing.T, k *apiserver.Server, address string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	const pods = "/api/v1/namespaces/coroner/pods"
	status := `{"status":{"phase":"Running","podIP":"` + host + `","podIPs":[{"ip":"` + host + `"}]}}`
	if _, err := k.Do("POST", pods, `{"metadata":{"name":"coroner-0"},"spec":{"containers":[{"name":"c",`+
		`"image":"x"}]}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Do("PATCH", pods+"/coroner-0/status", status); err != nil { // the API forwards to pods only
		t.Fatal(err)
	}
	const target = `"targetRef":{"kind":"Pod","namespace":"coroner","name":"coroner-0"}`
	for path, body := range map[string]string{
		"/api/v1/namespaces/coroner/services": `{"metadata":{"name":"coroner",` +
			`"labels":{"app.kubernetes.io/name":"coroner",` +
			`"app.kubernetes.io/component":"server"}},"spec":{"ports":[{"name":"http","port":9095,` +
			`"appProtocol":"http"}]}}`,
		"/api/v1/namespaces/coroner/endpoints": `{"metadata":{"name":"coroner"},` +
			`"subsets":[{"addresses":[{"ip":"` + host +
			`",` + target + `}],"ports":[{"name":"http","port":` + port + `}]}]}`,
		"/apis/discovery.k8s.io/v1/namespaces/coroner/endpointslices": `{"metadata":{"name":"coroner-1","labels":` +
			`{"kubernetes.io/service-name":"coroner"}},"addressType":"IPv4","endpoints":[{"addresses":["` + host +
			`"],"conditions":{"ready":true},` + target + `}],"ports":[{"name":"http",` +
			`"port":` + port + `,"protocol":"TCP"}]}`,
	} {
		if _, err := k.Do("POST", path, body); err != nil {
			t.Fatal(err)
		}
	}
}
