package push

import (
	"maps"
	"testing"

	"coroner/ingest/logtext"

	"github.com/grafana/loki/pkg/push"
)

// What a program gives its own lines as structured metadata names no unit of the host's, unless
// the stream is a journal's by its labels.
func TestMetadataNamesNoUnit(t *testing.T) {
	for _, c := range []struct {
		labels map[string]string
		named  bool
	}{
		{map[string]string{"exporter": "OTLP"}, false},
		{map[string]string{"forwarder": "vector"}, false},
		{map[string]string{}, false},
		{map[string]string{"job": "integrations/kubernetes/journal"}, true},
		{map[string]string{"transport": "stdout"}, true},
	} {
		s := &stream{labels: c.labels}
		got := s.labelsOf(&push.Entry{StructuredMetadata: push.LabelsAdapter{
			{Name: "_SYSTEMD_UNIT", Value: "kubelet.service"}, {Name: "node", Value: "n-1"},
		}})
		if (got["_SYSTEMD_UNIT"] != "") != c.named || got["node"] != "n-1" {
			t.Errorf("%v: %v", c.labels, got)
		}
	}
}

// A program chooses the attributes of its own lines, and so their structured metadata: that
// makes no other pod's of them, whichever of the names that shippers use it takes.
func TestMetadataNamesNobodyElse(t *testing.T) {
	otel := map[string]string{"k8s_cluster_name": "red", "k8s_namespace_name": "arc", "k8s_pod_name": "job-1",
		"k8s_container_name": "job"}
	plain := map[string]string{"cluster": "red", "namespace": "arc", "pod": "job-1", "container": "job"}
	half := map[string]string{"namespace": "arc", "container": "job"}
	journal := map[string]string{"job": "systemd-journal"}
	for _, c := range []struct {
		labels   map[string]string
		metadata push.LabelsAdapter
		want     string // cluster namespace/pod/container of node
	}{
		{otel, attributes("cluster", "blue", "namespace", "sys", "pod", "ctl", "pod_uid", "u"),
			"red arc/job-1/job of "},
		{plain, attributes("k8s_cluster_name", "blue", "k8s_namespace_name", "sys", "k8s_pod_name", "ctl"),
			"red arc/job-1/job of "},
		{plain, attributes("pod_name", "ctl", "container_name", "manager", "exported_namespace", "sys"),
			"red arc/job-1/job of "},
		{half, attributes("pod", "runner-1", "node", "n1"), " arc/runner-1/job of n1"}, // as k8s-monitoring 2 has it
		// It says two, by two names, and by one; it says one.
		{half, attributes("k8s_pod_name", "runner-1", "pod", "ctl", "node", "n1"), " arc//job of n1"},
		{half, attributes("k8s_pod_name", "runner-1", "k8s_pod_name", "ctl"), " arc//job of "},
		{half, attributes("k8s_pod_name", "runner-1", "pod", "runner-1"), " arc/runner-1/job of "},
		{half, attributes("k8s_pod_name", "runner-1", "pod", "ctl", "k8s_pod_name", "runner-1"), " arc//job of "},
		// A cluster is a journal's to name: its metadata are the shipper's, and add to the labels.
		{half, attributes("cluster", "blue", "pod", "runner-1"), " arc/runner-1/job of "},
		{nil, attributes("cluster", "blue", "namespace", "arc", "pod", "p"), " arc/p/ of "},
		{nil, attributes("k8s_cluster_name", "blue", "node", "n1"), " // of n1"},
		{journal, attributes("cluster", "blue", "node", "n1"), "blue // of n1"},
		{journal, attributes("hostname", "n1", "node", "n1.example.org"), " // of n1.example.org"},
		{with(journal, "hostname", "n1"), attributes("node", "n1.example.org"), " // of n1.example.org"},
		{with(journal, "node", "n1", "cluster", "red"), attributes("node", "n2", "cluster", "blue"), "red // of n1"},
		// Both are the shipper's, whose own name for its cluster comes first.
		{with(plain, "k8s_cluster_name", "gke-7"), nil, "red arc/job-1/job of "},
	} {
		s := &stream{labels: c.labels}
		l := logtext.Labels(s.labelsOf(&push.Entry{StructuredMetadata: c.metadata}))
		got := logtext.ClusterOf(l) + " " + l.Namespace() + "/" + l.Pod() + "/" + l.Container() + " of " + l["node"]
		if got != c.want {
			t.Errorf("%v with %v: %q, want %q", c.labels, c.metadata, got, c.want)
		}
	}
}

// with are the labels with others.
func with(labels map[string]string, all ...string) map[string]string {
	out := maps.Clone(labels)
	for i := 0; i < len(all); i += 2 {
		out[all[i]] = all[i+1]
	}
	return out
}

// attributes are structured metadata: a name, its value and so on.
func attributes(all ...string) (out push.LabelsAdapter) {
	for i := 0; i < len(all); i += 2 {
		out = append(out, push.LabelAdapter{Name: all[i], Value: all[i+1]})
	}
	return out
}
