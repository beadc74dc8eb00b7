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
	asked   map[string]int        // path, and "true" behind it for a watch -> how often it was asked for
	lacks   map[string]bool       // API groups and resources that are not installed
	denied  map[string]bool       // resources, and versions of groups, that nobody may read
	watched chan struct{}         // a watch began
}

func serve(t testing.TB, lists map[string][]string) *served {
	s := &served{lists: lists, changes: map[string]chan string{}, watches: map[string]url.Values{},
		asked: map[string]int{}, lacks: map[string]bool{}, denied: map[string]bool{},
		watched: make(chan struct{}, 100)}
	for _, names := range Resources() {
		for _, name := range names {
			s.changes[name] = make(chan string)
		}
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, q := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], r.URL.Query()
	group, inGroup := strings.CutPrefix(r.URL.Path, "/apis/")
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	s.asked[r.URL.Path+" "+q.Get("watch")]++
	denied := s.denied[name]
	s.mu.Unlock()
	switch {
	case denied:
		refuse(w, http.StatusForbidden, "Forbidden")
	case inGroup && !strings.Contains(group, "/namespaces/"):
		s.discover(w, strings.TrimSuffix(group, "/v1alpha1"))
	case s.changes[name] == nil:
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ci"}}`)
	case q.Get("watch") == "":
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s]}`,
			kindNames[name], strings.Join(s.lists[name], ","))
	case q.Get("sendInitialEvents") != "":
		refuse(w, http.StatusBadRequest, "BadRequest")
	default:
		s.mu.Lock()
		s.watches[name] = q
		s.mu.Unlock()
		s.watched <- struct{}{}
		s.sendChanges(w, r, name)
	}
}

// kindNames are the kinds of the objects of the resources.
var kindNames = map[string]string{
	"pods": "Pod", "events": "Event", "ephemeralrunners": "EphemeralRunner",
	"ephemeralrunnersets": "EphemeralRunnerSet", "autoscalingrunnersets": "AutoscalingRunnerSet",
	"autoscalinglisteners": "AutoscalingListener", "runners": "Runner", "runnersets": "RunnerSet",
	"runnerdeployments": "RunnerDeployment", "runnerreplicasets": "RunnerReplicaSet",
	"horizontalrunnerautoscalers": "HorizontalRunnerAutoscaler",
}

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// discover says which resources of a group there are.
func (s *served) discover(w http.ResponseWriter, group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lacks[group] {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	list := `{"name":"runners/status"}`
	for _, name := range Resources()[group] {
		if !s.lacks[name] {
			list += `,{"name":"` + name + `","namespaced":true}`
		}
	}
	fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":%q,"resources":[%s]}`, group+"/v1alpha1", list)
}

// with changes what the server has and allows.
func (s *served) with(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
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
	w := s.begin(t, o)
	for range s.changes {
		<-s.watched
	}
	return w
}

// begin has a watcher follow the server until the test ends.
func (s *served) begin(t testing.TB, o Options) *Watcher {
	t.Helper()
	o.Namespaces, o.Runners = []string{"ci"}, true
	if o.Now == nil {
		o.Now, o.Log = time.Now, zerolog.Nop()
	}
	w, err := New(&rest.Config{Host: s.URL}, o, NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() { cancel(); s.CloseClientConnections(); <-done })
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
