package kubewatch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
)

// served is an API server that lists what it is given and sends what changes.
type served struct {
	*httptest.Server
	lists   map[string][]string    // resource -> its objects, of namespace ci
	changes map[string]chan string // resource -> lines of a watch

	mu      sync.Mutex
	watches map[string]url.Values // resource -> how it was watched last
	watched chan struct{}         // a watch began
}

func serve(t testing.TB, lists map[string][]string) *served {
	s := &served{lists: lists, changes: map[string]chan string{}, watches: map[string]url.Values{},
		watched: make(chan struct{}, 100)}
	for _, name := range append([]string{"pods", "events", "ephemeralrunners"}, sets...) {
		s.changes[name] = make(chan string)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, q := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.changes[name] == nil:
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ci"}}`)
	case q.Get("watch") == "":
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s]}`,
			strings.Join(s.lists[name], ","))
	case q.Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`)
	default:
		s.mu.Lock()
		s.watches[name] = q
		s.mu.Unlock()
		s.watched <- struct{}{}
		s.sendChanges(w, r, name)
	}
}

func (s *served) sendChanges(w http.ResponseWriter, r *http.Request, name string) {
	flush := w.(http.Flusher).Flush
	for flush(); ; flush() {
		select {
		case line := <-s.changes[name]:
			fmt.Fprintln(w, line)
		case <-r.Context().Done():
			return
		}
	}
}

// follow has a watcher follow the server until the test ends, and returns once it watches all.
func (s *served) follow(t testing.TB, o Options) *Watcher {
	t.Helper()
	o.Namespaces, o.Runners, o.Now, o.Log = []string{"ci"}, true, time.Now, zerolog.Nop()
	w, err := New(&rest.Config{Host: s.URL}, o, NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); s.CloseClientConnections(); <-done })
	for range s.changes {
		<-s.watched
	}
	return w
}

// How far the pods were watched is known every ten seconds: their watch is asked for anew as
// often, for the server tells it at the end of one. Others last.
func TestPodsAreWatchedAnew(t *testing.T) {
	s := serve(t, nil)
	s.follow(t, Options{Receive: (&told{more: make(chan struct{}, 1)}).receive})
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, q := range s.watches {
		short := len(q.Get("timeoutSeconds")) < 3
		if short != (name == "pods") || q.Get("allowWatchBookmarks") != "true" {
			t.Errorf("%s are watched with %v", name, q)
		}
	}
}
