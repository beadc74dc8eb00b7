package logtext

import (
	"cmp"
	"iter"
	"maps"
	"strings"
)

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

// The names of labels that say the same of where a line is from. Shippers have their own: those
// of OpenTelemetry write k8s_ before theirs.
var (
	clusterLabels = []string{"cluster", "k8s_cluster_name", "k8s.cluster.name", "cluster_name", "k8s_cluster",
		"kube_cluster", "kube_cluster_name", "kubernetes_cluster", "kubernetes_cluster_name", "eks_cluster"}
	nodeLabels      = []string{"node", "nodename", "node_name", "hostname", "host", "_HOSTNAME", "k8s_node_name"}
	namespaceLabels = []string{"namespace", "k8s_namespace_name"}
	podLabels       = []string{"pod", "pod_name", "k8s_pod_name"}
	uidLabels       = []string{"pod_uid", "k8s_pod_uid"}
	nameLabels      = []string{"container", "k8s_container_name"}
)

// originOf has for each such name the first one of those that mean the same.
var originOf = func() map[string]string {
	out := map[string]string{"container_name": nameLabels[0], "exported_namespace": namespaceLabels[0]}
	for _, names := range [][]string{
		clusterLabels, nodeLabels, namespaceLabels, podLabels, uidLabels, nameLabels,
	} {
		for _, name := range names {
			out[name] = names[0]
		}
	}
	return out
}()

// agreed is what labels say that mean the same; "" where they do not agree: then one of them is
// not the shipper's.
func (l Labels) agreed(names []string) (value string) {
	for _, name := range names {
		switch v := l[name]; {
		case v == "" || v == value:
		case value != "":
			return ""
		default:
			value = v
		}
	}
	return Brief(value, 253)
}

// Pod is the name of the pod that a line is from.
func (l Labels) Pod() string { return l.agreed(podLabels) }

// PodUID is the UID of the pod that a line is from.
func (l Labels) PodUID() string { return l.agreed(uidLabels) }

// Namespace is that of the pod that a line is from.
func (l Labels) Namespace() string {
	return cmp.Or(l.agreed(namespaceLabels), l.First("exported_namespace"))
}

// Container is the name of the container that a line is from.
func (l Labels) Container() string { return cmp.Or(l.agreed(nameLabels), l.First("container_name")) }

// ClusterOf is the cluster that the labels of a stream name, each of which is its shipper's.
func ClusterOf(set map[string]string) string { return Labels(set).First(clusterLabels...) }

// WithMetadata are the labels of a stream with a line's structured metadata. A journal's is what
// its shipper knows of the line beside the labels. Any other line's can be what a program gave
// it, as an attribute of OpenTelemetry's. So that says nothing that the labels say, under
// whichever name; what it says twice and differently, it does not say; and it names no unit of
// the host's, and no cluster.
func (l Labels) WithMetadata(metadata iter.Seq2[string, string]) Labels {
	out := maps.Clone(l)
	if out == nil {
		out = Labels{}
	}
	journal := l.Journals()
	said, values := map[string]bool{clusterLabels[0]: true}, map[string]string{}
	for name := range l {
		said[originName(name)] = true
	}
	for name, value := range metadata {
		of := originName(name)
		was, twice := values[of]
		switch {
		case journal:
			if _, told := l[name]; !told {
				out[name] = value
			}
			continue
		case said[of] || OfJournal(name):
			continue
		case twice && was != value:
			value = ""
		}
		values[of], out[name] = value, value
	}
	for name := range out {
		if value, told := values[originName(name)]; told && value == "" {
			delete(out, name)
		}
	}
	return out
}

// originName is the name under which a label's meaning is known.
func originName(label string) string { return cmp.Or(originOf[label], label) }

// serviceName is the label service_name, unless Loki itself made it (since 3.0) of
// the label job or of nothing, or k8s-monitoring of the systemd unit or, in its release 3,
// of the kernel's identifier.
func (l Labels) serviceName() string {
	switch s := l["service_name"]; {
	case s == l["job"], s == "unknown_service", s == l.Unit(), s == "kernel" && l.transport() == s:
		return ""
	default:
		return s
	}
}

// transport says how a line came to journald: kernel, stdout, syslog.
func (l Labels) transport() string { return l.First("transport", "_TRANSPORT") }

// OfKernel says whether journald had a line from the kernel.
func (l Labels) OfKernel() bool { return l.transport() == "kernel" }

// Unit is the systemd unit that journald says a line is from.
func (l Labels) Unit() string { return l.First("unit", "systemd_unit", "_SYSTEMD_UNIT") }

// Containers says whether the labels name anything of a container's: what they
// say beside that can be its own choice.
func (l Labels) Containers() bool {
	for name, v := range l {
		if v != "" && (containerLabels[name] || namesOwner(name)) {
			return true
		}
	}
	return l.serviceName() != "" || l["stream"] == "stdout" || l["stream"] == "stderr" ||
		strings.HasPrefix(l["filename"], "/var/log/pods/") || strings.HasPrefix(l["filename"], "/var/log/containers/")
}

// namesOwner says whether a label of OpenTelemetry's names a pod, or what makes pods.
func namesOwner(label string) bool {
	kind, ok := strings.CutPrefix(label, "k8s_")
	kind, _, _ = strings.Cut(kind, "_")
	return ok && ownerKinds[kind]
}

var ownerKinds = map[string]bool{
	"pod": true, "namespace": true, "container": true, "deployment": true, "replicaset": true, "statefulset": true,
	"daemonset": true, "job": true, "cronjob": true,
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
	return l.Unit() != "" || l.transport() != ""
}

// journalJob says whether a job of that name reads a journal: systemd-journal,
// integrations/kubernetes/journal, node_journal. With other words in its last part it is a
// program that has such a name, as namespace/journal-worker. Alloy has its component's name
// for it, loki.source.journal.NAME, where nobody gave it another.
func journalJob(name string) bool {
	if strings.HasPrefix(name, "loki.source.journal.") {
		return !strings.Contains(name, "/")
	}
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
