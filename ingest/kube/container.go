package kube

import (
	"time"

	"coroner/ingest"
)

// container yields the states of one container, the older one first. extra
// says what kind of container it is, where it is no ordinary one.
func (r *reader) container(id ingest.Entry, c containerStatus, extra pair) {
	id.Container = nameText(c.Name)
	if t := c.LastState.Terminated; t != nil {
		r.terminated(id, c, t, "lastState", extra)
	}
	switch s := c.State; {
	case s.Terminated != nil:
		r.terminated(id, c, s.Terminated, "state", extra)
	case s.Waiting != nil:
		id.ContainerID = bareID(c.ContainerID)
		r.emitFact(id, "container waiting", time.Time{}, []pair{
			{"container", id.Container},
			{"reason", string(s.Waiting.Reason)},
			{"restarts", c.RestartCount.numberText()},
			extra,
			{"message", string(s.Waiting.Message)},
		})
	case s.Running != nil:
		id.ContainerID = bareID(c.ContainerID)
		r.emitFact(id, "container running", s.Running.StartedAt.timeValue(), []pair{
			{"container", id.Container},
			{"started_at", stampText(s.Running.StartedAt)},
			{"container_id", id.ContainerID},
			{"restarts", c.RestartCount.numberText()},
			extra,
		})
	}
}

// terminated yields one end. Its time is finishedAt; the kubelet leaves that
// null where it lost track of the container (ContainerStatusUnknown).
func (r *reader) terminated(id ingest.Entry, c containerStatus, t *terminated, which string, extra pair) {
	id.ContainerID = bareID(t.ContainerID)
	if id.ContainerID == "" && which == "state" {
		id.ContainerID = bareID(c.ContainerID)
	}
	signal := t.Signal.numberText()
	if signal == "0" {
		signal = ""
	}
	r.emitFact(id, "container terminated", t.FinishedAt.timeValue(), []pair{
		{"container", id.Container},
		{"exit_code", t.ExitCode.numberText()},
		{"reason", string(t.Reason)},
		{"signal", signal},
		{"started_at", stampText(t.StartedAt)},
		{"finished_at", stampText(t.FinishedAt)},
		{"container_id", id.ContainerID},
		{"which", which},
		{"restarts", c.RestartCount.numberText()},
		extra,
		{"message", string(t.Message)},
	})
}
