package kube

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
)

// readPod yields what a Pod object says: its spec, its status, its conditions, the
// states of its containers, and that it is being deleted.
func (r *reader) readPod(o *object) {
	id := ingest.Entry{
		Namespace: nameText(o.Metadata.Namespace),
		Pod:       nameText(o.Metadata.Name),
		PodUID:    nameText(o.Metadata.UID),
		Node:      nameText(o.Spec.NodeName),
	}
	r.podSpec(id, o)
	if job := o.Metadata.job(); job != nil {
		r.emitClaim(id, "pod job", o.Metadata.CreationTimestamp.timeValue(), job)
	}
	r.podStatus(id, o)
	for _, c := range o.Status.Conditions {
		r.emitFact(id, "pod condition", c.LastTransitionTime.timeValue(), c.asPairs())
	}
	for _, c := range o.Status.InitContainers {
		r.container(id, c, pair{"init", "true"})
	}
	for _, c := range o.Status.Containers {
		r.container(id, c, pair{})
	}
	for _, c := range o.Status.EphemeralContainers {
		r.container(id, c, pair{"ephemeral", "true"})
	}
	r.podDeleting(id, o)
	if pool := o.listenerOf(); pool != "" {
		r.emitFact(inNamespace(o), "listener pod", time.Time{}, []pair{
			{"status", o.rowStatus()}, {"object", "Pod/" + nameText(o.Metadata.Name)}, {"listener_of", pool},
		})
	}
	r.coverKind(id, 0)
}

// listenerOf is the pool whose listener the pod is, "" where it is none.
func (o *object) listenerOf() string {
	name := nameText(o.Metadata.Name)
	if o.Metadata.Labels["app.kubernetes.io/component"] == "runner-scale-set-listener" {
		return cmp.Or(o.Metadata.poolName(), ingest.PoolOfPod(name))
	}
	if strings.HasSuffix(name, "-listener") {
		return ingest.PoolOfPod(name)
	}
	return ""
}

// rowStatus is the pod's status in one word, as kubectl's table of pods has it.
func (o *object) rowStatus() string {
	word := cmp.Or(o.Status.Reason, o.Status.Phase)
	for _, c := range slices.Backward(o.Status.Containers) {
		if w := c.State.Waiting; w != nil && w.Reason != "" {
			word = w.Reason
		}
		if t := c.State.Terminated; t != nil {
			word = cmp.Or(t.Reason, "Error")
		}
	}
	if o.Metadata.DeletionTimestamp != "" {
		return "Terminating"
	}
	return string(word)
}

func (c condition) asPairs() []pair {
	return []pair{
		{"reason", string(c.Reason)}, {"type", string(c.Type)},
		{"status", string(c.Status)}, {"message", string(c.Message)},
	}
}

func (r *reader) podSpec(id ingest.Entry, o *object) {
	if len(o.Spec.Containers) == 0 {
		return
	}
	var names []string
	for _, c := range o.Spec.Containers {
		names = append(names, string(c.Name))
	}
	main := mainContainer(o.Spec.Containers)
	limit := main.Resources.Limits["memory"]
	if limit == "" {
		limit = o.Spec.Resources.Limits["memory"] // pod-level, since Kubernetes 1.32
	}
	r.emitFact(id, "pod spec", o.Metadata.CreationTimestamp.timeValue(), []pair{
		{"containers", strings.Join(names, ",")},
		{"node", string(o.Spec.NodeName)},
		{"service_account", string(o.Spec.ServiceAccountName)},
		{"restart_policy", string(o.Spec.RestartPolicy)},
		{"runtime_class", string(o.Spec.RuntimeClassName)},
		{"owner", o.Metadata.ownerName()},
		{"pool", o.Metadata.poolName()},
		{"component", string(o.Metadata.Labels["app.kubernetes.io/component"])},
		{"memory_limit", string(limit)},
		{"active_deadline_seconds", o.Spec.ActiveDeadlineSeconds.numberText()},
		{"grace_seconds", o.Spec.GraceSeconds.numberText()},
		{"command", main.commandLine()},
	})
}

// job is which job the pod runs, where gitlab-runner noted it, since 15.9; else nil. A job can
// write these notes itself where the runner's pod_annotations_overwrite_allowed lets it.
func (m meta) job() []pair {
	const at = "job.runner.gitlab.com/"
	if m.Annotations[at+"id"] == "" {
		return nil
	}
	path, _, _ := strings.Cut(string(m.Annotations[at+"url"]), "/-/jobs/")
	_, path, _ = strings.Cut(path, "://")
	_, path, _ = strings.Cut(path, "/") // behind the host
	return []pair{
		{"job", string(m.Annotations[at+"name"])},
		{"job_id", string(m.Annotations[at+"id"])},
		{"repository", path},
		{"commit", string(m.Annotations[at+"sha"])},
	}
}

// mainContainer is the one named runner, else the first.
func mainContainer(all []container) container {
	for _, c := range all {
		if c.Name == "runner" {
			return c
		}
	}
	return all[0]
}

func (c container) commandLine() string {
	var words []string
	for _, w := range append(c.Command[:len(c.Command):len(c.Command)], c.Args...) {
		words = append(words, string(w))
	}
	return secret.ReplaceAllString(strings.Join(words, " "), "$1$2…")
}

// secret is an option whose value is nobody's business: a runner's registration
// stands in its arguments where no file or variable holds it.
var secret = regexp.MustCompile(
	`(?i)(--?(?:jitconfig|token|pat|password|secret|[a-z-]*-token|[a-z-]*-key))([= ]["']?)[^ "']+`,
)

// ownerName is Kind/name of the controller, else of the first owner.
func (m meta) ownerName() string {
	for i, o := range m.OwnerReferences {
		if o.Controller == "true" || i == len(m.OwnerReferences)-1 {
			return string(o.Kind + "/" + o.Name)
		}
	}
	return ""
}

// poolLabels name the pool that a runner pod belongs to: the scale sets of
// ARC, tuist's pools, and the deployments and sets of ARC before 0.5.
var poolLabels = []string{
	"actions.github.com/scale-set-name",
	"tuist.dev/runner-pool",
	"runner-deployment-name",
	"runnerset-name",
}

// poolName is the runner pool of the pod. A pod of a Deployment carries the hash of
// its template instead; the ReplicaSet's name without it is the pool.
func (m meta) poolName() string {
	for _, l := range poolLabels {
		if v := m.Labels[l]; v != "" {
			return string(v)
		}
	}
	for _, l := range []string{"pod-template-hash", "runner-template-hash"} {
		_, owner, _ := strings.Cut(m.ownerName(), "/")
		if h := string(m.Labels[l]); h != "" {
			if pool, ok := strings.CutSuffix(owner, "-"+h); ok {
				return pool
			}
		}
	}
	return ""
}

func (r *reader) podStatus(id ingest.Entry, o *object) {
	s := &o.Status
	if s.Phase == "" && s.Reason == "" && s.Message == "" {
		return
	}
	r.emitFact(id, "pod status", s.settledAt(), s.asPairs())
}

func (s *stat) asPairs() []pair {
	return []pair{
		{"reason", string(s.Reason)}, {"phase", string(s.Phase)},
		{"qos", string(s.QOSClass)}, {"message", string(s.Message)},
	}
}

// settledAt is when the status became what it is. Of a finished pod that is the
// last end of a container, else the last change of a condition; a pod that the
// kubelet rejected has only its start time. The status of a living pod has no
// time of its own: zero.
func (s *stat) settledAt() time.Time {
	if s.Phase != "Failed" && s.Phase != "Succeeded" {
		return time.Time{}
	}
	var ended, changed time.Time
	for _, c := range s.Containers {
		if t := c.State.Terminated; t != nil {
			ended = ingest.LaterOf(ended, t.FinishedAt.timeValue())
		}
	}
	for _, c := range s.Conditions {
		changed = ingest.LaterOf(changed, c.LastTransitionTime.timeValue())
	}
	for _, at := range []time.Time{ended, changed} {
		if !at.IsZero() {
			return at
		}
	}
	return s.StartTime.timeValue()
}

// podDeleting yields when the object is to be gone. The API server stores the
// moment the request came plus the grace; requested_at is that moment. (When
// the kubelet then deletes with grace 0, the server takes the grace off again,
// so the difference stays right.)
func (r *reader) podDeleting(id ingest.Entry, o *object) {
	at := o.Metadata.DeletionTimestamp.timeValue()
	if at.IsZero() {
		return
	}
	grace := o.Metadata.DeletionGracePeriodSeconds.numberText()
	requested := ""
	if d, err := time.ParseDuration(grace + "s"); err == nil && d >= 0 {
		requested = at.Add(-d).Format(time.RFC3339Nano)
	}
	r.emitFact(id, "pod deleting", at, []pair{
		{"deletion_timestamp", stampText(o.Metadata.DeletionTimestamp)},
		{"grace_seconds", grace},
		{"requested_at", requested},
	})
}
