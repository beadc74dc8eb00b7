package main

import (
	"errors"
	"strings"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest/access"
	"coroner/ingest/identity"
	"coroner/ingest/kubewatch"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// guardDoor gives the server's door its credentials.
func (s *server) guardDoor(now func() time.Time) error {
	c, door := s.cmd, s.daemon.Door
	shared, err := c.Shared()
	if err != nil {
		return usage("%w", err)
	}
	door.Shared, door.Cluster = shared, c.Cluster
	door.Reader, door.SAN, door.Open = daemon.Token(c.WebToken), c.ClientNode == "san", c.OpenPush
	if door.SAN && !door.Web().Certs {
		return usage("%w", daemon.WrongValue("push.client-node", c.ClientNode, "have --web.config.file ask for "+
			"client certificates: client_auth_type: RequireAndVerifyClientCert"))
	}
	if len(c.AgentAccount) == 0 {
		return nil
	}
	return s.addReviewers(now)
}

// addReviewers adds the API servers that know agents' tokens and where their pods are.
func (s *server) addReviewers(now func() time.Time) error {
	s.daemon.Door.Agents = map[string]access.Reviewer{}
	own, err := s.cmd.Watch.Config("push.agent-account")
	switch {
	case err == nil:
		err = s.addReviewer(s.cmd.Cluster, own, now)
		s.daemon.Door.Agents[""] = s.daemon.Door.Agents[s.cmd.Cluster] // agents need not say that they are here
	case errors.Is(err, kubewatch.ErrNoToken):
		s.kubeMetrics(s.cmd.Cluster).NoToken(s.daemon.Log, err)
		s.daemon.Door.Agents[""] = access.Nobody{Why: err}
		s.daemon.Door.Agents[s.cmd.Cluster], err = access.Nobody{Why: err}, nil
	case len(s.cmd.Review) > 0 && s.cmd.KubeConfig == "":
		err = nil // this is no pod, and need not be
	}
	for _, r := range s.cmd.Review {
		cluster, file, _ := strings.Cut(r, "=")
		config, bad := kubewatch.Config(file)
		if bad == nil {
			bad = s.addReviewer(cluster, config, now)
		}
		if bad != nil {
			err = errors.Join(err, daemon.WrongValue("push.review", r, "%w", bad))
		}
	}
	if err != nil {
		return usage("%w", err)
	}
	return nil
}

func (s *server) addReviewer(cluster string, config *rest.Config, now func() time.Time) error {
	if s.intake.Places[cluster] != nil {
		return errors.New("this is the server's own cluster")
	}
	log := s.daemon.Log
	r, err := identity.New(config, identity.Options{Cluster: cluster, Accounts: s.cmd.AgentAccount, Now: now, Log: log})
	if err != nil {
		return err
	}
	p, err := kubewatch.NewPlaces(config, log, s.kubeMetrics(cluster), now)
	if err != nil {
		return err
	}
	s.daemon.Door.Agents[cluster] = r
	s.more = append(s.more, p.Run)
	return s.intake.Remember(cluster, p)
}

// kubeMetrics are the metrics of what one cluster's API tells.
func (s *server) kubeMetrics(cluster string) *kubewatch.Metrics {
	if s.kube == nil {
		s.kube = map[string]*kubewatch.Metrics{}
	}
	if s.kube[cluster] == nil {
		reg := prometheus.WrapRegistererWith(prometheus.Labels{"cluster": cluster}, s.daemon.Registry)
		s.kube[cluster] = kubewatch.NewMetrics(reg)
	}
	return s.kube[cluster]
}

// warnOfOpenDoors says what the configuration leaves open.
func (s *server) warnOfOpenDoors() {
	for _, w := range s.daemon.Door.Warnings() {
		s.daemon.Log.Warn().Msg(w)
	}
}
