package kube

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// text is a scalar as somebody wrote it: string, number, boolean or null.
// Hand-edited and converted objects have numbers as strings and strings as
// numbers, so no field insists on one of them.
type text string

// UnmarshalJSON takes any scalar; an object or array in its place is dropped.
func (t *text) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) == 0 || b[0] == '{' || b[0] == '[' || string(b) == "null":
		*t = ""
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = text(s)
	default:
		*t = text(b)
	}
	return nil
}

// numberText is t as a whole number where it is one ("137", 137, 1.37e2).
func (t text) numberText() string {
	s := strings.TrimSpace(string(t))
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return s
	}
	return strconv.FormatInt(int64(f), 10)
}

// timeValue is t as a time, zero where it is none. The API writes RFC 3339; the
// zero time of Go and of Unix both mean "not set" (an old containerd reports
// 1970 for a container that never started).
func (t text) timeValue() time.Time {
	s := strings.TrimSpace(string(t))
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05 -0700 MST", "2006-01-02 15:04:05Z07:00"} {
		if at, err := time.Parse(layout, s); err == nil && at.Year() > 1980 {
			return at.UTC()
		}
	}
	return time.Time{}
}

// object is every kind in one: what is read of them does not overlap.
type object struct {
	APIVersion text `json:"apiVersion"`
	Kind       text `json:"kind"`
	Metadata   meta `json:"metadata"`
	Spec       spec `json:"spec"`
	Status     stat `json:"status"`
	eventBody
	engineContainer
}

type meta struct {
	Name                       text            `json:"name"`
	Namespace                  text            `json:"namespace"`
	UID                        text            `json:"uid"`
	CreationTimestamp          text            `json:"creationTimestamp"`
	DeletionTimestamp          text            `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds text            `json:"deletionGracePeriodSeconds"`
	Labels                     map[string]text `json:"labels"`
	Annotations                map[string]text `json:"annotations"`
	OwnerReferences            []owner         `json:"ownerReferences"`
}

type owner struct {
	Kind       text `json:"kind"`
	Name       text `json:"name"`
	Controller text `json:"controller"`
}

// spec is a Pod's, an EphemeralRunnerSet's or an AutoscalingRunnerSet's.
type spec struct {
	Replicas   text `json:"replicas"`
	MaxRunners text `json:"maxRunners"`
	scaleSpec

	NodeName              text        `json:"nodeName"`
	ServiceAccountName    text        `json:"serviceAccountName"`
	RestartPolicy         text        `json:"restartPolicy"`
	RuntimeClassName      text        `json:"runtimeClassName"`
	ActiveDeadlineSeconds text        `json:"activeDeadlineSeconds"`
	GraceSeconds          text        `json:"terminationGracePeriodSeconds"`
	Containers            []container `json:"containers"`
	Resources             resources   `json:"resources"`
}

// scaleSpec is what an AutoscalingListener has of its pool, and a HorizontalRunnerAutoscaler of what it scales.
type scaleSpec struct {
	RunnerSetName text          `json:"autoscalingRunnerSetName"`
	MinReplicas   text          `json:"minReplicas"`
	MaxReplicas   text          `json:"maxReplicas"`
	ScaleTarget   ref           `json:"scaleTargetRef"`
	Reservations  []reservation `json:"capacityReservations"`
}

// reservation is room for runners that a queued job was promised for a time.
type reservation struct {
	Replicas text `json:"replicas"`
}

type container struct {
	Name      text      `json:"name"`
	Command   []text    `json:"command"`
	Args      []text    `json:"args"`
	Resources resources `json:"resources"`
}

type resources struct {
	Limits map[string]text `json:"limits"`
}

// stat is the status of a Pod, a Node, a machine, an EphemeralRunner or a set of them.
type stat struct {
	runnerState
	poolCounts

	Phase      text        `json:"phase"`
	Reason     text        `json:"reason"`
	Message    text        `json:"message"`
	QOSClass   text        `json:"qosClass"`
	StartTime  text        `json:"startTime"`
	Conditions []condition `json:"conditions"`

	InitContainers      []containerStatus `json:"initContainerStatuses"`
	Containers          []containerStatus `json:"containerStatuses"`
	EphemeralContainers []containerStatus `json:"ephemeralContainerStatuses"`

	nodeOf
	runtimeStatus
}

// runnerState is what an EphemeralRunner knows of itself and its job.
type runnerState struct {
	RunnerID          text            `json:"runnerId"`
	JobRequestID      text            `json:"jobRequestId"`
	JobID             text            `json:"jobId"`
	JobRepositoryName text            `json:"jobRepositoryName"`
	JobDisplayName    text            `json:"jobDisplayName"`
	WorkflowRunID     text            `json:"workflowRunId"`
	Failures          map[string]text `json:"failures"`
	Workflow          workflow        `json:"workflow"`
}

// workflow is what a Runner of the older actions-runner-controller knows of its job.
type workflow struct {
	Repository text `json:"repository"`
	RunID      text `json:"runID"`
	Job        text `json:"job"`
}

// poolCounts are how many runners a set or a pool of them has.
type poolCounts struct {
	CurrentReplicas text `json:"currentReplicas"`
	CurrentRunners  text `json:"currentRunners"`
	PendingRunners  text `json:"pendingEphemeralRunners"`
	RunningRunners  text `json:"runningEphemeralRunners"`
	FailedRunners   text `json:"failedEphemeralRunners"`

	DesiredReplicas   text `json:"desiredReplicas"` // of a RunnerDeployment, as those below
	AvailableReplicas text `json:"availableReplicas"`
	Replicas          text `json:"replicas"`
}

// nodeOf is what a Node says of itself, and a machine or a NodeClaim of the node that it became.
type nodeOf struct {
	NodeInfo *nodeInfo `json:"nodeInfo"`
	NodeRef  *ref      `json:"nodeRef"`
	NodeName text      `json:"nodeName"`
}

type nodeInfo struct {
	BootID text `json:"bootID"`
}

type condition struct {
	Type               text `json:"type"`
	Status             text `json:"status"`
	Reason             text `json:"reason"`
	Message            text `json:"message"`
	LastTransitionTime text `json:"lastTransitionTime"`
	LastHeartbeatTime  text `json:"lastHeartbeatTime"`
}

type containerStatus struct {
	Name         text  `json:"name"`
	ContainerID  text  `json:"containerID"`
	RestartCount text  `json:"restartCount"`
	State        state `json:"state"`
	LastState    state `json:"lastState"`
}

// state holds at most one of its three; converters sometimes keep all keys
// with null values.
type state struct {
	Waiting    *waiting    `json:"waiting"`
	Running    *running    `json:"running"`
	Terminated *terminated `json:"terminated"`
}

type waiting struct {
	Reason  text `json:"reason"`
	Message text `json:"message"`
}

type running struct {
	StartedAt text `json:"startedAt"`
}

type terminated struct {
	ContainerID text `json:"containerID"`
	ExitCode    text `json:"exitCode"`
	Reason      text `json:"reason"`
	Signal      text `json:"signal"`
	Message     text `json:"message"`
	StartedAt   text `json:"startedAt"`
	FinishedAt  text `json:"finishedAt"`
}

// eventBody is what an Event of v1 or of events.k8s.io/v1 has at its top.
type eventBody struct {
	Type           text `json:"type"`
	Reason         text `json:"reason"`
	Message        text `json:"message"`
	Note           text `json:"note"`
	Count          text `json:"count"`
	FirstTimestamp text `json:"firstTimestamp"`
	LastTimestamp  text `json:"lastTimestamp"`
	EventTime      text `json:"eventTime"`
	reporter
	Involved  *ref   `json:"involvedObject"`
	Regarding *ref   `json:"regarding"`
	Series    series `json:"series"`
	oldEvent
}

// reporter is who saw what an event tells of; v1 and events.k8s.io say it in different words.
type reporter struct {
	Source     emitter `json:"source"`
	Reporter   text    `json:"reportingComponent"`
	Controller text    `json:"reportingController"`
	Instance   text    `json:"reportingInstance"`
}

// oldEvent is what events.k8s.io keeps of an event as it was in v1.
type oldEvent struct {
	OldCount  text    `json:"deprecatedCount"`
	OldFirst  text    `json:"deprecatedFirstTimestamp"`
	OldLast   text    `json:"deprecatedLastTimestamp"`
	OldSource emitter `json:"deprecatedSource"`
}

type emitter struct {
	Component text `json:"component"`
	Host      text `json:"host"`
}

type ref struct {
	Kind      text `json:"kind"`
	Namespace text `json:"namespace"`
	Name      text `json:"name"`
	UID       text `json:"uid"`
	FieldPath text `json:"fieldPath"`
}

type series struct {
	Count text `json:"count"`
	Last  text `json:"lastObservedTime"`
}

// kindName names what o is, "" for what is no object. Items of a raw API list and
// the lines of event exporters have no kind; their shape tells.
func (o *object) kindName() string {
	switch {
	case strings.HasPrefix(string(o.APIVersion), "audit.k8s.io/"):
		return "" // an audit record is a log line whose kind is Event, too; package ingest reads it
	case o.Involved != nil || o.Regarding != nil:
		return "Event"
	case o.Kind != "":
		if o.APIVersion == "" && o.Metadata.Name == "" {
			return ""
		}
		return string(o.Kind)
	case o.engineContainer.isContainer():
		return engineKind
	case o.Status.isContainer():
		return runtimeKind
	case o.Metadata.Name == "":
		return ""
	case o.Status.NodeInfo != nil:
		return "Node"
	case len(o.Spec.Containers) > 0 || len(o.Status.Containers) > 0:
		return "Pod"
	}
	return ""
}
