package logtext

import "testing"

// A label of OpenTelemetry's makes a container's stream only if it names one, or what makes pods:
// a shipper's own names for clusters and places leave a journal a journal.
func TestLabelsOfAContainer(t *testing.T) {
	for name, container := range map[string]bool{
		"k8s_pod_name": true, "k8s_namespace_name": true, "k8s_container_name": true, "k8s_deployment_name": true,
		"k8s_job_name": true, "container": true, "namespace": true,
		"k8s_cluster": false, "k8s_env": false, "k8s_node": false, "k8s_node_name": false, "k8s_cluster_name": false,
		"cluster_name": false, "kube_cluster": false, "region": false,
	} {
		l := Labels{"job": "integrations/kubernetes/journal", "unit": "kubelet.service", name: "x"}
		if l.Containers() != container || l.Journals() == container {
			t.Errorf("with %s: a container's %v, a journal's %v", name, l.Containers(), l.Journals())
		}
	}
}

// A cluster has many names, of which the shipper's own comes first.
func TestClusterOf(t *testing.T) {
	for _, c := range []struct {
		labels Labels
		want   string
	}{
		{Labels{"cluster": "red"}, "red"},
		{Labels{"k8s_cluster_name": "gke-7", "cluster": "red"}, "red"},
		{Labels{"cluster_name": "red"}, "red"},
		{Labels{"kubernetes_cluster": "red"}, "red"},
		{Labels{"clusters": "red"}, ""},
		{nil, ""},
	} {
		if got := ClusterOf(c.labels); got != c.want {
			t.Errorf("%v: %q, want %q", c.labels, got, c.want)
		}
	}
}
