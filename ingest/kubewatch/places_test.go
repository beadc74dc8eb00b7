package kubewatch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
	"coroner/fixtures/gate"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// store is a Places without a server.
type store struct {
	*Places
	t   *testing.T
	now time.Time
}

func newStore(t *testing.T) *store {
	s := &store{t: t, now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.Places = newPlaces(func() time.Time { return s.now })
	return s
}

// pod is an object as the API server tells of it.
func (s *store) pod(namespace, name, uid, node string, containers ...string) *object {
	s.t.Helper()
	statuses := ""
	for i, id := range containers {
		if i > 0 {
			statuses += ","
		}
		statuses += fmt.Sprintf(`{"containerID":%q}`, id)
	}
	text := fmt.Sprintf(`{"kind":"Pod","metadata":{"namespace":%q,"name":%q,"uid":%q},"spec":{"nodeName":%q},
		"status":{"containerStatuses":[%s]}}`, namespace, name, uid, node, statuses)
	o, _, err := codec{places: true}.Decode([]byte(text), nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return o.(*object)
}

// find is "here", "elsewhere" or "unknown".
func (s *store) find(node, namespace, name, uid string, ids ...string) string {
	here, known := s.Find(Pod{Namespace: namespace, Name: name, UID: uid, Containers: ids}, node)
	switch {
	case here:
		return "here"
	case known:
		return "elsewhere"
	}
	return "unknown"
}

// Every name that is known must be one of the node's.
func TestPlaces(t *testing.T) {
	s := newStore(t)
	_ = s.Replace([]any{s.pod("ci", "a", "ua", "n1", "containerd://ca"),
		s.pod("ci", "b", "ub", "n2", "containerd://cb"),
		s.pod("ci", "waiting", "uw", ""), s.pod("test", "b", "utb", "n1")}, "1")
	for _, c := range []struct{ namespace, name, uid, id, want string }{
		{"ci", "a", "ua", "ca", "here"},
		{"", "", "ua", "", "here"},
		{"ci", "a", "", "", "here"},
		{"", "a", "", "", "here"},
		{"", "", "", "ca", "here"},
		{"ci", "a", "ua", "c-new", "here"},
		{"ci", "b", "ub", "cb", "elsewhere"},
		{"", "", "ub", "", "elsewhere"},
		{"ci", "b", "", "", "elsewhere"},
		{"", "", "", "cb", "elsewhere"},
		{"ci", "b", "ua", "", "elsewhere"},        // its own UID, another's name
		{"ci", "a", "ub", "", "elsewhere"},        // its own name, another's UID
		{"ci", "a", "ua", "cb", "elsewhere"},      // another's container
		{"ci", "b", "invented", "", "elsewhere"},  // another's name under a UID of its own making
		{"", "b", "", "", "here"},                 // there is one of that name in another namespace
		{"ci", "a", "earlier", "", "unknown"},     // a pod of that name that is gone
		{"ci", "gone", "ug", "", "unknown"},       // nobody knows it
		{"ci", "waiting", "uw", "", "unknown"},    // not placed yet
		{"", "", "", "c-new", "unknown"},          // no status tells of it yet
		{"", "", "", "", "unknown"},               // no name at all
		{"other", "a", "", "", "unknown"},         // another namespace
		{"ci", "a", "earlier", "ca", "unknown"},   // a mirror pod's UID is another
		{"ci", "b", "earlier", "ca", "elsewhere"}, // its own container, another's name
	} {
		if got := s.find("n1", c.namespace, c.name, c.uid, c.id); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A static pod has another UID on its node than in the API; no pod takes another's by
// calling itself its mirror.
func TestPlacesOfStaticPods(t *testing.T) {
	s := newStore(t)
	mirror := func(name, uid, node, of string) *object {
		o := s.pod("kube-system", name, uid, node)
		o.place.Metadata.Annotations = map[string]string{mirrorOf: of}
		return o
	}
	_ = s.Replace([]any{s.pod("ci", "victim", "uv", "n2"), mirror("kube-proxy-n1", "um", "n1", "hash"),
		mirror("evil", "ue", "n1", "uv")}, "1")
	for uid, want := range map[string]string{"hash": "here", "um": "here", "uv": "elsewhere", "ue": "here"} {
		if got := s.find("n1", "", "", uid); got != want {
			t.Errorf("%s: %s, want %s", uid, got, want)
		}
	}
	if got := s.find("n1", "kube-system", "kube-proxy-n1", "hash"); got != "here" {
		t.Errorf("by both: %s", got)
	}
	if got := s.find("n2", "", "", "hash"); got != "elsewhere" {
		t.Errorf("on another node: %s", got)
	}
}

// A pod that is gone is known for a while; where it was placed nobody changes.
func TestPlacesOfPodsThatAreGone(t *testing.T) {
	s := newStore(t)
	s.Remember(Pod{Namespace: "ci", Name: "old", UID: "uo"}, "n1")
	s.Remember(Pod{Namespace: "ci", Name: "back", UID: "uk"}, "n2") // of which the API server knows better
	s.now = s.now.Add(time.Hour)
	_ = s.Replace([]any{s.pod("ci", "a", "ua", "n1"), s.pod("ci", "back", "uk", "n2")}, "1")
	s.Remember(Pod{Namespace: "ci", Name: "a", UID: "ua"}, "n9")
	_ = s.Add(s.pod("ci", "quick", "uq", "n1"))
	_ = s.Delete(s.pod("ci", "quick", "uq", "n1", "containerd://cq"))
	_ = s.Delete(s.pod("ci", "unseen", "un", "n1")) // added and deleted while the watch was broken
	_ = s.Replace([]any{s.pod("ci", "back", "uk", "n2")}, "2")
	want := func(uid, want string) {
		t.Helper()
		if got := s.find("n1", "", "", uid); got != want {
			t.Errorf("%s: %s, want %s", uid, got, want)
		}
	}
	for _, uid := range []string{"uo", "ua", "uq", "un"} {
		want(uid, "here")
	}
	if got := s.find("n1", "", "", "", "cq"); got != "here" {
		t.Errorf("its container: %s", got)
	}
	want("uk", "elsewhere")
	s.now = s.now.Add(keepGone)
	_ = s.Delete(s.pod("ci", "x", "ux", "n1"))
	want("uo", "unknown")
	want("ua", "here")
	want("uk", "elsewhere")
	s.now = s.now.Add(time.Minute)
	_ = s.Delete(s.pod("ci", "y", "uy", "n1"))
	want("ua", "unknown")
	want("uk", "elsewhere")
}

// What is kept is bounded, however many pods go and however often one crashes.
func TestPlacesAreBounded(t *testing.T) {
	s := newStore(t)
	for i := range maxGone + 100 {
		_ = s.Delete(s.pod("ci", fmt.Sprint("p", i), fmt.Sprint("u", i), "n1", fmt.Sprint("containerd://c", i)))
	}
	for i := range 1000 {
		_ = s.Update(s.pod("ci", "crash", "crash", "n1", fmt.Sprint("containerd://x", i)))
	}
	if len(s.uids) != maxGone+1 || len(s.names) != maxGone+1 || len(s.ids) != maxGone+maxOfOnePod ||
		len(s.gone) != maxGone {
		t.Errorf("%d pods, %d names, %d ids, %d gone", len(s.uids), len(s.names), len(s.ids), len(s.gone))
	}
	if s.find("n1", "", "", "", "x999") != "here" || s.find("n1", "", "", "", "x1") != "unknown" {
		t.Error("not the latest ids are kept")
	}
}

// With a real API server: pods are known as soon as they are placed, also those that
// are deleted at once, and what happens while it is away is caught up with.
func TestPlacesOfARealServer(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that a real API server tells where pods are: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	way, err := gate.New(strings.TrimPrefix(k.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	file, err := k.Kubeconfig("https://"+way.Addr, apiserver.Admin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := Config(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlaces(config, zerolog.Nop(), NewMetrics(prometheus.NewRegistry()), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path, body string) {
		t.Helper()
		if _, err := k.Do(method, path, body); err != nil {
			t.Fatal(err)
		}
	}
	pods := "/api/v1/namespaces/ci/pods"
	create := func(name, node string) {
		do("POST", pods, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"nodeName":%q,
			"containers":[{"name":"runner","image":"x"}]}}`, name, node))
	}
	until := func(name, node, want string) {
		t.Helper()
		s := &store{Places: p}
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for s.find(node, "ci", name, "") != want {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				t.Fatalf("%s is not %s on %s", name, want, node)
			}
		}
	}
	do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ci"}}`)
	create("before", "n1")
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- p.Run(running) }()
	<-p.Listed()
	until("before", "n1", "here")
	until("before", "n2", "elsewhere")
	create("quick", "n1")
	do("DELETE", pods+"/quick", `{"gracePeriodSeconds":0}`)
	until("quick", "n1", "here")
	way.Shut()
	create("meanwhile", "n2")
	do("DELETE", pods+"/before", `{"gracePeriodSeconds":0}`)
	way.Open()
	until("meanwhile", "n2", "here")
	until("before", "n1", "here")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
