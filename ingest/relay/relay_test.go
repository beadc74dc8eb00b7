package relay

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"
	"coroner/rules/book"
	"coroner/rules/signal"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
)

// centre is a server's end: it takes what allow lets it, as the relay of a cluster.
type centre struct {
	mu    sync.Mutex
	taken []ingest.Entry
	knows []ingest.Entry
	away  int // so many questions are not answered
}

func (c *centre) serve(t *testing.T, id push.Identity) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle("POST "+push.Path, push.NewHandler(push.Limits{}, nil, func(_ context.Context, e []ingest.Entry) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.taken = append(c.taken, e...)
		return nil
	}, func(string) {}))
	mux.Handle("GET "+LivingPath, Living(func(cluster, namespace string) ([]ingest.Entry, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.away--; c.away >= 0 {
			return nil, errors.New("the disk is full")
		}
		if cluster != "east" || namespace != "ci" {
			return nil, nil
		}
		return c.knows, nil
	}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(push.WithIdentity(r.Context(), id)))
	}))
	t.Cleanup(s.Close)
	return s
}

func newRelay(t *testing.T, url, cluster string) *Relay {
	t.Helper()
	b, err := signal.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, Options{
		Options: kubewatch.Options{Namespaces: []string{"ci"}, Now: time.Now, Log: zerolog.Nop()},
		Server:  url, Cluster: cluster, Book: b,
		Sender: &push.Sender{URL: url + push.Path, Client: http.DefaultClient},
	}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var at = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)

// pod is what the API server says of one.
func pod(name, text string) ingest.Entry {
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Kube, Trust: ingest.Attested, Namespace: "ci",
		Pod: name, PodUID: name + "-uid", Text: text}
}

var east = push.Identity{Cluster: "east", Relay: true}

// What arrives is what was seen, of the relay's cluster, without secrets.
func TestRelayed(t *testing.T) {
	var c centre
	r := newRelay(t, c.serve(t, east).URL, "east")
	covered := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Kube, Trust: ingest.Attested,
		Namespace: "ci", Mark: &ingest.Mark{Kind: ingest.Covered, From: at.Add(-time.Minute), To: at}}
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	if err := r.pushEntries(t.Context(), []ingest.Entry{pod("mill-1", "pulling with "+secret), covered}); err != nil {
		t.Fatal(err)
	}
	if len(c.taken) != 2 || c.taken[0].Pod != "mill-1" || c.taken[0].Trust != ingest.Attested ||
		c.taken[0].Cluster != "east" || strings.Contains(c.taken[0].Text, secret) {
		t.Fatalf("%+v", c.taken)
	}
	covered.Cluster = "east"
	if diff := cmp.Diff(covered, c.taken[1]); diff != "" {
		t.Error(diff)
	}
}

// A record that the server will never take is left out and counted, and those beside it
// arrive in their order; a relay with another cluster's token hands over nothing and loses
// nothing.
func TestRefused(t *testing.T) {
	var c centre
	r := newRelay(t, c.serve(t, east).URL, "")
	entries := []ingest.Entry{
		pod("mill-1", "a"),
		pod("mill-2", "b"),
		pod("mill-3", strings.Repeat("x", ingest.MaxText+1)),
		pod("mill-4", "d"),
	}
	if err := r.pushEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range c.taken {
		got = append(got, e.Pod)
	}
	if diff := cmp.Diff([]string{"mill-1", "mill-2", "mill-4"}, got); diff != "" || testutil.ToFloat64(r.refused) != 1 {
		t.Errorf("%s; %v refused", diff, testutil.ToFloat64(r.refused))
	}
	var other centre
	r = newRelay(t, other.serve(t, east).URL, "west")
	err := r.pushEntries(t.Context(), entries)
	if err == nil || !strings.Contains(err.Error(), "west") || len(other.taken) > 0 ||
		testutil.ToFloat64(r.refused) > 0 {
		t.Errorf("%v; taken %v", err, other.taken)
	}
}

// What keeps a relay from its work is told while it does.
func TestNotes(t *testing.T) {
	var c centre
	r := newRelay(t, c.serve(t, east).URL, "east")
	other := newRelay(t, c.serve(t, east).URL, "west")
	_ = other.pushEntries(t.Context(), []ingest.Entry{pod("mill-1", "a")})
	if got := other.Notes(); len(got) != 1 || !strings.Contains(got[0], "does not take") {
		t.Errorf("while the server refuses: %q", got)
	}
	if err := r.pushEntries(t.Context(), []ingest.Entry{pod("mill-1", "a")}); err != nil || r.Notes() != nil {
		t.Errorf("%v, %q", err, r.Notes())
	}
	r.kube.Note("pods", kubewatch.Trouble{Kind: "the Kubernetes API does not answer", Text: "https://10.0.0.1"})
	if got := r.Notes(); len(got) != 1 || got[0] != "the Kubernetes API does not answer" {
		t.Errorf("while the API is away: %q", got)
	}
}

// The server is asked which runners lived, until it can say.
func TestLiving(t *testing.T) {
	c := centre{away: 1, knows: []ingest.Entry{{Namespace: "ci", Pod: "mill-1", PodUID: "u1", Node: "n1"}}}
	r := newRelay(t, c.serve(t, east).URL, "east")
	if diff := cmp.Diff(c.knows, first(r.living("ci"))); diff != "" {
		t.Error(diff)
	}
	if got, err := r.living("other"); len(got) > 0 || err != nil {
		t.Errorf("of another namespace: %v", got)
	}
	stopping, stop := context.WithCancel(t.Context())
	stop()
	c.away = 1000
	go func() { _ = r.Run(stopping) }()
	if got, err := r.living("ci"); got != nil || err == nil {
		t.Errorf("a relay that ends is told %v", got)
	}
}

// Which runners live is told to relays only.
func TestLivingIsForRelays(t *testing.T) {
	for _, id := range []push.Identity{{}, {Cluster: "east"}, {Cluster: "east", Node: "n1", Agent: true}} {
		c := centre{knows: []ingest.Entry{pod("mill-1", "")}}
		r := newRelay(t, c.serve(t, id).URL, "east")
		if got, err := r.askLiving("ci"); err == nil || !strings.Contains(err.Error(), "--push.relay-token-file") {
			t.Errorf("%+v is told %v, %v", id, got, err)
		}
	}
}

// What answers may be no coroner.
func TestLivingOfAStranger(t *testing.T) {
	s := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }),
	)
	defer s.Close()
	if _, err := newRelay(t, s.URL, "east").askLiving("ci"); err == nil ||
		!strings.Contains(err.Error(), "coroner serve") {
		t.Error(err)
	}
}

func first(all []ingest.Entry, err error) []ingest.Entry {
	if err != nil {
		panic(err)
	}
	return all
}
