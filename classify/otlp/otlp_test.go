package otlp

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector's endpoint for logs.
type receiver struct {
	t *testing.T

	mu       sync.Mutex
	refuse   int // so many requests are refused
	resource map[string]string
	got      []*logs.LogRecord
}

// ServeHTTP takes events.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.URL.Path != "/v1/logs" || req.Header.Get("Authorization") != "Bearer sesame" ||
		req.Header.Get("Content-Type") != "application/x-protobuf" {
		r.t.Errorf("%s %v", req.URL, req.Header)
	}
	if r.refuse > 0 {
		r.refuse--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var in collector.ExportLogsServiceRequest
	zip, err := gzip.NewReader(req.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := io.ReadAll(zip)
	if err == nil {
		err = proto.Unmarshal(body, &in)
	}
	if err != nil {
		r.t.Error(err)
	}
	for _, of := range in.ResourceLogs {
		r.resource = attributes(of.Resource.Attributes)
		for _, s := range of.ScopeLogs {
			r.got = append(r.got, s.LogRecords...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func attributes(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		}
	}
	return out
}

// Each revision is one event, with the conventions' names, however often it must be sent.
func TestEvents(t *testing.T) {
	in := &receiver{t: t}
	server := httptest.NewServer(in)
	defer server.Close()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e, err := New(
		server.URL+"/v1/logs",
		func() (string, error) { return "sesame", nil },
		"v1",
		"https://coroner.example/",
	)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	loop := &deliver.Loop{Receiver: "otlp", List: l.Deliveries("otlp"), Send: e.Send, Log: zerolog.Nop(),
		Now: func() time.Time { return now }, Metrics: deliver.NewMetrics(prometheus.NewRegistry())}
	flush := func() {
		t.Helper()
		if err := loop.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	died, code := now.Add(-time.Minute), 137
	v := rules.Verdict{Cluster: "east", Runner: "amber", Namespace: "arc", Node: "n1", PodUID: "u1", Pool: "linux",
		Label: rules.HostTeardown, Confidence: rules.Confirmed, Domain: "platform", Retry: "helps", Rule: "r",
		Revision: 1, DiedAt: &died, Exit: rules.Exit{Code: &code}, Summary: "The node went.",
		Job: rules.Job{Name: "build", ID: "7", RunID: "8", Repository: "o/r"}}
	put := func() {
		t.Helper()
		err := l.Write(t.Context(), now, func(tx *ledger.Tx) error { return tx.AddVerdict("c1", &v, now, false) })
		if err != nil {
			t.Fatal(err)
		}
	}
	put()
	in.refuse = 2
	for range 5 {
		flush()
		now = now.Add(10 * time.Second)
	}
	v.Revision, v.Label, v.Revises = 2, rules.Completed, &rules.Revised{Label: rules.HostTeardown}
	put()
	flush()
	if len(in.got) != 2 {
		t.Fatalf("%d events", len(in.got))
	}
	first := in.got[0]
	want := map[string]string{
		"cicd.pipeline.task.run.result": "error", "cicd.pipeline.task.name": "build", "cicd.pipeline.task.run.id": "7",
		"cicd.pipeline.run.id": "8", "cicd.worker.id": "u1", "cicd.worker.name": "amber", "error.type": "host-teardown",
		"vcs.repository.name": "o/r", "k8s.cluster.name": "east", "k8s.namespace.name": "arc", "k8s.node.name": "n1",
		"k8s.pod.name": "amber", "k8s.pod.uid": "u1", "url.full": "https://coroner.example/runners/arc/amber?case=c1",
		"coroner.case": "c1", "coroner.verdict": "host-teardown", "coroner.confidence": "confirmed",
		"coroner.domain": "platform", "coroner.retry": "helps", "coroner.rule": "r", "coroner.pool": "linux",
		"coroner.kind": "runner", "coroner.revision": "1", "process.exit.code": "137",
	}
	if diff := cmp.Diff(want, attributes(first.Attributes)); diff != "" {
		t.Error(diff)
	}
	if first.EventName != EventName || first.TimeUnixNano != uint64(died.UnixNano()) ||
		first.SeverityNumber != logs.SeverityNumber_SEVERITY_NUMBER_ERROR ||
		first.Body.GetStringValue() != "The node went." {
		t.Errorf("%v", first)
	}
	if in.resource["service.name"] != "coroner" || in.resource["service.version"] != "v1" {
		t.Errorf("%v", in.resource)
	}
	second := attributes(in.got[1].Attributes)
	if _, failed := second["error.type"]; failed || second["cicd.pipeline.task.run.result"] != "success" ||
		second["coroner.change"] != "label" || second["coroner.revision"] != "2" {
		t.Errorf("%v", second)
	}
	if n, err := loop.List.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
}

// The five words of the conventions, and none where no task ran.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		v    rules.Verdict
		want string
	}{
		{rules.Verdict{Label: rules.NodeOOM, Domain: "platform"}, "error"},
		{rules.Verdict{Label: rules.CgroupOOM, Domain: "workload"}, "failure"},
		{rules.Verdict{Label: rules.DeadlineExceeded, Domain: "workload"}, "timeout"},
		{rules.Verdict{Label: rules.JobCancelled, Domain: "operator"}, "cancellation"},
		{rules.Verdict{Label: rules.Completed}, "success"},
		{rules.Verdict{Label: rules.IdleRemoved}, ""},
		{rules.Verdict{Label: rules.Unschedulable, Domain: "platform"}, ""},
		{rules.Verdict{Label: rules.PoolBlocked, Standing: rules.Standing{Kind: casefile.OfPool}}, ""},
	} {
		if got := result(&c.v); got != c.want {
			t.Errorf("%s: %q, want %q", c.v.Label, got, c.want)
		}
	}
}

// A token that cannot be read fails the attempt, and no request is made without it.
func TestNoToken(t *testing.T) {
	in := &receiver{t: t}
	server := httptest.NewServer(in)
	defer server.Close()
	e, err := New(server.URL+"/v1/logs", func() (string, error) { return "", io.ErrUnexpectedEOF }, "v1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Send(context.Background(), ledger.Delivery{}); err == nil || len(in.got) != 0 {
		t.Errorf("%v, %d events", err, len(in.got))
	}
}
