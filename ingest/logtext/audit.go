package logtext

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
)

// Audit is one line of the Kubernetes API server's audit log: who asked
// for what, and what became of it. kube-apiserver writes it as JSON with
// --audit-log-path, audit.k8s.io/v1 since 1.12, at the level Metadata or above.
type Audit struct {
	Kind, APIVersion                   string
	Stage, Verb, RequestURI, UserAgent string
	User, ImpersonatedUser             struct{ Username string }
	ObjectRef                          struct{ Resource, Subresource, APIGroup, Namespace, Name, UID string }
	ResponseStatus                     struct{ Code int }
	RequestObject                      struct { // from the level Request
		DryRun             []string
		GracePeriodSeconds *int
		DeleteOptions      struct {
			DryRun             []string
			GracePeriodSeconds *int
		}
	}
	RequestReceivedTimestamp, StageTimestamp string
}

const AuditAPI = "audit.k8s.io/"

// ParseAudit reads a line that says of itself that it is an audit record. A
// request's body can have anything where ours has a list.
func ParseAudit(b []byte) (a Audit, ok bool) {
	err := json.Unmarshal(b, &a)
	ok = err == nil || errors.As(err, new(*json.UnmarshalTypeError))
	return a, ok && a.Kind == "Event" && strings.HasPrefix(a.APIVersion, AuditAPI)
}

// At is when the stage was reached: only then was it done.
func (a *Audit) At() time.Time {
	for _, s := range []string{a.StageTimestamp, a.RequestReceivedTimestamp} {
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Fill sets the entry's fields and returns its text, in the form of all that
// is said of objects.
func (a *Audit) Fill(e *ingest.Entry) string {
	code := ""
	if a.ResponseStatus.Code != 0 {
		code = strconv.Itoa(a.ResponseStatus.Code)
	}
	e.Fields = map[string]string{"msg": "audit"}
	text := "audit"
	for _, p := range [][2]string{
		{"verb", a.Verb}, {"resource", a.resource()}, {"name", a.ObjectRef.Name}, {"user", a.User.Username},
		{"as", a.ImpersonatedUser.Username},
		{"agent", a.UserAgent}, {"code", code}, {"stage", a.Stage}, {"dry_run", a.dryRun()}, {"grace", a.grace()},
	} {
		if v := Brief(strings.TrimSpace(p[1]), 512); v != "" {
			e.Fields[p[0]] = v
			text += " " + p[0] + "=" + QuoteWord(v)
		}
	}
	return text
}

// resource is what was asked for, as roles have it: pods, pods/eviction.
func (a *Audit) resource() string {
	o := a.ObjectRef
	name := strings.Trim(o.Resource+"/"+o.Subresource, "/")
	if o.APIGroup != "" && o.Resource != "" {
		name = o.APIGroup + "/" + name
	}
	return name
}

// grace is how many seconds the pod was to have for its end, "" where the request does not say.
func (a *Audit) grace() string {
	r := a.RequestObject
	for _, seconds := range []*int{r.GracePeriodSeconds, r.DeleteOptions.GracePeriodSeconds} {
		if seconds != nil {
			return strconv.Itoa(*seconds)
		}
	}
	return ""
}

// dryRun is "All" if nothing was to happen. At the level Metadata only the
// address tells, and kubectl says it in the body.
func (a *Audit) dryRun() string {
	if len(a.RequestObject.DryRun)+len(a.RequestObject.DeleteOptions.DryRun) > 0 ||
		strings.Contains(a.RequestURI, "dryRun=") {
		return "All"
	}
	return ""
}
