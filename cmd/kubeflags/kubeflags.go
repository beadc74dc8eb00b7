// Package kubeflags has the flags that say what is watched through the Kubernetes API.
//
// Invariant: flags that no run could use are an error before anything is asked.
//
// Crash behaviour: it keeps no state.
package kubeflags

import (
	"errors"
	"regexp"
	"sync"

	"coroner/cmd/daemon"
	"coroner/ingest/kubewatch"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Watch says what is watched: nothing by default.
type Watch struct {
	KubeNamespace []string `name:"kube.namespace" help:"${serve_kube_namespace}" placeholder:"NS"`
	KubeRunner    bool     `name:"kube.ephemeral-runners" help:"${serve_kube_ephemeral_runners}"`
	KubeNodes     bool     `name:"kube.nodes" help:"${serve_kube_nodes}"`
	KubeConfig    string   `name:"kube.config" help:"${serve_kube_config}" placeholder:"FILE"`
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Watches says whether anything is watched.
func (f *Watch) Watches() bool { return len(f.KubeNamespace) > 0 || f.KubeNodes }

// Check refuses flags that no run could use.
func (f *Watch) Check() error {
	for _, ns := range f.KubeNamespace {
		if !dnsLabel.MatchString(ns) {
			return daemon.WrongValue("kube.namespace", ns, "not the name of a namespace; "+
				"give one, and repeat the flag if there are more")
		}
	}
	if len(f.KubeNamespace) == 0 && f.KubeRunner {
		return daemon.Wrong("kube.ephemeral-runners", "say where with --kube.namespace NS")
	}
	return nil
}

// quietOnce guards klog's logger, which a watcher of the same process may be reading. The
// watcher says what there is to say.
var quietOnce sync.Once

// Config is how the API is reached; asks is the flag that needs it.
func (f *Watch) Config(asks string) (*rest.Config, error) {
	config, err := kubewatch.Config(f.KubeConfig)
	switch {
	case err == nil || errors.Is(err, kubewatch.ErrNoToken): // that is no flag's mistake
		return config, err
	case f.KubeConfig != "":
		asks = "kube.config"
	}
	return nil, daemon.Wrong(asks, "%w", err)
}

// Open is how the API is reached, and o with what is watched there.
func (f *Watch) Open(o kubewatch.Options) (*rest.Config, kubewatch.Options, error) {
	asks := "kube.namespace"
	if len(f.KubeNamespace) == 0 {
		asks = "kube.nodes"
	}
	config, err := f.Config(asks)
	quietOnce.Do(func() { klog.SetLogger(logr.Discard()) })
	o.Namespaces, o.Runners, o.Nodes = f.KubeNamespace, f.KubeRunner, f.KubeNodes
	return config, o, err
}
