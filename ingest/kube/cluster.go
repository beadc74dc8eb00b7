package kube

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
)

// readEvent yields an Event of v1 or events.k8s.io/v1. Its time is the last time
// that it was seen.
func (r *reader) readEvent(o *object) {
	r.events++
	about := o.Involved
	if about == nil {
		about = o.Regarding
	}
	if about == nil {
		about = &ref{}
	}
	id := ingest.Entry{Namespace: nameText(about.Namespace), Node: nameText(o.reportingHost())}
	switch about.Kind {
	case "Pod":
		id.Pod, id.PodUID = nameText(about.Name), nameText(about.UID)
		id.Container = inFieldPath(string(about.FieldPath))
	case "Node":
		id.Node = nameText(about.Name)
	}
	first := ""
	count := eitherSet(o.Series.Count, o.Count, o.OldCount).numberText()
	if count != "" && count != "1" {
		first = stampText(eitherSet(o.FirstTimestamp, o.OldFirst, o.EventTime))
	}
	r.emitClaim(id, "event", o.lastSeen(), []pair{
		{"reason", string(o.Reason)},
		{"type", string(o.Type)},
		{"from", string(o.reporter())},
		{"object", strings.Trim(string(about.Kind+"/"+about.Name), "/")},
		{"count", count},
		{"first_at", first},
		{"message", string(eitherSet(o.Message, o.Note))},
	})
}

// lastSeen is when the event last happened. The two APIs and their conversions
// fill different fields; creationTimestamp is always there.
func (o *object) lastSeen() time.Time {
	last := ingest.LaterOf(o.LastTimestamp.timeValue(), o.OldLast.timeValue())
	last = ingest.LaterOf(last, o.Series.Last.timeValue())
	for _, t := range []text{o.EventTime, o.FirstTimestamp, o.OldFirst, o.Metadata.CreationTimestamp} {
		if last.IsZero() {
			last = t.timeValue()
		}
	}
	return last
}

// reporter is the component that reported the event.
func (o *object) reporter() text {
	return eitherSet(o.eventBody.Source.Component, o.OldSource.Component, o.Reporter, o.Controller)
}

// reportingHost is the node that reported the event. Only the kubelet's instance is one.
func (o *object) reportingHost() text {
	if h := eitherSet(o.eventBody.Source.Host, o.OldSource.Host); h != "" || o.reporter() != "kubelet" {
		return h
	}
	return o.Instance
}

// eitherSet is the first that is set.
func eitherSet(all ...text) text {
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
	return nameText(text(strings.TrimSuffix(rest, "}")))
}

// readNode yields the conditions of a Node. heartbeat_at is when the kubelet last
// confirmed it; for a lost node that is the last sign of life.
func (r *reader) readNode(o *object) {
	id := ingest.Entry{Node: nameText(o.Metadata.Name)}
	if o.Status.NodeInfo != nil {
		id.Boot = nameText(o.Status.NodeInfo.BootID)
	}
	for _, c := range o.Status.Conditions {
		p := c.asPairs()
		p = append(p[:3:3], pair{"heartbeat_at", stampText(c.LastHeartbeatTime)}, p[3])
		r.emitFact(id, "node condition", c.LastTransitionTime.timeValue(), p)
	}
	r.coverKind(ingest.Entry{Node: id.Node}, 0)
}

// isMachine says whether objects of the kind ask for a node: those of Cluster API and
// its providers, and of Karpenter.
func isMachine(kind string) bool { return strings.HasSuffix(kind, "Machine") || kind == "NodeClaim" }

// readMachine yields the conditions of what is to become a node. Its node has its name
// until it names one.
func (r *reader) readMachine(o *object) {
	node := o.Status.NodeName
	if o.Status.NodeRef != nil {
		node = o.Status.NodeRef.Name
	}
	id := ingest.Entry{Node: nameText(eitherSet(node, o.Metadata.Name))}
	for _, c := range o.Status.Conditions {
		r.emitFact(id, "machine condition", c.LastTransitionTime.timeValue(), c.asPairs())
	}
}

// ephemeralRunner yields the status of an EphemeralRunner of
// actions.github.com/v1alpha1, or of a Runner of the generation before it; its pod has the
// same name. The object tells the time of its failures only (bare booleans before 0.12).
// Its phase, reason and message are copies of its pod's, but for reasons of the controller's own.
func (r *reader) ephemeralRunner(o *object) {
	id := ingest.Entry{Namespace: nameText(o.Metadata.Namespace), Pod: nameText(o.Metadata.Name)}
	s := &o.Status
	switch s.Reason {
	case "", "TooManyPodFailures", "InvalidPod": // told below, as is a phase alone
	default:
		r.emitClaim(id, "pod status", time.Time{}, s.asPairs()) // of which pod of the name, and when, it does not say
	}
	var last time.Time
	for _, t := range s.Failures {
		last = ingest.LaterOf(last, t.timeValue())
	}
	failures := ""
	if len(s.Failures) > 0 {
		failures = strconv.Itoa(len(s.Failures))
	}
	r.emitFact(id, "ephemeral runner", last, []pair{
		{"reason", string(s.Reason)},
		{"phase", string(s.Phase)},
		{"job_request_id", nonZero(s.JobRequestID)},
		{"workflow_run_id", nonZero(eitherSet(s.WorkflowRunID, s.Workflow.RunID))},
		{"job_id", string(s.JobID)},
		{"job_display_name", string(eitherSet(s.JobDisplayName, s.Workflow.Job))},
		{"job_repository", string(eitherSet(s.JobRepositoryName, s.Workflow.Repository))},
		{"runner_id", nonZero(s.RunnerID)},
		{"pool", o.Metadata.poolName()},
		{"failures", failures},
		{"deletion_timestamp", stampText(o.Metadata.DeletionTimestamp)},
		{"message", string(s.Message)},
	})
}

// runnerSet yields the counts of an EphemeralRunnerSet of actions.github.com/v1alpha1, or
// of a RunnerDeployment, a RunnerSet or a RunnerReplicaSet of its own, which is a pool itself.
// The object tells no time.
func (r *reader) runnerSet(o *object) {
	s := &o.Status
	pool := ingest.PoolOfSet(nameText(o.Metadata.Name))
	if o.Kind != "EphemeralRunnerSet" {
		pool = nameText(o.Metadata.Name)
	}
	r.emitFact(ingest.Entry{Namespace: nameText(o.Metadata.Namespace)}, "ephemeral runner set", time.Time{}, []pair{
		{"pool", cmp.Or(o.Metadata.poolName(), pool)},
		{"wanted", cmp.Or(o.Spec.Replicas, s.DesiredReplicas).numberText()},
		{"current", cmp.Or(s.CurrentReplicas, s.Replicas).numberText()},
		{"pending", s.PendingRunners.numberText()},
		{"running", cmp.Or(s.RunningRunners, s.AvailableReplicas).numberText()},
		{"failed", s.FailedRunners.numberText()},
	})
}

// runnerPool yields the limit and the state of an AutoscalingRunnerSet of
// actions.github.com/v1alpha1. The object tells no time.
func (r *reader) runnerPool(o *object) {
	s := &o.Status
	r.emitFact(ingest.Entry{Namespace: nameText(o.Metadata.Namespace)}, "autoscaling runner set", time.Time{}, []pair{
		{"pool", cmp.Or(o.Metadata.poolName(), nameText(o.Metadata.Name))},
		{"max", o.Spec.MaxRunners.numberText()},
		{"current", s.CurrentRunners.numberText()},
		{"running", s.RunningRunners.numberText()},
		{"phase", string(s.Phase)},
	})
}

// inNamespace names nothing but the namespace of an object.
func inNamespace(o *object) ingest.Entry {
	return ingest.Entry{Namespace: nameText(o.Metadata.Namespace)}
}

// autoscaler is the limits of a HorizontalRunnerAutoscaler of actions.summerwind.dev, how
// many runners it wants, and for how many there is room promised. It never wants more than
// its maximum, however much is promised. The object tells no time.
func (o *object) autoscaler() []pair {
	reserved := 0
	for _, one := range o.Spec.Reservations {
		n, _ := strconv.Atoi(one.Replicas.numberText())
		reserved += max(0, min(n, 1e6))
	}
	return []pair{
		{"pool", nameText(o.Spec.ScaleTarget.Name)},
		{"min", o.Spec.MinReplicas.numberText()},
		{"max", o.Spec.MaxReplicas.numberText()},
		{"wanted", o.Status.DesiredReplicas.numberText()},
		{"reserved", strconv.Itoa(reserved)},
	}
}

// poolListener is the limit of an AutoscalingListener of actions.github.com, and whether it is
// being deleted. It stands in its controller's namespace.
func (o *object) poolListener() []pair {
	return []pair{
		{"pool", nameText(o.Spec.RunnerSetName)},
		{"max", o.Spec.MaxRunners.numberText()},
		{"deletion_timestamp", stampText(o.Metadata.DeletionTimestamp)},
	}
}

// nonZero is t as a number; the controller writes 0 for "none yet".
func nonZero(t text) string { return eitherSet(t).numberText() }
