package ingest

import "testing"

func TestLoki(t *testing.T) {
	checkLines(t, "export.txt", []wanted{
		{line: `2026-05-04T10:00:00Z {unit="kubelet.service", instance="node-a:9100"} I0504 10:00:00.000001 1 a.go:1] "Hi"`,
			src: Kubelet, trust: Attested, at: "2026-05-04T10:00:00Z", node: "node-a", text: `I0504 10:00:00.000001 1 a.go:1] "Hi"`},
		{line: `2026-05-04T12:00:00+02:00 {namespace="ci", pod="pool-runner-a", container="runner"}   [RUNNER 2026-05-04 10:00:00Z INFO X] hi`,
			src: Runner, at: "2026-05-04T10:00:00Z", pod: "ci/pool-runner-a/runner", text: "hi"},
		{line: `2026-05-04T10:00:00Z {pod="pool-runner-a"} May 04 10:00:00 n kernel: oom`, src: Job, text: "May 04 10:00:00 n kernel: oom"},
		{line: `2026-05-04T10:00:00Z {transport="kernel", nodename="node-a"} oom`, src: Kernel, trust: Attested, node: "node-a", text: "oom"},
		{line: `{"labels":{"unit":"containerd.service","nodename":"node-a"},"line":"time=\"2026-05-04T10:00:00Z\" level=info msg=x","timestamp":"2026-05-04T10:00:00.5Z"}`,
			src: Containerd, trust: Attested, at: "2026-05-04T10:00:00.5Z", node: "node-a"},
		{line: "{\n  \"line\": \"hi\",\n  \"timestamp\": \"1777888800000000000\",\n  \"fields\": {\n    \"pod\": \"pool-runner-a\",\n    \"container\": \"runner\"\n  }\n}",
			src: Runner, at: "2026-05-04T10:00:00Z", pod: "/pool-runner-a/runner", text: "hi"},
		{line: "1777888800000\t2026-05-04T10:00:00.000Z\tMay 04 10:00:00 n kernel: x", src: Kernel, trust: Attested, at: "2026-05-04T10:00:00Z", text: "x"},
		{line: `2026-05-04T10:00:00Z {not labels} x`, src: Unknown, text: "{not labels} x"},
		{line: `{a b} x`, src: Unknown, text: "{a b} x"},
	})
}

func TestLokiHeader(t *testing.T) {
	doc := "http://loki:3100/loki/api/v1/query_range?x\nCommon labels: {unit=\"kubelet.service\", node=\"node-a\"}\n2026-05-04T10:00:00Z {} hi\n"
	entries, marks := readAll(t, Document{}, doc)
	if len(entries) != 1 || entries[0].Source != Kubelet || entries[0].Node != "node-a" || has(marks, Mixed, Unknown) != nil {
		t.Errorf("%+v %+v", entries, marks)
	}
}

func TestGrafanaCSV(t *testing.T) {
	doc := "\"labels\",\"Time\",\"Line\",\"tsNs\"\n" +
		"\"{\"\"pod\"\":\"\"pool-runner-a\"\",\"\"container\"\":\"\"runner\"\"}\",\"1777888800000\",\"hi, \"\"you\"\"\",\"1777888800000000000\"\n"
	entries, _ := readAll(t, Document{Name: "Explore-logs.csv"}, doc)
	if len(entries) != 1 {
		t.Fatalf("%+v", entries)
	}
	wanted{src: Runner, at: "2026-05-04T10:00:00Z", pod: "/pool-runner-a/runner", text: `hi, "you"`}.check(t, entries[0])
}

// TestNewestFirst: coverage does not depend on the order of lines.
func TestNewestFirst(t *testing.T) {
	doc := "2026-05-04T10:00:09Z {pod=\"p-1\", container=\"c\"} b\n2026-05-04T10:00:00Z {pod=\"p-1\", container=\"c\"} a\n"
	_, marks := readAll(t, Document{}, doc)
	c := has(marks, Covered, Job)
	if c == nil || !c.Mark.From.Equal(at("2026-05-04T10:00:00Z")) || !c.Mark.To.Equal(at("2026-05-04T10:00:09Z")) {
		t.Errorf("%+v", marks)
	}
}

// Loki 3 adds service_name to every stream; one that it made of the job says
// nothing, any other is a container's.
func TestServiceName(t *testing.T) {
	f := Document{}.Feed()
	for service, want := range map[string]Source{"integrations/kubernetes/journal": Kubelet, "unknown_service": Kubelet, "": Kubelet, "web": Job} {
		got := f.Shipped(at("2026-05-04T10:00:00Z"), map[string]string{"job": "integrations/kubernetes/journal", "unit": "kubelet.service", "service_name": service}, "x")
		if len(got) != 1 || got[0].Source != want {
			t.Errorf("service_name=%q: %+v, want %s", service, got, want)
		}
	}
}
