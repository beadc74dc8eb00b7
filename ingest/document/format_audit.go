package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// bareAudit yields an audit record that is a line of the document itself. One
// that is cut off, as the last of a log that is being written, says nothing.
func (f *recordLines) bareAudit(b []byte, torn bool) bool {
	named := logtext.AuditFile(f.r.doc.Name)
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
		!logtext.AuditPath(set.First("filename", "log_file_path", "log_file_name")) {
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
