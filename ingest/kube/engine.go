package kube

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"coroner/ingest"
)

// What the programs show that run containers has no kind of its own.
const (
	engineKind  = "container of an engine"
	runtimeKind = "container of a runtime"
)

// engineContainer is a container as `docker inspect` and `podman inspect` show it: an
// object without a kind, whose State has what a pod's status has elsewhere.
type engineContainer struct {
	ID           text         `json:"Id"`
	EngineName   text         `json:"Name"`
	State        *engineState `json:"State"`
	RestartCount text         `json:"RestartCount"`
}

// engineState is the State of both programs; docker's since 1.8, podman's since 1.0.
type engineState struct {
	Status     text `json:"Status"`
	Running    text `json:"Running"`
	OOMKilled  text `json:"OOMKilled"`
	ExitCode   text `json:"ExitCode"`
	Error      text `json:"Error"`
	StartedAt  text `json:"StartedAt"`
	FinishedAt text `json:"FinishedAt"`
}

// isEngineState says whether a value is the State of a container: no other object has
// these keys in one of that name.
func isEngineState(value []byte) bool {
	var keys map[string]json.RawMessage
	return json.Unmarshal(value, &keys) == nil && keys["OOMKilled"] != nil && keys["ExitCode"] != nil
}

// isContainer says whether o is a container that an engine shows.
func (c *engineContainer) isContainer() bool {
	return c.State != nil && c.State.OOMKilled != "" && c.State.ExitCode != "" && c.ID != ""
}

// readEngine yields what an engine says of a container. There is no pod: the container
// stands for it, under its own name.
func (r *reader) readEngine(c *engineContainer) {
	name := nameText(text(strings.TrimPrefix(string(c.EngineName), "/")))
	id := ingest.Entry{Pod: cmp.Or(name, cutTo(bareID(c.ID), 12))}
	r.container(id, c.asStatus(), pair{})
	r.coverKind(id, 0)
}

// asStatus is the container as a pod's status would have it. The engine keeps OOMKilled
// where any process of the container was killed; it is the container's end only
// with the exit code of a kill.
func (c *engineContainer) asStatus() containerStatus {
	s := c.State
	out := containerStatus{Name: "runner", ContainerID: c.ID, RestartCount: c.RestartCount}
	end := &terminated{
		ContainerID: c.ID,
		ExitCode:    s.ExitCode,
		Reason:      endReason(s.ExitCode, s.OOMKilled == "true"),
		Message:     s.Error,
		StartedAt:   s.StartedAt,
		FinishedAt:  s.FinishedAt,
	}
	ended := !s.FinishedAt.timeValue().IsZero()
	switch {
	case s.Running == "true":
		out.State.Running = &running{StartedAt: s.StartedAt}
		if ended { // an end before this start; the engine keeps its exit code no longer
			return out
		}
	case ended || s.Status == "exited" || s.Status == "dead":
		out.State.Terminated = end
	default:
		out.State.Waiting = &waiting{Reason: s.Status, Message: s.Error}
	}
	return out
}

// endReason is the word that the kubelet has for such an end.
func endReason(exitCode text, oom bool) text {
	switch {
	case oom && exitCode.numberText() == "137":
		return "OOMKilled"
	case exitCode.numberText() == "0":
		return "Completed"
	}
	return "Error"
}

// runtimeStatus is the status of a container as `crictl inspect` shows it, every version:
// its pod stands in its labels.
type runtimeStatus struct {
	ContainerID text            `json:"id"`
	StateName   text            `json:"state"`
	ExitCode    text            `json:"exitCode"`
	StartedAt   text            `json:"startedAt"`
	FinishedAt  text            `json:"finishedAt"`
	Labels      map[string]text `json:"labels"`
}

// The labels that the kubelet gives to every container of a pod.
const (
	containerLabel = "io.kubernetes.container.name"
	podLabel       = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
	uidLabel       = "io.kubernetes.pod.uid"
)

// isContainer says whether a status is a container's that a runtime shows.
func (s *runtimeStatus) isContainer() bool {
	return s.ContainerID != "" && strings.HasPrefix(string(s.StateName), "CONTAINER_") && s.Labels[podLabel] != ""
}

// readRuntime yields what a runtime says of a container of a pod.
func (r *reader) readRuntime(s *stat) {
	id := ingest.Entry{
		Namespace: nameText(s.Labels[namespaceLabel]),
		Pod:       nameText(s.Labels[podLabel]),
		PodUID:    nameText(s.Labels[uidLabel]),
	}
	c := containerStatus{Name: s.Labels[containerLabel], ContainerID: s.ContainerID}
	switch s.StateName {
	case "CONTAINER_EXITED":
		c.State.Terminated = &terminated{
			ContainerID: s.ContainerID,
			ExitCode:    s.ExitCode,
			Reason:      cmp.Or(s.Reason, endReason(s.ExitCode, false)),
			Message:     s.Message,
			StartedAt:   stampOf(s.StartedAt),
			FinishedAt:  stampOf(s.FinishedAt),
		}
	case "CONTAINER_RUNNING":
		c.State.Running = &running{StartedAt: stampOf(s.StartedAt)}
	default:
		c.State.Waiting = &waiting{Reason: s.Reason, Message: s.Message}
	}
	r.container(id, c, pair{})
	r.coverKind(id, 0)
}

// stampOf is a time as the API has it; crictl prints nanoseconds in some versions.
func stampOf(t text) text {
	n, err := json.Number(t).Int64()
	if err != nil || n <= 0 {
		return t
	}
	return text(time.Unix(0, n).UTC().Format(time.RFC3339Nano))
}

// isRuntimeStatus says whether a value is the status of a container that a runtime shows.
func isRuntimeStatus(value []byte) bool {
	var s runtimeStatus
	return json.Unmarshal(value, &s) == nil && s.isContainer()
}
