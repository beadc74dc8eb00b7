package kube

import (
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
)

// event yields an Event of v1 or events.k8s.io/v1. Its time is the last time
// that it was seen.
func (r *reader) event(o *object) {
	r.events++
	about := o.Involved
	if about == nil {
		about = o.Regarding
	}
	if about == nil {
		about = &ref{}
	}
	id := ingest.Entry{Namespace: name(about.Namespace), Node: name(o.host())}
	switch about.Kind {
	case "Pod":
		id.Pod, id.PodUID = name(about.Name), name(about.UID)
		id.Container = inFieldPath(string(about.FieldPath))
	case "Node":
		id.Node = name(about.Name)
	}
	first := ""
	count := either(o.Series.Count, o.Count, o.OldCount).number()
	if count != "" && count != "1" {
		first = stamp(either(o.FirstTimestamp, o.OldFirst, o.EventTime))
	}
	r.emit(id, "event", o.seen(), []pair{
		{"reason", string(o.Reason)},
		{"type", string(o.Type)},
		{"from", string(o.from())},
		{"object", strings.Trim(string(about.Kind+"/"+about.Name), "/")},
		{"count", count},
		{"first_at", first},
		{"message", string(either(o.Message, o.Note))},
	})
}

// seen is when the event last happened. The two APIs and their conversions
// fill different fields; creationTimestamp is always there.
func (o *object) seen() time.Time {
	last := later(o.LastTimestamp.time(), o.OldLast.time())
	last = later(last, o.Series.Last.time())
	for _, t := range []text{o.EventTime, o.FirstTimestamp, o.OldFirst, o.Metadata.CreationTimestamp} {
		if last.IsZero() {
			last = t.time()
		}
	}
	return last
}

// from is the component that reported the event.
func (o *object) from() text {
	return either(o.eventBody.Source.Component, o.OldSource.Component, o.Reporter, o.Controller)
}

// host is the node that reported the event. Only the kubelet's instance is one.
func (o *object) host() text {
	if h := either(o.eventBody.Source.Host, o.OldSource.Host); h != "" || o.from() != "kubelet" {
		return h
	}
	return o.Instance
}

// either is the first that is set.
func either(all ...text) text {
	for _, t := range all {
		if t != "" && t != "0" {
			return t
		}
	}
	return ""
}

// inFieldPath is the container in `spec.containers{NAME}`.
func inFieldPath(path string) string {
	_, rest, ok := strings.Cut(path, "ontainers{")
	if !ok {
		return ""
	}
	return name(text(strings.TrimSuffix(rest, "}")))
}

// node yields the conditions of a Node. heartbeat_at is when the kubelet last
// confirmed it; for a lost node that is the last sign of life.
func (r *reader) node(o *object) {
	id := ingest.Entry{Node: name(o.Metadata.Name)}
	if o.Status.NodeInfo != nil {
		id.Boot = name(o.Status.NodeInfo.BootID)
	}
	for _, c := range o.Status.Conditions {
		p := c.pairs()
		p = append(p[:3:3], pair{"heartbeat_at", stamp(c.LastHeartbeatTime)}, p[3])
		r.emit(id, "node condition", c.LastTransitionTime.time(), p)
	}
	r.cover(ingest.Entry{Node: id.Node}, 0)
}

// ephemeralRunner yields the status of an EphemeralRunner of
// actions.github.com/v1alpha1; its pod has the same name. The object tells the
// time of its failures only (bare booleans before 0.12).
func (r *reader) ephemeralRunner(o *object) {
	id := ingest.Entry{Namespace: name(o.Metadata.Namespace), Pod: name(o.Metadata.Name)}
	s := &o.Status
	var last time.Time
	for _, t := range s.Failures {
		last = later(last, t.time())
	}
	failures := ""
	if len(s.Failures) > 0 {
		failures = strconv.Itoa(len(s.Failures))
	}
	r.emit(id, "ephemeral runner", last, []pair{
		{"reason", string(s.Reason)},
		{"phase", string(s.Phase)},
		{"job_request_id", nonZero(s.JobRequestID)},
		{"workflow_run_id", nonZero(s.WorkflowRunID)},
		{"job_id", string(s.JobID)},
		{"job_display_name", string(s.JobDisplayName)},
		{"job_repository", string(s.JobRepositoryName)},
		{"runner_id", nonZero(s.RunnerID)},
		{"pool", o.Metadata.pool()},
		{"failures", failures},
		{"deletion_timestamp", stamp(o.Metadata.DeletionTimestamp)},
		{"message", string(s.Message)},
	})
}

// nonZero is t as a number; the controller writes 0 for "none yet".
func nonZero(t text) string { return either(t).number() }
