package document

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// auditName is what a file must be called to be believed as an audit log: its
// lines have nothing that a job could not print.
var auditName = regexp.MustCompile(`(?i)(^|[^a-z])audit([^a-z]|$)`)

// auditFile says whether a path is an audit log's by its name, and not the log
// of a container that somebody called so.
func auditFile(name string) bool {
	_, isContainer := ingest.ContainerOfPath(name)
	return auditName.MatchString(path.Base(name)) && !isContainer
}

// auditPath says whether a shipper read an audit log of the node: a file that is called so in
// /var/log or in a folder that is the API server's by its name. Other folders there are of
// programs that anybody may run, and so are a name without its folder and a path that goes up.
func auditPath(name string) bool {
	if !auditFile(name) || path.Clean(name) != name {
		return false
	}
	dir, _ := path.Split(name)
	return dir == "/var/log/" || slices.ContainsFunc(auditFolders, func(s string) bool { return strings.HasPrefix(dir, s) })
}

// auditFolders are where kubeadm's documentation, kops, kubespray, Talos, OpenShift, RKE2 and k3s
// have the audit log.
var auditFolders = []string{
	"/var/log/kube", "/var/log/audit/", "/var/log/apiserver/", "/var/log/openshift-apiserver/",
	"/var/log/oauth-apiserver/", "/var/lib/rancher/rke2/server/logs/", "/var/lib/rancher/k3s/server/logs/",
}

// bareAudit yields an audit record that is a line of the document itself. One
// that is cut off, as the last of a log that is being written, says nothing.
func (f *recordLines) bareAudit(b []byte, torn bool) bool {
	named := auditFile(f.r.doc.Name)
	a, ok := logtext.ParseAudit(b)
	if !ok && !(torn && named) {
		return false
	}
	f.r.account.lines++
	d := draft{Entry: ingest.Entry{Line: f.r.n, Cut: f.r.in.Cut, Source: ingest.Kube}}
	if !ok {
		f.r.emitDraft(&d, logtext.Cleaned(string(b)))
		return true
	}
	if named {
		f.r.account.provenance.addMore(claimsHost)
		d.Trust = f.r.account.provenance.hostTrust()
	}
	f.r.yieldAudit(d, &a)
	return true
}

// shippedAudit yields an audit record that a shipper read from a file and
// labelled with its path, and with no container.
func (f *lokiLines) shippedAudit(d *draft, set logtext.Labels, text string) bool {
	if d.stream != nil || d.Source != ingest.Unknown || !strings.HasPrefix(text, "{") ||
		!auditPath(set.First("filename", "log_file_path", "log_file_name")) {
		return false
	}
	a, ok := logtext.ParseAudit([]byte(text))
	if !ok {
		return false
	}
	f.r.account.provenance.addMore(claimsHost)
	audit := *d
	audit.unidentified = false // the path says it
	// the node is the API server's, not the pod's
	audit.Node, audit.Unit, audit.Trust = "", "", f.r.account.provenance.hostTrust()
	f.r.yieldAudit(audit, &a)
	return true
}

// yieldAudit yields what a record says.
func (r *reader) yieldAudit(d draft, a *logtext.Audit) {
	d.Source = ingest.Kube
	if at := a.At(); !at.IsZero() {
		d.At, d.Clock = at, ingest.WallClock
		r.account.clock.Saw(at)
	}
	if o := a.ObjectRef; o.Resource == "pods" && o.APIGroup == "" {
		d.Namespace, d.Pod, d.PodUID = logtext.Brief(o.Namespace, 253), logtext.Brief(o.Name, 253),
			logtext.Brief(o.UID, 253)
	}
	text := a.Fill(&d.Entry)
	r.emitDraft(&d, text)
}
