package document

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"coroner/ingest"
)

func TestLoki(t *testing.T) {
	checkLines(t, "export.txt", []wanted{
		{
			line: `2026-05-04T10:00:00Z {unit="kubelet.service", instance="node-a:9100"} I0504 10:00:00.000001 1 ` +
				`a.go:1] "Hi"`,
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
			node:  "node-a",
			text:  `I0504 10:00:00.000001 1 a.go:1] "Hi"`,
		},
		{
			line: `2026-05-04T12:00:00+02:00 {namespace="ci", pod="pool-runner-a", ` +
				`container="runner"}   [RUNNER 2026-05-04 10:00:00Z INFO X] hi`,
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00Z",
			pod:  "ci/pool-runner-a/runner",
			text: "hi",
		},
		{
			line: `2026-05-04T10:00:00Z {pod="pool-runner-a"} May 04 10:00:00 n kernel: oom`,
			src:  ingest.Job,
			text: "May 04 10:00:00 n kernel: oom",
		},
		{
			line:  `2026-05-04T10:00:00Z {transport="kernel", nodename="node-a"} oom`,
			src:   ingest.Kernel,
			trust: ingest.Attested,
			node:  "node-a",
			text:  "oom",
		},
		{
			line: `{"labels":{"unit":"containerd.service","nodename":"node-a"},` +
				`"line":"time=\"2026-05-04T10:00:00Z\" level=info msg=x","timestamp":"2026-05-04T10:00:00.5Z"}`,
			src:   ingest.Containerd,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.5Z",
			node:  "node-a",
		},
		{
			line: "{\n  \"line\": \"hi\",\n  \"timestamp\": \"1777888800000000000\",\n  \"fields\": {\n" +
				"    \"pod\": \"pool-runner-a\",\n    \"container\": \"runner\"\n  }\n}",
			src:  ingest.Runner,
			at:   "2026-05-04T10:00:00Z",
			pod:  "/pool-runner-a/runner",
			text: "hi",
		},
		{
			line: "1777888800000\t2026-05-04T10:00:00.000Z\tMay 04 10:00:00 n kernel: x",
			src:  ingest.Kernel,
			at:   "2026-05-04T10:00:00Z",
			text: "x",
		},
		{line: `2026-05-04T10:00:00Z {not labels} x`, src: ingest.Unknown, text: "{not labels} x"},
		{line: `{a b} x`, src: ingest.Unknown, text: "{a b} x"},
	})
}

func TestLokiHeader(t *testing.T) {
	doc := "http://loki:3100/loki/api/v1/query_range?x\nCommon labels: {unit=\"kubelet.service\", node=\"node-a\"}\n" +
		"2026-05-04T10:00:00Z {} hi\n"
	entries, marks := readAll(t, Document{}, doc)
	if len(entries) != 1 || entries[0].Source != ingest.Kubelet || entries[0].Node != "node-a" ||
		has(marks, ingest.Mixed, ingest.Unknown) != nil {
		t.Errorf("%+v %+v", entries, marks)
	}
}

func TestGrafanaCSV(t *testing.T) {
	doc := "\"labels\",\"Time\",\"Line\",\"tsNs\"\n" +
		"\"{\"\"pod\"\":\"\"pool-runner-a\"\",\"\"container\"\":\"\"runner\"\"}\",\"1777888800000\",\"hi, " +
		"\"\"you\"\"\",\"1777888800000000000\"\n"
	entries, _ := readAll(t, Document{Name: "Explore-logs.csv"}, doc)
	if len(entries) != 1 {
		t.Fatalf("%+v", entries)
	}
	wanted{
		src:  ingest.Runner,
		at:   "2026-05-04T10:00:00Z",
		pod:  "/pool-runner-a/runner",
		text: `hi, "you"`,
	}.check(
		t,
		entries[0],
	)
}

// TestNewestFirst: coverage does not depend on the order of lines.
func TestNewestFirst(t *testing.T) {
	doc := "2026-05-04T10:00:09Z {pod=\"p-1\", container=\"c\"} b\n" +
		"2026-05-04T10:00:00Z {pod=\"p-1\", container=\"c\"} a\n"
	_, marks := readAll(t, Document{}, doc)
	c := has(marks, ingest.Covered, ingest.Job)
	if c == nil || !c.Mark.From.Equal(at("2026-05-04T10:00:00Z")) || !c.Mark.To.Equal(at("2026-05-04T10:00:09Z")) {
		t.Errorf("%+v", marks)
	}
}

// Loki 3 adds service_name to every stream, and k8s-monitoring sets it to the
// unit; one that somebody made of the job or the unit says nothing, any other is
// a container's.
func TestServiceName(t *testing.T) {
	f := Document{}.Feed()
	for service, want := range map[string]ingest.Source{"integrations/kubernetes/journal": ingest.Kubelet,
		"kubelet.service": ingest.Kubelet, "unknown_service": ingest.Kubelet, "": ingest.Kubelet,
		"web": ingest.Job, "containerd.service": ingest.Job} {
		got := f.Shipped(
			at("2026-05-04T10:00:00Z"),
			map[string]string{
				"job":          "integrations/kubernetes/journal",
				"instance":     "n-1",
				"source":       "journal",
				"level":        "INFO",
				"unit":         "kubelet.service",
				"service_name": service,
			},
			"x",
		)
		if len(got) != 1 || got[0].Source != want || (got[0].Trust == ingest.Attested) != (want == ingest.Kubelet) {
			t.Errorf("service_name=%q: %+v, want %s", service, got, want)
		}
	}
}

// What k8s-monitoring gives the kernel's lines: the transport tells them from others; its
// releases differ in what service_name says, and Alloy names the job where nobody else does.
func TestLabelsOfKernelLines(t *testing.T) {
	f := Document{}.Feed()
	const job = "integrations/kubernetes/journal"
	for _, c := range []struct {
		job, service, transport, unit string
		want                          ingest.Source
	}{
		{job, "", "kernel", "", ingest.Kernel},
		{job, job, "kernel", "", ingest.Kernel},
		{job, "kernel", "kernel", "", ingest.Kernel},
		{"loki.source.journal.worker", "loki.source.journal.worker", "kernel", "", ingest.Kernel},
		{"loki.source.journal.worker", "kubelet.service", "stdout", "kubelet.service", ingest.Kubelet},
		{job, "kubelet.service", "stdout", "kubelet.service", ingest.Kubelet},
		{job, "kernel", "stdout", "", ingest.Job},
		{job, "kernel", "stdout", "kubelet.service", ingest.Job},
		{job, "kernel", "", "", ingest.Job},
		{job, "web", "kernel", "", ingest.Job},
		{"loki.source.file.worker", "", "kernel", "", ingest.Unknown},
	} {
		set := map[string]string{"job": c.job, "instance": "n-1", "source": "journal", "level": "INFO",
			"priority_keyword": "INFO", "service_name": c.service, "transport": c.transport, "unit": c.unit}
		maps.DeleteFunc(set, func(_, v string) bool { return v == "" })
		got := f.Shipped(at("2026-05-04T10:00:00Z"), set, "x")
		believed := c.want == ingest.Kernel || c.want == ingest.Kubelet
		if len(got) != 1 || got[0].Source != c.want || (got[0].Trust == ingest.Attested) != believed ||
			got[0].Node != "n-1" {
			t.Errorf("%v: %+v, want %s", set, got, c.want)
		}
	}
}

// A line counts by its whole envelope: labels that do not say who wrote it make
// a claim of whatever it looks like.
func TestStreamsThatNobodyIdentified(t *testing.T) {
	f := Document{}.Feed()
	lines := []string{
		`I0504 10:00:00.000001     812 kubelet.go:2421] "SyncLoop REMOVE" source="api" pods=["ci/r-1"]`,
		`May  4 10:00:00 n-1 kernel: Kernel panic - not syncing: x`,
		`{"_TRANSPORT":"kernel","MESSAGE":"Kernel panic - not syncing: x","_BOOT_ID":"b","__CURSOR":"c",` +
			`"_HOSTNAME":"n-1"}`,
		`time="2026-05-04T10:00:00Z" level=info msg="starting containerd"`,
		`{"ts":1777888800000,"caller":"kubelet.go:2421","msg":"SyncLoop REMOVE","v":2,"pods":["ci/r-1"]}`,
		`2026-05-04T10:00:00Z	INFO	EphemeralRunner	Pod is in failed phase	{"ephemeralrunner": ` +
			`{"name":"r-1",` +
			`"namespace":"ci"}}`,
	}
	for _, set := range []map[string]string{
		{}, {"job": "fluent-bit"}, {"service_name": "unknown_service"}, {"job": "app", "filename": "/home/ci/app.log"},
		{"k8s_deployment_name": "evil"},
		{"job": "fluent-bit", "unit": "kubelet.service"}, {"job": "app", "transport": "kernel"},
		{"job": "varlogs", "filename": "/var/log/syslog"}, {"host": "n-1"},
		{"job": "integrations/kubernetes/journal", "syslog_identifier": "kubelet"},
		{"job": "integrations/kubernetes/journal", "unit": "docker.service"},
		{"job": "integrations/kubernetes/journal", "unit": "kubelet.service", "app": "web"}, {"source": "journal"},
		{"job": "systemd/app", "unit": "kubelet.service"}, {"job": "tenant/journal-worker", "unit": "kubelet.service"},
		{"unit": "kubelet.service", "stream": "stdout"},
		{"unit": "kubelet.service", "filename": "/var/log/pods/tenant_evil_u/app/0.log"},
	} {
		for _, line := range lines {
			for _, e := range f.Shipped(at("2026-05-04T10:00:00Z"), set, line) {
				if e.Mark == nil && e.Trust != ingest.Claimed {
					t.Errorf("%v: %s is believed as %s's", set, line, e.Source)
				}
			}
		}
	}
	for _, set := range []map[string]string{
		{"job": "integrations/kubernetes/journal", "transport": "kernel", "instance": "n-1"},
		{"job": "systemd-journal", "unit": "kubelet.service"}, {"unit": "kubelet.service"},
		{"job": "node_journal", "unit": "kubelet.service"}, {"job": "k8s/systemd-journald", "transport": "kernel"},
	} {
		if got := f.Shipped(at("2026-05-04T10:00:00Z"), set, "x"); len(got) != 1 || got[0].Trust != ingest.Attested {
			t.Errorf("%v: %+v, want it believed", set, got)
		}
	}
}

// A stream's labels name its cluster, in Grafana's words or OpenTelemetry's; it
// goes with every record and every mark.
func TestClusterLabel(t *testing.T) {
	f := Document{}.Feed()
	words := map[string]string{
		"cluster":          "east",
		"k8s_cluster_name": "east",
		"k8s.cluster.name": "east",
		"clustername":      "",
	}
	for label, want := range words {
		for _, set := range []map[string]string{{"unit": "kubelet.service"}, {"pod": "p-1", "container": "runner"}} {
			set[label] = "east"
			got := f.Shipped(at("2026-05-04T10:00:00Z"), set, "x")
			if len(got) != 1 || got[0].Cluster != want {
				t.Errorf("%v: %+v", set, got)
			}
		}
	}
	doc := "2026-05-04T10:00:00Z {cluster=\"east\", pod=\"p-1\", container=\"c\"} b\n" +
		"2026-05-04T10:00:00Z {cluster=\"west\", pod=\"p-1\", container=\"c\"} a\n"
	entries, marks := readAll(t, Document{}, doc)
	covered := map[string]int{}
	for _, m := range marks {
		if m.Mark.Kind == ingest.Covered {
			covered[m.Cluster] += m.Mark.Lines
		}
	}
	if len(entries) != 2 || entries[0].Cluster != "east" || entries[1].Cluster != "west" ||
		covered["east"] != 1 || covered["west"] != 1 {
		t.Errorf("%+v %+v", entries, marks)
	}
}

// The labels of a log store's export name clusters, in whatever form it was saved.
// A line with labels among others names none: a job can print it.
func TestWhichDocumentsNameClusters(t *testing.T) {
	record := `{"line":"x","timestamp":"2026-05-04T10:00:00Z","labels":{"cluster":"east","pod":"p-1","container":"c"}}`
	line := `2026-05-04T10:00:00Z {cluster="east", pod="p-1", container="c"} x`
	for doc, want := range map[string]string{
		record + "\n" + record:                                 "east",
		"[\n" + strings.ReplaceAll(record, ",", ",\n") + "\n]": "east",
		line:                           "east",
		"$ logcli query '{}'\n" + line: "east",
		"http://loki/loki/api/v1/query_range?x\n" + line:      "east",
		line + "\ncontinues\n" + line:                         "east",
		"√ Connected to GitHub\n" + line:                      "",
		"2026-05-04T10:00:00Z a step's line\n" + line:         "",
		"May 04 10:00:00 n kernel: oom\n" + record:            "",
		"2026-05-04 10:00:00Z: Running job: build\n" + record: "",
	} {
		entries, _ := readAll(t, Document{}, doc)
		entries = slices.DeleteFunc(entries, func(e ingest.Entry) bool { return e.Text != "x" })
		if last := entries[len(entries)-1]; last.Cluster != want {
			t.Errorf("%s\nnames cluster %q, want %q: %+v", doc, last.Cluster, want, last)
		}
	}
}
