package document

import (
	"strings"
	"testing"

	"coroner/ingest"
)

// asked is an audit record of the API server.
func asked(verb, resource, subresource, stage, more string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"` + stage +
		`","requestURI":"/x","verb":"` + verb +
		`","user":{"username":"nora"},"userAgent":"kubectl/v1.34.1 (linux/amd64)","objectRef":{"resource":"` +
		resource + `","subresource":"` + subresource +
		`","namespace":"ci","name":"amber-1","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201}` + more +
		`,"requestReceivedTimestamp":"2026-03-01T10:00:00.000001Z","stageTimestamp":"2026-03-01T10:00:00.250000Z"}`
}

func TestAudit(t *testing.T) {
	eviction := asked("create", "pods", "eviction", "ResponseComplete", "")
	for _, tt := range []struct {
		what, name, line, text, pod string
		trust                       ingest.Trust
	}{
		{"an eviction", "audit.log", eviction,
			`audit verb=create resource=pods/eviction name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" ` +
				`code=201 stage=ResponseComplete`, "ci/amber-1", ingest.Attested},
		{"its name says nothing", "lines.jsonl", eviction,
			`audit verb=create resource=pods/eviction name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" ` +
				`code=201 stage=ResponseComplete`, "ci/amber-1", ingest.Claimed},
		{"a node", "kube-apiserver-audit-2026-03-01.log", asked("delete", "nodes", "", "ResponseComplete", ""),
			`audit verb=delete resource=nodes name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" code=201 ` +
				`stage=ResponseComplete`, "/", ingest.Attested},
		{"tried only", "audit.log", asked("delete", "pods", "", "ResponseComplete",
			`,"requestObject":{"kind":"DeleteOptions","dryRun":["All"]}`),
			`audit verb=delete resource=pods name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" code=201 ` +
				`stage=ResponseComplete dry_run=All`, "ci/amber-1", ingest.Attested},
		{"by force", "audit.log", asked("delete", "pods", "", "ResponseComplete",
			`,"requestObject":{"kind":"DeleteOptions","gracePeriodSeconds":0}`),
			`audit verb=delete resource=pods name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" code=201 ` +
				`stage=ResponseComplete grace=0`, "ci/amber-1", ingest.Attested},
		{"an eviction with some seconds", "audit.log", asked("create", "pods", "eviction", "ResponseComplete",
			`,"requestObject":{"kind":"Eviction","deleteOptions":{"gracePeriodSeconds":15}}`),
			`audit verb=create resource=pods/eviction name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" ` +
				`code=201 stage=ResponseComplete grace=15`, "ci/amber-1", ingest.Attested},
		{"another's body", "audit.log", asked("update", "pods", "", "ResponseComplete",
			`,"requestObject":{"dryRun":true,"deleteOptions":"x"}`),
			`audit verb=update resource=pods name=amber-1 user=nora agent="kubectl/v1.34.1 (linux/amd64)" code=201 ` +
				`stage=ResponseComplete`, "ci/amber-1", ingest.Attested},
	} {
		e := one(t, tt.name, tt.line)
		if e.Source != ingest.Kube || e.Trust != tt.trust || e.Text != tt.text || e.Namespace+"/"+e.Pod != tt.pod ||
			!e.At.Equal(at("2026-03-01T10:00:00.25Z")) ||
			e.Fields["msg"] != "audit" {
			t.Errorf("%s: %+v", tt.what, e)
		}
	}
}

// An audit record proves nothing where a job can have printed it.
func TestForgedAudit(t *testing.T) {
	line := asked("delete", "pods", "", "ResponseComplete", "")
	for what, doc := range map[string]struct{ name, text string }{
		"its own log":         {runPath, line},
		"a container's lines": {"audit.log", "2026-03-01T10:00:00Z stdout F " + line},
		"kubectl's prefix":    {"audit.log", "[pod/audit-0/main] " + line},
		"a container's file":  {"ci_audit_" + testUID + "/audit/0.log", line},
		"among other words":   {"audit.log", "hello\n" + line},
		"before other words":  {"audit.log", line + "\nhello"},
		"a job's file":        {"audit-job-output.log", line},
		"a link of a log":     {"audit_ci_main-" + strings.Repeat("ab", 32) + ".log", line},
	} {
		entries, marks := readAll(t, Document{Name: doc.name}, doc.text)
		for _, e := range entries {
			if e.Source == ingest.Kube && e.Trust == ingest.Attested &&
				has(marks, ingest.Mixed, ingest.Unknown) == nil {
				t.Errorf("%s: %+v", what, e)
			}
		}
	}
}

// A log that is being written ends in the middle of a line; what is whole in
// it stands.
func TestTornAudit(t *testing.T) {
	line := asked("delete", "pods", "", "ResponseComplete", "")
	entries, marks := readAll(t, Document{Name: "audit.log"}, line+"\n"+line[:300])
	if len(entries) != 2 || entries[0].Trust != ingest.Attested || entries[1].Trust != ingest.Claimed ||
		entries[1].Pod != "" ||
		len(marks) != 0 {
		t.Errorf("%+v %+v", entries, marks)
	}
}

// A shipper's labels say that a file was the API server's; a container's say
// that it was not.
func TestShippedAudit(t *testing.T) {
	line := asked("delete", "pods", "", "ResponseComplete", "")
	for _, tt := range []struct {
		what   string
		labels map[string]string
		proves bool
	}{
		{"the file", map[string]string{"filename": "/var/log/kubernetes/audit/audit.log", "node": "master-0"}, true},
		{"another file", map[string]string{"filename": "/var/log/syslog"}, false},
		{"a pod", map[string]string{"filename": "/var/log/audit.log", "namespace": "ci", "pod": "amber-1",
			"container": "runner"}, false},
		{"some container", map[string]string{"filename": "/var/log/audit.log", "service_name": "audit"}, false},
		{"a container's file", map[string]string{"filename": "/var/log/pods/ci_audit_" + testUID + "/audit/0.log"},
			false},
	} {
		got := Document{Name: "loki"}.Feed().Shipped(at("2026-03-01T10:00:01Z"), tt.labels, line)
		if proves := len(got) == 1 && got[0].Source == ingest.Kube &&
			got[0].Trust == ingest.Attested; proves != tt.proves {
			t.Errorf("%s: %+v", tt.what, got)
		}
		if tt.proves && (got[0].Pod != "amber-1" || got[0].Node != "") {
			t.Errorf("%s: %+v", tt.what, got[0])
		}
	}
}

// What a job can put into its own folders is no more than a claim, whatever the
// file is called.
func TestFilesInAJobsPlaceProveNothing(t *testing.T) {
	audit := asked("delete", "pods", "", "ResponseComplete", "")
	journal := `{"__REALTIME_TIMESTAMP":"1777888800000000","_BOOT_ID":"00000000000000000000000000000001",` +
		`"_HOSTNAME":"n","_TRANSPORT":"kernel","MESSAGE":"one"}`
	for file, text := range map[string]string{"audit.log": audit, "journal.jsonl": journal,
		"journal.log": "May 04 10:00:00 node kernel: one"} {
		for dir, want := range map[string]ingest.Trust{"node/": ingest.Attested, "node/_work/": ingest.Claimed,
			"_diag/": ingest.Claimed, "a/_temp/b/": ingest.Claimed} {
			entries, _ := readAll(t, Document{Name: dir + file, Ref: at("2026-06-01T00:00:00Z")}, text+"\n")
			if len(entries) != 1 || entries[0].Trust != want {
				t.Errorf("%s%s: %+v, want trust %d", dir, file, entries, want)
			}
		}
	}
}
