// Package kubewatch follows the pods and events of some namespaces, and the
// cluster's nodes, through the Kubernetes API, and turns every change into
// entries. One parser reads the objects, that of package kube; nothing else of
// an object is kept, so no environment, token or annotation gets past it. Of the
// objects of actions-runner-controller those are followed that the server has.
// Places follows where the whole cluster's pods are, and nothing else of them.
//
// Invariant: an entry is handed on once for as long as its object is there, and
// before the mark that covers its time. Coverage ends where the server was last
// heard of, and what may have been missed between two lists is a gap. A pod's
// and a node's facts are attested: only the API server writes them. An event is
// a claim: whoever may create events can write what he likes.
//
// Crash behaviour: nothing is kept on disk. A new watcher lists everything
// again; the ledger knows most of it. What was deleted while none ran is not
// seen, and the time is not covered. How long something has been wrong with a
// pool counts from the first list. The client library does the lists, the
// watches, their going on after a break, and the waiting in between.
package kubewatch

import (
	"context"
	"fmt"
	"time"

	"coroner/ingest"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Options say what is watched.
type Options struct {
	Namespaces []string // pods and events of these
	Runners    bool     // and the objects of actions-runner-controller, which name jobs and tell of pools
	Nodes      bool     // the cluster's nodes
	// Open names the pods that lived when nobody watched last; nil: none.
	Open  func(namespace string) ([]ingest.Entry, error)
	Check time.Duration // how often it is looked whether namespaces and kinds are there; 0: each minute
	Now   func() time.Time
	Log   zerolog.Logger
	// Receive takes entries; what it refuses it is given again.
	Receive func(context.Context, []ingest.Entry) error
}

// Watcher follows an API server.
type Watcher struct {
	client  rest.Interface
	options Options
	metrics *Metrics
	out     *outbox
	gone    map[string]string // of a namespace that is not there what was logged

	listeners listenerPods
}

// New returns a watcher; it asks nothing yet.
func New(config *rest.Config, o Options, m *Metrics) (*Watcher, error) {
	client, err := newClient(config, codec{})
	if err != nil {
		return nil, err
	}
	return &Watcher{client: client, options: o, metrics: m, out: newOutbox(o.Receive, o.Log),
		gone: map[string]string{}}, nil
}

// Run watches until ctx is done, then hands on what was still waiting.
func (w *Watcher) Run(ctx context.Context) error {
	quiet := klog.NewContext(ctx, logr.Discard()) // what it has to say, feed says once
	g, quiet := errgroup.WithContext(quiet)
	for _, r := range w.resources() {
		g.Go(func() error { w.follow(quiet, r); return nil })
	}
	g.Go(func() error { return w.watchNamespaces(quiet) })
	if k := newKinds(w); w.options.Runners {
		g.Go(func() error { return k.run(quiet, g) })
	}
	g.Go(func() error { return w.out.runUntil(ctx) })
	return g.Wait()
}

// follow watches a resource until ctx is done.
func (w *Watcher) follow(ctx context.Context, r resource) {
	f := newFeed(w, r)
	f.reflector(f).RunWithContext(ctx)
}

// checkEvery is how often it is looked what is there.
func (w *Watcher) checkEvery() time.Duration {
	if w.options.Check > 0 {
		return w.options.Check
	}
	return usualCheck
}

// resource is one thing to watch.
type resource struct {
	path      string // of the API's group and version
	name      string
	namespace string // "" for the whole cluster
}

// resources are those that every cluster has.
func (w *Watcher) resources() (out []resource) {
	for _, ns := range w.options.Namespaces {
		out = append(out, resource{"/api/v1", "pods", ns}, resource{"/api/v1", "events", ns})
	}
	if w.options.Nodes {
		out = append(out, resource{"/api/v1", "nodes", ""})
	}
	return out
}

func (r resource) String() string {
	if r.namespace == "" {
		return r.name
	}
	return fmt.Sprintf("%s in namespace %s", r.name, r.namespace)
}
