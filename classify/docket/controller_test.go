package docket

import (
	"slices"
	"testing"
	"time"

	"coroner/ingest/document"
	"coroner/rules"
)

// An own controller proves what it prints if a glob names it; the same pod
// without a glob, and a job's pod that prints the same, prove nothing.
func TestOwnController(t *testing.T) {
	const says = `2026-09-01T12:10:00Z INFO Pod is in failed phase {"ephemeralrunner": {"name":"` + pod +
		`","namespace":"ci"}, "podReason": "DeadlineExceeded"}`
	for _, tt := range []struct {
		what           string
		globs          []string
		namespace, pod string
		proves         bool
	}{
		{"named", []string{"ops/dispatcher-*"}, "ops", "dispatcher-0", true},
		{"not named", nil, "ops", "dispatcher-0", false},
		{"its namespace only", []string{"ops/*"}, "ops", "dispatcher-0", false},
		{"a job's", []string{"ops/dispatcher-*"}, "ci", "build-1", false},
		{"a job's of that name", []string{"ops/dispatcher-*"}, "ci", "dispatcher-0", false},
	} {
		w := newWorld(t, Options{Controllers: tt.globs, Deadline: 30 * time.Second})
		w.tell(w.born()...)
		w.pass(10 * time.Minute)
		feed := document.Document{Name: "loki", Controller: w.o.Controllers.Name}.Feed()
		labels := map[string]string{"namespace": tt.namespace, "pod": tt.pod, "container": "main"}
		w.tell(slices.Clone(feed.Shipped(w.clock.at, labels, says))...)
		w.tell(w.died(1)...)
		w.pass(time.Minute)
		w.due()
		v := w.verdict(pod).Verdict
		if proves := v.Label == "deadline-exceeded" && v.Confidence == rules.Confirmed; proves != tt.proves {
			t.Errorf("%s: %s (%s)", tt.what, v.Label, v.Confidence)
		}
	}
}

// The API server's audit log, shipped as a plain stream, names who deleted a
// runner; the same line in its own output names nobody.
func TestShippedAudit(t *testing.T) {
	const line = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"delete",` +
		`"user":{"username":"nora"},` +
		`"objectRef":{"resource":"pods","namespace":"ci","name":"` + pod +
		`"},"responseStatus":{"code":200},"stageTimestamp":"2026-09-01T12:10:00Z"}`
	for _, tt := range []struct {
		labels map[string]string
		by     string
	}{
		{map[string]string{"filename": "/var/log/kubernetes/audit/audit.log"}, "user"},
		{
			map[string]string{"filename": "/var/log/audit.log", "namespace": "ci", "pod": pod, "container": "runner"},
			"unknown",
		},
	} {
		w := newWorld(t, Options{Deadline: 30 * time.Second})
		w.tell(w.born()...)
		w.pass(10 * time.Minute)
		w.tell(slices.Clone(document.Document{Name: "loki"}.Feed().Shipped(w.clock.at, tt.labels, line))...)
		w.pass(5 * time.Second)
		w.tell(w.died(143)...)
		w.pass(time.Minute)
		w.due()
		if v := w.verdict(pod).Verdict; v.Label != "SIGTERM-drain" || v.Initiator != tt.by {
			t.Errorf("%v: %s by %s: %s", tt.labels, v.Label, v.Initiator, v.Summary)
		}
	}
}
