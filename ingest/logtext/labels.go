package logtext

import "strings"

// Labels are a Loki stream's, or what a record's own JSON has of them.
type Labels map[string]string

// First is the first of the labels that is set.
func (l Labels) First(keys ...string) string {
	for _, k := range keys {
		if v := l[k]; v != "" {
			return Brief(v, 253)
		}
	}
	return ""
}

// ClusterOf is the cluster that the labels of a stream name, structured metadata
// among them; "" if they name none. OpenTelemetry's shippers have their own word.
func ClusterOf(set map[string]string) string {
	return Labels(set).First("cluster", "k8s_cluster_name", "k8s.cluster.name")
}

// serviceName is the label service_name, unless Loki itself made it (since 3.0) of
// the label job or of nothing, or k8s-monitoring of the systemd unit.
func (l Labels) serviceName() string {
	if s := l["service_name"]; s != l["job"] && s != "unknown_service" && s != l.Unit() {
		return s
	}
	return ""
}

// Unit is the systemd unit that journald says a line is from.
func (l Labels) Unit() string { return l.First("unit", "systemd_unit", "_SYSTEMD_UNIT") }

// Containers says whether the labels name anything of a container's: what they
// say beside that can be its own choice.
func (l Labels) Containers() bool {
	for name, v := range l {
		if v != "" && (strings.HasPrefix(name, "k8s_") && name != "k8s_node_name" && name != "k8s_cluster_name" ||
			containerLabels[name]) {
			return true
		}
	}
	return l.serviceName() != "" || l["stream"] == "stdout" || l["stream"] == "stderr" ||
		strings.HasPrefix(l["filename"], "/var/log/pods/") || strings.HasPrefix(l["filename"], "/var/log/containers/")
}

var containerLabels = map[string]bool{
	"container": true, "container_name": true, "container_id": true, "namespace": true, "exported_namespace": true,
	"app": true, "app_kubernetes_io_name": true, "compose_service": true,
}

// Journals says whether the labels are those of a node's journal: the shipper's
// job is called one, or, where no job is named, journald's own fields are there.
func (l Labels) Journals() bool {
	job := strings.ToLower(l["job"])
	switch {
	case l.Containers():
		return false
	case job != "":
		return journalJob(job) || l["source"] == "journal" && strings.Contains(job, "kubernetes")
	}
	return l.Unit() != "" || l.First("transport", "_TRANSPORT") != ""
}

// journalJob says whether a job of that name reads a journal: systemd-journal,
// integrations/kubernetes/journal, node_journal. With other words in its last part it is a
// program that has such a name, as namespace/journal-worker.
func journalJob(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	reads := false
	for _, word := range words {
		switch word {
		case "journal", "journald", "systemd":
			reads = true
		case "node", "nodes", "host", "hosts", "kubernetes", "k8s", "linux", "logs", "log", "integrations":
		default:
			return false
		}
	}
	return reads
}

// OfJournal says whether a label tells what journald knows of who wrote a line.
func OfJournal(name string) bool {
	switch name {
	case "unit", "systemd_unit", "_SYSTEMD_UNIT", "transport", "_TRANSPORT", "syslog_identifier":
		return true
	}
	return false
}

// CutLabels reads a label set as logcli prints it.
func CutLabels(s string) (Labels, string, bool) {
	n := Bracketed(s)
	if n < 2 || n > 2 && strings.IndexByte(s[:n], '=') < 0 {
		return nil, s, false
	}
	set := Labels{}
	for inside := s[1 : n-1]; inside != ""; {
		inside = strings.TrimLeft(inside, ", ")
		k := keySize(inside)
		if k == 0 || k+1 >= len(inside) || inside[k+1] != '"' || len(set) > MaxFields {
			return nil, s, false
		}
		val, rest := Unquote(inside[k+1:])
		set[inside[:k]] = val
		inside = rest
	}
	return set, s[n:], true
}

// LabelsOfJSON reads labels that are written as a JSON object.
func LabelsOfJSON(s string) Labels {
	o, ok := ScanObject(BytesOf(s))
	if !ok {
		return Labels{}
	}
	return Fields(nil).flattenInto("", &o, 0).Map()
}

// ParseLabels reads a label set as Loki writes it: {name="value", …}.
func ParseLabels(s string) (map[string]string, bool) {
	set, rest, ok := CutLabels(s)
	return set, ok && rest == ""
}
