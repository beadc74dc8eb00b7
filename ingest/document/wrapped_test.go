package document

import (
	"strings"
	"testing"

	"coroner/ingest"
)

// TestWrappedInJSON: a shipper's object around a program's line is taken off where the
// line inside has the form of a program, and what was inside is a claim.
func TestWrappedInJSON(t *testing.T) {
	const klog = `E0504 10:00:00.000001 812 kubelet.go:1] \"it broke\" pod=\"ci/a\"`
	for line, want := range map[string]ingest.Source{
		`{"ts":"2026-05-04T10:00:00Z","unit":"kubelet.service","message":"` + klog + `"}`:   ingest.Kubelet,
		`{"textPayload":"` + klog + `","resource":{"type":"k8s_node"}}`:                     ingest.Kubelet,
		`{"jsonPayload":{"MESSAGE":"` + klog + `"},"logName":"kubelet"}`:                    ingest.Kubelet,
		`{"_raw":"time=\"2026-05-04T10:00:00Z\" level=info msg=\"it broke\"","host":"n-1"}`: ingest.Containerd,
		`{"log":"` + klog + `\n","stream":"stderr","time":"2026-05-04T10:00:00Z"}`:          ingest.Kubelet,
		`{"log":"` + klog + `\n","kubernetes":{"host":"n-1"}}`:                              ingest.Kubelet,
	} {
		e := one(t, "", line)
		if e.Source != want || e.Trust != ingest.Claimed || !strings.Contains(e.Text, "it broke") ||
			strings.Contains(e.Text, `\"`) {
			t.Errorf("%s\n is %+v", line, e)
		}
	}
	for _, line := range []string{
		`{"level":"info","ts":"2026-05-04T10:00:00Z","msg":"all well","message":"nothing broke"}`,
		`{"message":"the pod is well"}`,
		`{"textPayload":["` + klog + `"]}`,
	} {
		if e := one(t, "", line); e.Text != line {
			t.Errorf("%s\n became %q", line, e.Text)
		}
	}
}

// TestCarriedLastLines: a controller that keeps a runner's last lines in its own record
// hands on the runner's claims, and its own record stays.
func TestCarriedLastLines(t *testing.T) {
	const head = `{"level":"info","ts":"2026-05-04T10:00:00Z","msg":"kept","controller":"pod","reconcileID":"r",`
	const last = `"deathLog":"2026-05-04T09:59:58Z Running job: mill\n` +
		`[WORKER 2026-05-04 09:59:59Z INFO JobRunner] hi\n\n"}`
	entries, _ := readAll(t, Document{}, head+`"pod":"amber-1","namespace":"ci",`+last)
	if len(entries) != 3 || entries[2].Source != ingest.Controller {
		t.Fatalf("entries %+v", entries)
	}
	for i, want := range []string{"Running job: mill", "hi"} {
		e := entries[i]
		if e.Text != want || e.Source != ingest.Runner || e.Trust != ingest.Claimed || e.Pod != "amber-1" ||
			e.Namespace != "ci" {
			t.Errorf("line %d: %+v", i, e)
		}
	}
	if e := one(t, "", head+last); e.Source != ingest.Controller {
		t.Errorf("of no pod: %+v", e)
	}
	entries, _ = readAll(
		t,
		Document{Name: runPath},
		`2026-05-04T10:00:00Z stdout F `+head+`"pod":"b","namespace":"ci",`+last,
	)
	for _, e := range entries {
		if e.Pod != "pool-runner-a" {
			t.Errorf("a job's line speaks for another pod: %+v", e)
		}
	}
}
