package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/kubewatch"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// kubeFlags say what is watched through the Kubernetes API: nothing by default.
type kubeFlags struct {
	KubeNamespace []string `name:"kube.namespace" help:"Watch the pods and events of this namespace through the Kubernetes API, so that exit records are known without a controller's log; may be given several times. Needs get, list and watch on both. Default: the API is not used." placeholder:"NS"`
	KubeRunner    bool     `name:"kube.ephemeral-runners" help:"Watch the EphemeralRunners of actions-runner-controller in these namespaces too: they name the runner's job."`
	KubeNodes     bool     `name:"kube.nodes" help:"Watch the cluster's nodes too: their conditions and boot ids. Needs a ClusterRole with get, list and watch on nodes."`
	KubeConfig    string   `name:"kube.config" help:"Kubeconfig file. Default: the pod's own service account." placeholder:"FILE"`
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkKube refuses flags that no run could use.
func (c *serveCmd) checkKube() error {
	f := &c.kubeFlags
	for _, ns := range f.KubeNamespace {
		if !dnsLabel.MatchString(ns) {
			return fmt.Errorf("--kube.namespace %s: not the name of a namespace; give one, several times where there are more", ns)
		}
	}
	if len(f.KubeNamespace) == 0 && f.KubeRunner {
		return errors.New("--kube.ephemeral-runners: say where with --kube.namespace NS")
	}
	if len(f.KubeNamespace)+len(c.AgentAccount) == 0 && !f.KubeNodes && f.KubeConfig != "" {
		return errors.New("--kube.config: nothing is watched without --kube.namespace NS, --kube.nodes or --push.agent-account")
	}
	return nil
}

// living names the runners of a namespace of the server's own cluster that are not
// known to have ended.
func (s *server) living(namespace string) (out []ingest.Entry) {
	open, err := s.ledger.Cases(context.Background(), ledger.StateOpen, 0)
	if err != nil {
		s.daemon.Log.Error().Err(err).Msg("looking for the runners that lived before")
	}
	for _, c := range open {
		if c.Runner && c.UID != "" && c.Namespace == namespace && c.Cluster == s.cmd.Cluster {
			out = append(out, ingest.Entry{Cluster: c.Cluster, Namespace: c.Namespace, Pod: c.Name, PodUID: c.UID, Node: c.Node})
		}
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
	w, err := kubewatch.New(config, kubewatch.Options{Namespaces: f.KubeNamespace, Runners: f.KubeRunner, Nodes: f.KubeNodes,
		Open: s.living, Now: now, Log: s.daemon.Log, Receive: s.docket.Receive}, s.kubeMetrics(s.cmd.Cluster))
	if err != nil {
		return usage("%w", err)
	}
	s.more = append(s.more, w.Run)
	return nil
}
