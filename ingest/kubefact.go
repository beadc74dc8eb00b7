package ingest

import (
	"strconv"
	"strings"
	"time"
)

// factOrder is the order in which Text names the fields of a fact about a
// Kubernetes object, the same for every way in which it can be read.
var factOrder = []string{
	"container", "exit_code", "reason", "signal", "started_at", "finished_at", "container_id", "which",
	"type", "status", "ready", "restarts", "init", "age", "phase", "qos", "from", "object", "count", "deletion_timestamp", "grace_seconds", "message",
}

// fact is one thing that kubectl's text says about an object.
type fact struct {
	id     Entry // whom it is about, and when
	msg    string
	fields map[string]string
}

// entry is the fact as an entry of source Kube, whose text names its fields.
func (f *fact) entry() Entry {
	e := f.id
	e.Source = Kube
	e.Fields = make(map[string]string, len(f.fields)+1)
	e.Fields["msg"] = f.msg
	var b strings.Builder
	b.WriteString(f.msg)
	for _, key := range factOrder {
		v := brief(strings.TrimSpace(f.fields[key]), 4<<10)
		if v == "" {
			continue
		}
		e.Fields[key] = v
		b.WriteString(" " + key + "=" + quoteWord(v))
	}
	e.Text = b.String()
	return e
}

// jobText says whether the fact holds words of the container: a job writes its
// own termination message, line ends and all.
func (f *fact) jobText() bool {
	return f.fields["message"] != "" && strings.HasPrefix(f.msg, "container ")
}

// quoteWord makes v one word, so that no value can add fields of its own.
func quoteWord(v string) string {
	if strings.ContainsAny(v, " \t\"=\\'") {
		return strconv.Quote(v)
	}
	return v
}

// apiTime reads a time as the API (RFC 3339) or kubectl describe (RFC 1123)
// writes it.
func apiTime(s string) (at time.Time, text string) {
	if st, ok := isoStamp(s); ok {
		at = st.in(time.UTC).UTC()
	} else if t, err := time.Parse(time.RFC1123Z, s); err == nil {
		at = t.UTC()
	} else {
		return at, ""
	}
	return at, at.Format(time.RFC3339Nano)
}

// at sets the fact's time.
func (f *fact) at(t time.Time) {
	if f.id.At = t; !t.IsZero() {
		f.id.Clock = WallClock
	}
}

// bareContainerID strips the runtime from `containerd://…`.
func bareContainerID(s string) string {
	if _, id, ok := strings.Cut(s, "://"); ok {
		return brief(id, 253)
	}
	return brief(s, 253)
}

// belongsTo says whose pod or node the fact is about.
func (f *fact) belongsTo(of Entry) {
	f.id.Namespace, f.id.Pod, f.id.PodUID, f.id.Node = of.Namespace, of.Pod, of.PodUID, of.Node
}
