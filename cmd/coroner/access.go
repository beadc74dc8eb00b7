package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/docket"
	"coroner/classify/ledger"
	"coroner/cmd/daemon"
	"coroner/ingest"
	"coroner/ingest/access"
	"coroner/ingest/identity"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// accessFlags say whom the server believes.
type accessFlags struct {
	AgentAccount []string `name:"push.agent-account" help:"Service account of agents." placeholder:"NS/NAME"`
	Review       []string `name:"push.review" help:"API of another cluster with agents." placeholder:"CLUSTER=KUBECONFIG"`
	ClientNode   string   `name:"push.client-node" help:"san: client certificates name the node." enum:",san" default:""`
	OpenPush     bool     `name:"push.open" help:"Believe everybody, where no credential is configured."`
	WebToken     string   `name:"web.token-file" help:"File with the token for the pages and the API." placeholder:"FILE"`
}

func (f *accessFlags) check() error {
	for _, a := range f.AgentAccount {
		if ns, name, ok := strings.Cut(a, "/"); !ok || ns == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("--push.agent-account %s: want NAMESPACE/NAME", a)
		}
	}
	if len(f.AgentAccount) == 0 && len(f.Review) > 0 {
		return errors.New("--push.review: say whose tokens are agents' with --push.agent-account NAMESPACE/NAME")
	}
	seen := map[string]bool{}
	for _, r := range f.Review {
		cluster, file, ok := strings.Cut(r, "=")
		if !ok || cluster == "" || file == "" || seen[cluster] {
			return fmt.Errorf("--push.review %s: want CLUSTER=KUBECONFIG, once for each cluster", r)
		}
		seen[cluster] = true
	}
	return nil
}

// guard gives the server's door its credentials.
func (s *server) guard(now func() time.Time) error {
	c, door := s.cmd, s.daemon.Door
	shared, err := c.pushers()
	if err != nil {
		return usage("%w", err)
	}
	door.Shared, door.Cluster = shared, c.Cluster
	door.Reader, door.SAN, door.Open = daemon.Token(c.WebToken), c.ClientNode == "san", c.OpenPush
	if door.SAN && !door.Web().Certs {
		return usage("--push.client-node=san: have --web.config.file ask for client certificates: " +
			"client_auth_type: RequireAndVerifyClientCert")
	}
	if len(c.AgentAccount) == 0 {
		return nil
	}
	return s.reviews(now)
}

// reviews adds the API servers that know agents' tokens and where their pods are.
func (s *server) reviews(now func() time.Time) error {
	s.daemon.Door.Agents, s.places = map[string]access.Reviewer{}, map[string]*kubewatch.Places{}
	own, err := kubewatch.Config(s.cmd.KubeConfig)
	switch {
	case err == nil:
		err = s.review(s.cmd.Cluster, own, now)
		s.daemon.Door.Agents[""] = s.daemon.Door.Agents[s.cmd.Cluster] // agents need not say that they are here
	case len(s.cmd.Review) > 0 && s.cmd.KubeConfig == "":
		err = nil // this is no pod, and need not be
	}
	for _, r := range s.cmd.Review {
		cluster, file, _ := strings.Cut(r, "=")
		config, bad := kubewatch.Config(file)
		if err = errors.Join(err, bad); err == nil {
			err = s.review(cluster, config, now)
		}
	}
	if err != nil {
		return usage("--push.agent-account: %w", err)
	}
	return nil
}

func (s *server) review(cluster string, config *rest.Config, now func() time.Time) error {
	if s.places[cluster] != nil {
		return fmt.Errorf("--push.review %s: this is the server's own cluster", cluster)
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
	s.daemon.Door.Agents[cluster], s.places[cluster] = r, p
	s.more = append(s.more, p.Run)
	return s.remember(cluster, p)
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

// remember tells where a cluster's pods were that lived when the server last ran: some
// are gone, and their agents have still to tell how.
func (s *server) remember(cluster string, p *kubewatch.Places) error {
	for _, state := range []ledger.State{ledger.StateOpen, ledger.StateEnding} {
		cases, err := s.ledger.Cases(context.Background(), state, 0)
		if err != nil {
			return err
		}
		for _, c := range cases {
			if c.Cluster == cluster {
				p.Remember(kubewatch.Pod{Namespace: c.Namespace, Name: c.Name, UID: c.UID}, c.Node)
			}
		}
	}
	return nil
}

// listTime is how long agents are told to come again while the pods are not listed.
// After it what they say of pods are claims, until the API server lists them.
const listTime = time.Minute

var errNotListed = errors.New("the Kubernetes API has not told yet which pods are where")

// receive files what was pushed by whose word it is.
func (s *server) receive(ctx context.Context, entries []ingest.Entry) error {
	id, _ := push.IdentityFrom(ctx)
	from := docket.Origin{Shipper: !id.Agent}
	if places := s.places[id.Cluster]; id.Agent && places != nil {
		select {
		case <-places.Listed():
		default:
			if time.Since(s.began) < listTime {
				return errNotListed
			}
		}
		from.Placed = func(p classify.Subject) (here, known bool) {
			return places.Find(kubewatch.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Containers: p.IDs}, id.Node)
		}
	}
	return s.docket.ReceiveFrom(ctx, from, entries)
}

// warn says what the configuration leaves open.
func (s *server) warn() {
	door, log := s.daemon.Door, s.daemon.Log
	web := door.Web()
	bare := len(door.Shared)+len(door.Agents) == 0 && !door.SAN && !web.Passwords && !web.Certs
	switch {
	case bare && door.Open:
		log.Warn().Msg("anybody who reaches this port can push as any agent (--push.open)")
	case bare:
		log.Warn().Msg("pushes are taken from this machine only: no credential is configured. Give --push.agent-account, " +
			"--push.token-file or client certificates (--web.config.file), or --push.open to believe everybody")
	case len(door.Agents) == 0 && !door.SAN:
		log.Warn().Msg("agents are believed to be on the node that they say: whoever has the credential of one can speak " +
			"for every node. --push.agent-account or --push.client-node=san has them prove it")
	}
	if web.Passwords && (len(door.Shared)+len(door.Agents) > 0 || door.Reader != nil || door.Operate != nil) {
		log.Warn().Msg("--web.config.file asks everybody for a password, and a request cannot have a token beside it: " +
			"nobody can push, read or operate with one")
	}
}
