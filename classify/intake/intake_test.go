package intake

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"coroner/classify/docket"
	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

const uid = "0a1b2c3d-0000-4000-8000-00000000000"

func newIntake(t *testing.T) *Intake {
	t.Helper()
	b := shipped.Rulebook(t)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := docket.New(l, b, docket.Options{}, docket.NewMetrics(prometheus.NewRegistry()), zerolog.Nop(),
		func() time.Time { return t0 })
	return &Intake{Docket: d, Ledger: l, Places: map[string]*kubewatch.Places{}, Began: time.Now()}
}

// newPlaces is what an API server tells of pods, before it has listed them.
func newPlaces(t *testing.T) *kubewatch.Places {
	t.Helper()
	p, err := kubewatch.NewPlaces(&rest.Config{Host: "http://127.0.0.1:1"}, zerolog.Nop(),
		kubewatch.NewMetrics(prometheus.NewRegistry()), func() time.Time { return t0 })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// line is one that a runner prints, in the stream of its pod.
func line(cluster, node, pod, number string) ingest.Entry {
	return ingest.Entry{
		At: t0, Clock: ingest.WallClock, Source: ingest.Runner, Cluster: cluster, Node: node, Namespace: "ci",
		Pod: pod, PodUID: uid + number, Container: "runner", Text: "2026-03-01 10:00:00Z: Listening for Jobs",
	}
}

func agentOf(node string) context.Context {
	return push.WithIdentity(context.Background(), push.Identity{Agent: true, Cluster: "east", Node: node})
}

// runners are those with an open case.
func runners(t *testing.T, in *Intake) (out []string) {
	t.Helper()
	cases, err := in.Ledger.Cases(context.Background(), ledger.StateOpen, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		out = append(out, c.Name)
	}
	return out
}

// Until the API server has listed the pods an agent is asked to push again; nobody else
// waits for it.
func TestAgentsWaitForTheListOfPods(t *testing.T) {
	in := newIntake(t)
	places := newPlaces(t)
	in.Places["east"] = places
	push := []ingest.Entry{line("east", "n1", "amber-1", "1")}
	if err := in.Receive(agentOf("n1"), push); !errors.Is(err, errNotListed) {
		t.Fatalf("before the list: %v", err)
	}
	if got := runners(t, in); got != nil {
		t.Fatalf("before the list %v are filed", got)
	}
	if err := in.Receive(context.Background(), []ingest.Entry{line("west", "n1", "jade-1", "2")}); err != nil {
		t.Errorf("a shipper waits: %v", err)
	}
	in.Began = time.Now().Add(-listTime)
	if err := in.Receive(agentOf("n1"), push); err != nil {
		t.Errorf("it waits longer than that: %v", err)
	}
}

// Nothing is filed from an agent of a pod that is on another node.
func TestAnAgentSpeaksForItsNode(t *testing.T) {
	in := newIntake(t)
	places := newPlaces(t)
	in.Places["east"] = places
	places.Remember(kubewatch.Pod{Namespace: "ci", Name: "amber-1", UID: uid + "1"}, "n1")
	if err := places.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if err := in.Receive(agentOf("n2"), []ingest.Entry{line("east", "n2", "amber-1", "1")}); err != nil {
		t.Fatal(err)
	}
	if got := runners(t, in); got != nil {
		t.Fatalf("another node's agent made a case of %v", got)
	}
	if err := in.Receive(agentOf("n1"), []ingest.Entry{line("east", "n1", "amber-1", "1")}); err != nil {
		t.Fatal(err)
	}
	if got := runners(t, in); len(got) != 1 || got[0] != "amber-1" {
		t.Fatalf("its own node's agent made cases of %v", got)
	}
}

// After a restart it is known where the pods were that lived, each in its own cluster.
func TestLivingPodsAreRemembered(t *testing.T) {
	in := newIntake(t)
	for _, e := range []ingest.Entry{line("east", "n1", "amber-1", "1"), line("west", "n1", "jade-1", "2")} {
		if err := in.Receive(context.Background(), []ingest.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	places := newPlaces(t)
	if err := in.Remember("east", places); err != nil {
		t.Fatal(err)
	}
	pod := kubewatch.Pod{Namespace: "ci", Name: "amber-1", UID: uid + "1"}
	if here, known := places.Find(pod, "n1"); !here || !known {
		t.Error("where the pod was is forgotten")
	}
	if here, known := places.Find(pod, "n2"); here || !known {
		t.Error("the pod may be anywhere")
	}
	if _, known := places.Find(kubewatch.Pod{Namespace: "ci", Name: "jade-1", UID: uid + "2"}, "n1"); known {
		t.Error("the pod of another cluster is known")
	}
	living, err := in.Living("east", "ci")
	if err != nil || len(living) != 1 || living[0].Pod != "amber-1" || living[0].Node != "n1" {
		t.Errorf("living: %+v, %v", living, err)
	}
	if own, err := in.LivingOf("east")("", "ci"); err != nil || len(own) != 1 || own[0].Pod != "amber-1" {
		t.Errorf("of the server's own: %+v, %v", own, err)
	}
	if others, err := in.LivingOf("east")("west", "ci"); err != nil || len(others) != 1 || others[0].Pod != "jade-1" {
		t.Errorf("of another: %+v, %v", others, err)
	}
	if none, _ := in.Living("east", "other"); none != nil {
		t.Errorf("in another namespace lives %+v", none)
	}
}
