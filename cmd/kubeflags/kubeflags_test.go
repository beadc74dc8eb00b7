package kubeflags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/ingest/kubewatch"
)

// What no run could use is refused by the flag's name.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		flags   Watch
		watches bool
		want    string // "" = fine
	}{
		{Watch{}, false, ""},
		{Watch{KubeNodes: true}, true, ""},
		{Watch{KubeNamespace: []string{"ci", "ci-2"}, KubeRunner: true}, true, ""},
		{Watch{KubeNamespace: []string{"ci", "Not_One"}}, true, "--kube.namespace Not_One: "},
		{Watch{KubeNamespace: []string{"a,b"}}, true, "--kube.namespace a,b: "},
		{Watch{KubeNamespace: []string{""}}, true, `--kube.namespace "": `},
		{Watch{KubeNodes: true, KubeRunner: true}, true, "--kube.ephemeral-runners: "},
	} {
		err := tt.flags.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) ||
			tt.flags.Watches() != tt.watches {
			t.Errorf("%+v: %v, want %q; watches %v", tt.flags, err, tt.want, tt.flags.Watches())
		}
	}
}

// The API server is that of the file, and what is watched there is what the flags say.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kube.yaml")
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
  clusters: [{name: c, cluster: {server: 'http://192.0.2.1:6443'}}]}`
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Watch{KubeNamespace: []string{"ci"}, KubeRunner: true, KubeNodes: true, KubeConfig: file}
	config, o, err := f.Open(kubewatch.Options{})
	if err != nil || config.Host != "http://192.0.2.1:6443" || len(o.Namespaces) != 1 || !o.Runners || !o.Nodes {
		t.Errorf("%+v, %+v, %v", config, o, err)
	}
	f.KubeConfig = file + "x"
	if _, _, err := f.Open(kubewatch.Options{}); err == nil ||
		!strings.HasPrefix(err.Error(), "--kube.config: kubeconfig "+file+"x: ") {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // no pod, wherever this runs
	for want, f := range map[string]Watch{
		"--kube.nodes: this is no pod": {KubeNodes: true}, "--kube.namespace: this": {KubeNamespace: []string{"ci"}},
	} {
		if _, _, err := f.Open(kubewatch.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
