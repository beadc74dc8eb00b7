package ingest

import (
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// auditRecord is one line of the Kubernetes API server's audit log: who asked
// for what, and what became of it. kube-apiserver writes it as JSON with
// --audit-log-path, audit.k8s.io/v1 since 1.12, at the level Metadata or above.
type auditRecord struct {
	Kind, APIVersion                   string
	Stage, Verb, RequestURI, UserAgent string
	User, ImpersonatedUser             struct{ Username string }
	ObjectRef                          struct{ Resource, Subresource, APIGroup, Namespace, Name, UID string }
	ResponseStatus                     struct{ Code int }
	RequestObject                      struct { // from the level Request
		DryRun        []string
		DeleteOptions struct{ DryRun []string }
	}
	RequestReceivedTimestamp, StageTimestamp string
}

// auditName is what a file must be called to be believed as an audit log: its
// lines have nothing that a job could not print.
var auditName = regexp.MustCompile(`(?i)(^|[^a-z])audit([^a-z]|$)`)

// auditFile says whether a path is an audit log's by its name, and not the log
// of a container that somebody called so.
func auditFile(name string) bool {
	return auditName.MatchString(path.Base(name)) && Document{Name: name}.streamOfPath() == nil
}

// auditPath says whether a shipper read an audit log of the node: a file below
// /var/log that is called so, and not one of a container's.
func auditPath(name string) bool {
	return auditFile(name) && (!strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/var/log/")) &&
		!strings.HasPrefix(name, "/var/log/pods/") && !strings.HasPrefix(name, "/var/log/containers/")
}

const auditAPI = "audit.k8s.io/"

// parseAudit reads a line that says of itself that it is an audit record. A
// request's body can have anything where ours has a list.
func parseAudit(b []byte) (a auditRecord, ok bool) {
	err := json.Unmarshal(b, &a)
	ok = err == nil || errors.As(err, new(*json.UnmarshalTypeError))
	return a, ok && a.Kind == "Event" && strings.HasPrefix(a.APIVersion, auditAPI)
}

// bareAudit yields an audit record that is a line of the document itself. One
// that is cut off, as the last of a log that is being written, says nothing.
func (r *reader) bareAudit(b []byte, torn bool) bool {
	named := auditFile(r.doc.Name)
	a, ok := parseAudit(b)
	if !ok && !(torn && named) {
		return false
	}
	r.seen++
	d := draft{Entry: Entry{Line: r.n, Cut: r.in.cut, Source: Kube}}
	if !ok {
		r.emit(&d, clean(string(b)))
		return true
	}
	if named {
		r.taint.claimedHost = true
		d.Trust = r.taint.hostTrust()
	}
	r.audit(d, &a)
	return true
}

// shippedAudit yields an audit record that a shipper read from a file and
// labelled with its path, and with no container.
func (r *reader) shippedAudit(d *draft, set labels, text string) bool {
	if d.stream != nil || d.Source != Unknown || !strings.HasPrefix(text, "{") || !auditPath(set.first("filename", "log_file_path", "log_file_name")) {
		return false
	}
	a, ok := parseAudit([]byte(text))
	if !ok {
		return false
	}
	r.taint.claimedHost = true
	audit := *d
	audit.unidentified = false                                        // the path says it
	audit.Node, audit.Unit, audit.Trust = "", "", r.taint.hostTrust() // the node is the API server's, not the pod's
	r.audit(audit, &a)
	return true
}

// audit yields what a record says.
func (r *reader) audit(d draft, a *auditRecord) {
	d.Source = Kube
	if at := a.at(); !at.IsZero() {
		d.At, d.Clock = at, WallClock
		r.times.saw(at)
	}
	if o := a.ObjectRef; o.Resource == "pods" && o.APIGroup == "" {
		d.Namespace, d.Pod, d.PodUID = brief(o.Namespace, 253), brief(o.Name, 253), brief(o.UID, 253)
	}
	text := a.fill(&d.Entry)
	r.emit(&d, text)
}

// at is when the stage was reached: only then was it done.
func (a *auditRecord) at() time.Time {
	for _, s := range []string{a.StageTimestamp, a.RequestReceivedTimestamp} {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// fill sets the entry's fields and returns its text, in the form of all that
// is said of objects.
func (a *auditRecord) fill(e *Entry) string {
	code := ""
	if a.ResponseStatus.Code != 0 {
		code = strconv.Itoa(a.ResponseStatus.Code)
	}
	e.Fields = map[string]string{"msg": "audit"}
	text := "audit"
	for _, p := range [][2]string{
		{"verb", a.Verb}, {"resource", a.resource()}, {"name", a.ObjectRef.Name}, {"user", a.User.Username}, {"as", a.ImpersonatedUser.Username},
		{"agent", a.UserAgent}, {"code", code}, {"stage", a.Stage}, {"dry_run", a.dryRun()},
	} {
		if v := brief(strings.TrimSpace(p[1]), 512); v != "" {
			e.Fields[p[0]] = v
			text += " " + p[0] + "=" + quoteWord(v)
		}
	}
	return text
}

// resource is what was asked for, as roles have it: pods, pods/eviction.
func (a *auditRecord) resource() string {
	o := a.ObjectRef
	name := strings.Trim(o.Resource+"/"+o.Subresource, "/")
	if o.APIGroup != "" && o.Resource != "" {
		name = o.APIGroup + "/" + name
	}
	return name
}

// dryRun is "All" if nothing was to happen. At the level Metadata only the
// address tells, and kubectl says it in the body.
func (a *auditRecord) dryRun() string {
	if len(a.RequestObject.DryRun)+len(a.RequestObject.DeleteOptions.DryRun) > 0 || strings.Contains(a.RequestURI, "dryRun=") {
		return "All"
	}
	return ""
}
