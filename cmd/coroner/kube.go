package main

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"coroner/ingest"
	"coroner/ingest/kubewatch"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// kubeFlags say what is watched through the Kubernetes API: nothing by default.
type kubeFlags struct {
	KubeNamespace []string `name:"kube.namespace" help:"${serve_kube_namespace}" placeholder:"NS"`
	KubeRunner    bool     `name:"kube.ephemeral-runners" help:"${serve_kube_ephemeral_runners}"`
	KubeNodes     bool     `name:"kube.nodes" help:"${serve_kube_nodes}"`
	KubeConfig    string   `name:"kube.config" help:"${serve_kube_config}" placeholder:"FILE"`
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkKube refuses flags that no run could use.
func (c *serveCmd) checkKube() error {
	f := &c.kubeFlags
	for _, ns := range f.KubeNamespace {
		if !dnsLabel.MatchString(ns) {
			return fmt.Errorf("--kube.namespace %s: not the name of a namespace; "+
				"give one, and repeat the flag if there are more", ns)
		}
	}
	if len(f.KubeNamespace) == 0 && f.KubeRunner {
		return errors.New("--kube.ephemeral-runners: say where with --kube.namespace NS")
	}
	if len(f.KubeNamespace)+len(c.AgentAccount) == 0 && !f.KubeNodes && f.KubeConfig != "" {
		return errors.New("--kube.config: nothing is watched without " +
			"--kube.namespace NS, --kube.nodes or --push.agent-account")
	}
	return nil
}

// livingRunners names the runners of a namespace of the server's own cluster that are not
// known to have ended.
func (s *server) livingRunners(namespace string) []ingest.Entry {
	out, err := s.intake.Living(s.cmd.Cluster, namespace)
	if err != nil {
		s.daemon.Log.Error().Err(err).Msg("cannot look for the runners that lived before the restart")
	}
	return out
}

// watchKube adds the watcher to the server's tasks where it was asked for.
func (s *server) watchKube(now func() time.Time) error {
	f := &s.cmd.kubeFlags
	if len(f.KubeNamespace) == 0 && !f.KubeNodes {
		return nil
	}
	config, err := kubewatch.Config(f.KubeConfig)
	if err != nil {
		return usage("%w", err)
	}
	klog.SetLogger(logr.Discard()) // the watcher says what there is to say
	w, err := kubewatch.New(config, kubewatch.Options{
		Namespaces: f.KubeNamespace,
		Runners:    f.KubeRunner,
		Nodes:      f.KubeNodes,
		Open:       s.livingRunners,
		Now:        now,
		Log:        s.daemon.Log,
		Receive:    s.docket.Receive,
	}, s.kubeMetrics(s.cmd.Cluster))
	if err != nil {
		return usage("%w", err)
	}
	s.more = append(s.more, w.Run)
	return nil
}
