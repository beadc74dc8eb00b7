package kubewatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Trouble is what keeps the API from being watched, while it does.
type Trouble struct {
	Kind string // without a name of anything: anybody may read it
	Text string // what it is and what to do
}

// troubles are those that last, by what is watched.
type troubles struct {
	mu  sync.Mutex
	now map[string]Trouble
}

// Note sets what is wrong with something that is watched; a zero Trouble says that all is well.
func (m *Metrics) Note(with string, what Trouble) { m.troubles.note(with, what) }

// NoToken notes that nothing can be asked of the API for want of a token, which err says. A pod
// gets none while it runs, so nothing more is tried.
func (m *Metrics) NoToken(log zerolog.Logger, err error) {
	m.Note("token", Trouble{ErrNoToken.Error(), err.Error()})
	log.Error().Err(err).Msg("nothing is asked of the Kubernetes API")
}

// note sets what is wrong with something; a zero Trouble says that all is well.
func (t *troubles) note(with string, what Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[string]Trouble{}
	}
	if t.now[with] = what; what == (Trouble{}) {
		delete(t.now, with)
	}
}

// Trouble is what is wrong at present; of what strikes several resources alike, one.
func (m *Metrics) Trouble() (out []Trouble) {
	m.troubles.mu.Lock()
	defer m.troubles.mu.Unlock()
	for _, with := range slices.Sorted(maps.Keys(m.troubles.now)) {
		if what := m.troubles.now[with]; !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	return out
}

// kindOf says what kind of trouble an error is.
func kindOf(err error) string {
	var away *url.Error
	switch {
	case apierrors.IsForbidden(err):
		return "the Kubernetes API does not let coroner watch"
	case apierrors.IsUnauthorized(err):
		return "the Kubernetes API rejects the token"
	case apierrors.IsNotFound(err):
		return unknownKind
	case errors.As(err, &away):
		return "the Kubernetes API does not answer"
	}
	return "the Kubernetes API cannot be watched"
}

// unknownKind is what is told of a kind of objects that the server does not have.
const unknownKind = "the Kubernetes API does not know what is to be watched"

// missing is what is told of a namespace that is not there. Its pods are none, so that a
// list of them succeeds.
const missing = "a namespace that is to be watched is not there"

// usualCheck is how often it is looked whether the namespaces and the kinds are there.
const usualCheck = time.Minute

// watchNamespaces looks whether the namespaces are there, until ctx is done.
func (w *Watcher) watchNamespaces(ctx context.Context) error {
	tick := time.NewTicker(w.checkEvery())
	defer tick.Stop()
	for {
		for _, ns := range w.options.Namespaces {
			w.checkNamespace(ctx, ns)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// checkNamespace notes a namespace that is not there, or is being deleted. Where it may not
// be looked at, nothing is known and nothing said.
func (w *Watcher) checkNamespace(ctx context.Context, ns string) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	data, err := w.client.Get().AbsPath("/api/v1/namespaces/" + ns).Do(ctx).Raw()
	if ctx.Err() != nil || err != nil && !apierrors.IsNotFound(err) {
		return
	}
	var is struct{ Status struct{ Phase string } }
	what, how := Trouble{}, "is not there"
	if err == nil && json.Unmarshal(data, &is) == nil && is.Status.Phase == "Terminating" {
		how = "is being deleted"
	}
	if err != nil || is.Status.Phase == "Terminating" {
		what = Trouble{missing, fmt.Sprintf("namespace %s %s, so nothing is watched in it: make it, "+
			"or take it out of --kube.namespace (in the chart apiWatch.namespaces)", ns, how)}
	}
	w.metrics.Note("namespace "+ns, what)
	was := w.gone[ns]
	w.gone[ns] = what.Text
	switch log := w.options.Log.With().Str("namespace", ns).Logger(); {
	case what.Text != "" && what.Text != was:
		log.Error().Msg(what.Text)
	case what.Text == "" && was != "":
		log.Info().Msg("the namespace is there again")
	}
}
