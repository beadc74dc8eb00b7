package logtext

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
)

// auditName is what a file must be called to be believed as an audit log: its
// lines have nothing that a job could not print.
var auditName = regexp.MustCompile(`(?i)(^|[^a-z])audit([^a-z]|$)`)

// AuditFile says whether a path is an audit log's by its name, and not the log
// of a container that somebody called so.
func AuditFile(name string) bool {
	_, isContainer := ingest.ContainerOfPath(name)
	return auditName.MatchString(path.Base(name)) && !isContainer
}

// AuditPath says whether a shipper read an audit log of the node: a file that is called so in
// /var/log or in a folder that is the API server's by its name. Other folders there are of
// programs that anybody may run, and so are a name without its folder and a path that goes up.
func AuditPath(name string) bool {
	if !AuditFile(name) || path.Clean(name) != name {
		return false
	}
	dir, _ := path.Split(name)
	inside := func(folder string) bool { return strings.HasPrefix(dir, folder) }
	return dir == "/var/log/" || slices.ContainsFunc(auditFolders, inside)
}

// auditFolders are where kubeadm's documentation, kops, kubespray, Talos, OpenShift, RKE2 and k3s
// have the audit log.
var auditFolders = []string{
	"/var/log/kube", "/var/log/audit/", "/var/log/apiserver/", "/var/log/openshift-apiserver/",
	"/var/log/oauth-apiserver/", "/var/lib/rancher/rke2/server/logs/", "/var/lib/rancher/k3s/server/logs/",
}
