package main

import (
	"errors"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/kubewatch"
)

// checkKube refuses flags that no run could use.
func (c *serveCmd) checkKube() error {
	if !c.Watches() && len(c.AgentAccount) == 0 && c.KubeConfig != "" {
		return daemon.Wrong("kube.config", "nothing is watched without "+
			"--kube.namespace NS, --kube.nodes or --push.agent-account")
	}
	return c.Watch.Check()
}

// watchKube adds the watcher to the server's tasks where it was asked for.
func (s *server) watchKube(now func() time.Time) error {
	if !s.cmd.Watches() {
		return nil
	}
	config, o, err := s.cmd.Watch.Open(kubewatch.Options{Now: now, Log: s.daemon.Log, Receive: s.docket.Receive,
		Open: func(namespace string) ([]ingest.Entry, error) { return s.intake.Living(s.cmd.Cluster, namespace) }})
	if errors.Is(err, kubewatch.ErrNoToken) {
		s.kubeMetrics(s.cmd.Cluster).NoToken(s.daemon.Log, err)
		return nil
	} else if err != nil {
		return usage("%w", err)
	}
	w, err := kubewatch.New(config, o, s.kubeMetrics(s.cmd.Cluster))
	if err != nil {
		return usage("%w", err)
	}
	s.more = append(s.more, w.Run)
	return nil
}
