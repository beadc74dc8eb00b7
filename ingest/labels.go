package ingest

import "strings"

// labels are a Loki stream's, or what a record's own JSON has of them.
type labels map[string]string

// first is the first of the labels that is set.
func (l labels) first(keys ...string) string {
	for _, k := range keys {
		if v := l[k]; v != "" {
			return brief(v, 253)
		}
	}
	return ""
}

// ClusterOf is the cluster that the labels of a stream name, structured metadata
// among them; "" if they name none. OpenTelemetry's shippers have their own word.
func ClusterOf(set map[string]string) string {
	return labels(set).first("cluster", "k8s_cluster_name", "k8s.cluster.name")
}

// service is the label service_name, unless Loki itself made it (since 3.0) of
// the label job or of nothing, or k8s-monitoring of the systemd unit.
func (l labels) service() string {
	if s := l["service_name"]; s != l["job"] && s != "unknown_service" && s != l.unit() {
		return s
	}
	return ""
}

// unit is the systemd unit that journald says a line is from.
func (l labels) unit() string { return l.first("unit", "systemd_unit", "_SYSTEMD_UNIT") }

// containers says whether the labels name anything of a container's: what they
// say beside that can be its own choice.
func (l labels) containers() bool {
	for name, v := range l {
		if v != "" && (strings.HasPrefix(name, "k8s_") && name != "k8s_node_name" && name != "k8s_cluster_name" || containerLabels[name]) {
			return true
		}
	}
	return l.service() != ""
}

var containerLabels = map[string]bool{
	"container": true, "container_name": true, "container_id": true, "namespace": true, "exported_namespace": true,
	"app": true, "app_kubernetes_io_name": true, "compose_service": true,
}

// journals says whether the labels are those of a node's journal: the shipper's
// job is called one, or, where no job is named, journald's own fields are there.
func (l labels) journals() bool {
	job := strings.ToLower(l["job"])
	switch {
	case l.containers():
		return false
	case job != "":
		return strings.Contains(job, "journal") || strings.Contains(job, "systemd") || l["source"] == "journal" && strings.Contains(job, "kubernetes")
	}
	return l.unit() != "" || l.first("transport", "_TRANSPORT") != ""
}

// labelSet reads a label set as logcli prints it.
func labelSet(s string) (labels, string, bool) {
	n := nested(s)
	if n < 2 || n > 2 && strings.IndexByte(s[:n], '=') < 0 {
		return nil, s, false
	}
	set := labels{}
	for inside := s[1 : n-1]; inside != ""; {
		inside = strings.TrimLeft(inside, ", ")
		k := keySize(inside)
		if k == 0 || k+1 >= len(inside) || inside[k+1] != '"' || len(set) > maxFields {
			return nil, s, false
		}
		val, rest := unquote(inside[k+1:])
		set[inside[:k]] = val
		inside = rest
	}
	return set, s[n:], true
}

// labelObject reads labels that are written as a JSON object.
func labelObject(s string) labels {
	o, ok := scanObject(bytesOf(s))
	if !ok {
		return labels{}
	}
	return Fields(nil).flatten("", &o, 0).Map()
}

// ParseLabels reads a label set as Loki writes it: {name="value", …}.
func ParseLabels(s string) (map[string]string, bool) {
	set, rest, ok := labelSet(s)
	return set, ok && rest == ""
}
