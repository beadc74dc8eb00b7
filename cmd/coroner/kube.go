package main

import (
	"errors"
	"time"

	"coroner/ingest"
	"coroner/ingest/kubewatch"
)

// checkKube refuses flags that no run could use.
func (c *serveCmd) checkKube() error {
	if !c.Watches() && len(c.AgentAccount) == 0 && c.KubeConfig != "" {
		return errors.New("--kube.config: nothing is watched without " +
			"--kube.namespace NS, --kube.nodes or --push.agent-account")
	}
	return c.Watch.Check()
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
	if !s.cmd.Watches() {
		return nil
	}
	config, o, err := s.cmd.Watch.Open(
		kubewatch.Options{Open: s.livingRunners, Now: now, Log: s.daemon.Log, Receive: s.docket.Receive})
	if err != nil {
		return usage("%w", err)
	}
	w, err := kubewatch.New(config, o, s.kubeMetrics(s.cmd.Cluster))
	if err != nil {
		return usage("%w", err)
	}
	s.more = append(s.more, w.Run)
	return nil
}
