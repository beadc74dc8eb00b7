// Package relay hands on what the Kubernetes API of one cluster says to coroner serve
// elsewhere, which then needs no credential for that API.
//
// Invariant: what the server took was handed over in the order in which it was seen; a
// mark of what was covered comes after what it covers. Secrets are taken out before
// anything leaves. The watch waits while the server does not take what was seen.
//
// Crash behaviour: nothing is kept on disk. A new relay asks the server which runners it
// takes for living, and lists the cluster again: who is gone meanwhile died unseen, which
// is said, and the time is not covered.
package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"
	"coroner/rules/signal"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
)

// Options say what is relayed, and where to. Its Open and Receive are the relay's own.
type Options struct {
	kubewatch.Options
	Cluster string       // every record is of it; "" = that of the token
	Server  string       // address of coroner serve
	Sender  *push.Sender // with the token of this cluster's relay
	Book    *signal.Book // whose secrets are taken out
}

// Relay watches an API server and pushes what it says.
type Relay struct {
	options Options
	watcher *kubewatch.Watcher
	kube    *kubewatch.Metrics
	refused prometheus.Counter
	away    atomic.Bool   // the server did not take the last push, or did not answer
	stopped chan struct{} // closed when Run is told to end
}

// New returns a relay; it asks nothing yet.
func New(config *rest.Config, o Options, reg prometheus.Registerer) (_ *Relay, err error) {
	r := &Relay{options: o, stopped: make(chan struct{}), kube: kubewatch.NewMetrics(reg)}
	r.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "coroner_relay_refused_total",
		Help: "Records of the Kubernetes API that the server will never take.",
	})
	reg.MustRegister(r.refused)
	o.Options.Open, o.Options.Receive = r.living, r.pushEntries
	r.watcher, err = kubewatch.New(config, o.Options, r.kube)
	return r, err
}

// Run relays until ctx is done, then hands over what was still waiting.
func (r *Relay) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { close(r.stopped) })()
	return r.watcher.Run(ctx)
}

// Notes says what keeps the relay from its work at present, in words that anybody may read.
func (r *Relay) Notes() (out []string) {
	if r.away.Load() {
		out = append(out, "the server does not take what is pushed")
	}
	for _, t := range r.kube.Trouble() {
		out = append(out, t.Kind)
	}
	return out
}

// pushEntries hands entries over. What the server will never take is left out, the rest
// of its push goes.
func (r *Relay) pushEntries(ctx context.Context, entries []ingest.Entry) error {
	clean := make([]ingest.Entry, len(entries))
	for i := range entries {
		clean[i] = entries[i]
		clean[i].Cluster = r.options.Cluster // the server refuses a push of another cluster than the token's
		if r.options.Book.Scan(&clean[i]) == nil {
			r.options.Book.Redact(&clean[i])
		}
	}
	err := r.pushClean(ctx, clean)
	r.away.Store(err != nil)
	return err
}

func (r *Relay) pushClean(ctx context.Context, entries []ingest.Entry) error {
	data, err := push.Encode(entries)
	if err != nil {
		return err
	}
	err = r.options.Sender.PostToAny(ctx, data)
	var refused push.Refused
	switch n := len(entries); {
	case !errors.As(err, &refused):
		return err
	case n > 1:
		return errors.Join(r.pushClean(ctx, entries[:n/2]), r.pushClean(ctx, entries[n/2:]))
	}
	r.refused.Inc()
	r.log().Error().Err(err).Str("pod", entries[0].Pod).Str("namespace", entries[0].Namespace).
		Msg("the server will never take this record of the Kubernetes API: it is left out")
	return nil
}

func (r *Relay) log() *zerolog.Logger { return &r.options.Log }

// living asks the server which runners of a namespace it takes for living, until it
// answers: who died while no relay ran would be forgotten otherwise.
func (r *Relay) living(namespace string) ([]ingest.Entry, error) {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		out, err := r.askLiving(namespace)
		if r.away.Store(err != nil); err == nil {
			return out, nil
		}
		r.log().Error().Err(err).Dur("again_in", wait).
			Msg("cannot ask the server which runners lived; nothing is relayed before it answers")
		select {
		case <-r.stopped:
			return nil, err
		case <-time.After(wait):
		}
	}
}

// LivingPath is where a server tells its relays which runners it takes for living.
const LivingPath = "/coroner/v1/living"

// maxLiving bounds an answer, in bytes.
const maxLiving = 64 << 20

// living is a runner in that answer.
type living struct {
	Pod  string `json:"pod"`
	UID  string `json:"uid"`
	Node string `json:"node,omitempty"`
}

func (r *Relay) askLiving(namespace string) (out []ingest.Entry, _ error) {
	address := r.options.Server + LivingPath + "?" + url.Values{"namespace": {namespace}}.Encode()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if err := r.options.Sender.Authorize(req); err != nil {
		return nil, err
	}
	res, err := r.options.Sender.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body := io.LimitReader(res.Body, maxLiving)
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 1024))
		return nil, fmt.Errorf("status %d: %s", res.StatusCode, strings.TrimSpace(string(text)))
	}
	var all []living
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		return nil, fmt.Errorf("what answers is not coroner serve: %w", err)
	}
	for _, l := range all {
		out = append(out, ingest.Entry{Namespace: namespace, Pod: l.Pod, PodUID: l.UID, Node: l.Node})
	}
	return out, nil
}

// Living is the server's end of that: list names the runners of a namespace of a cluster
// that are not known to have ended. Its requests have an identity, see push.WithIdentity.
func Living(list func(cluster, namespace string) ([]ingest.Entry, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := push.IdentityFrom(r.Context())
		if !id.Relay {
			http.Error(w, "this is for relays: send the token of one (--push.relay-token-file)", http.StatusForbidden)
			return
		}
		known, err := list(id.Cluster, r.FormValue("namespace"))
		if err != nil {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "the ledger cannot be read now", http.StatusServiceUnavailable)
			return
		}
		all := make([]living, 0, len(known))
		for i := range known {
			all = append(all, living{known[i].Pod, known[i].PodUID, known[i].Node})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all) // a client that is gone asks again
	})
}
