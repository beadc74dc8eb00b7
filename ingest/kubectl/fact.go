package kubectl

import (
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// factOrder is the order in which Text names the fields of a fact about a
// Kubernetes object, the same for every way in which it can be read.
var factOrder = []string{
	"container", "exit_code", "reason", "signal", "started_at", "finished_at", "container_id", "which",
	"type", "status", "ready", "restarts", "init", "age", "phase", "qos", "from", "object", "count",
	"listener_of", "wanted", "min", "max", "current", "pending", "running", "pool", "runner_id", "job_display_name",
	"job_repository", "workflow_run_id", "deletion_timestamp", "grace_seconds", "message",
}

// Fact is one thing that kubectl's text says about an object.
type Fact struct {
	id     ingest.Entry // whom it is about, and when
	msg    string
	fields map[string]string

	printed bool // it stands where a job can have written it
	claimed bool // it stands where somebody else can have
}

func newFact(id ingest.Entry, msg string, fields map[string]string) Fact {
	return Fact{id: id, msg: msg, fields: fields}
}

// Entry is the fact as an entry of source Kube, whose text names its fields.
func (f *Fact) Entry() ingest.Entry {
	e := f.id
	e.Source = ingest.Kube
	e.Fields = make(map[string]string, len(f.fields)+1)
	e.Fields["msg"] = f.msg
	var b strings.Builder
	b.WriteString(f.msg)
	for _, key := range factOrder {
		v := logtext.Brief(strings.TrimSpace(f.fields[key]), 4<<10)
		if v == "" {
			continue
		}
		e.Fields[key] = v
		b.WriteString(" " + key + "=" + logtext.QuoteWord(v))
	}
	e.Text = b.String()
	return e
}

// JobText says whether the fact holds words of the container, or stands behind such words:
// a job writes its own termination message, and what a probe prints is an event's message,
// line ends and all.
func (f *Fact) JobText() bool {
	return f.printed || f.fields["message"] != "" && strings.HasPrefix(f.msg, "container ")
}

// IsClaim says whether the fact is an event, or stands behind one or in a value: whoever may
// create events says in them what he likes, in whose name he likes, line ends and all.
func (f *Fact) IsClaim() bool { return f.claimed || f.isEvent() }

func (f *Fact) isEvent() bool { return f.msg == "event" }

// apiTime reads a time as the API (RFC 3339) or kubectl describe (RFC 1123)
// writes it.
func apiTime(s string) (at time.Time, text string) {
	if st, ok := logtext.ISOStamp(s); ok {
		at = st.In(time.UTC).UTC()
	} else if t, err := time.Parse(time.RFC1123Z, s); err == nil {
		at = t.UTC()
	} else {
		return at, ""
	}
	return at, at.Format(time.RFC3339Nano)
}

// setTime sets the fact's time.
func (f *Fact) setTime(t time.Time) {
	if f.id.At = t; !t.IsZero() {
		f.id.Clock = ingest.WallClock
	}
}

// bareContainerID strips the runtime from `containerd://…`.
func bareContainerID(s string) string {
	if _, id, ok := strings.Cut(s, "://"); ok {
		return logtext.Brief(id, 253)
	}
	return logtext.Brief(s, 253)
}

// belongsTo says whose pod or node the fact is about.
func (f *Fact) belongsTo(of ingest.Entry) {
	f.id.Namespace, f.id.Pod, f.id.PodUID, f.id.Node = of.Namespace, of.Pod, of.PodUID, of.Node
}
