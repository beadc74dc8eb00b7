package kube

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/logtext"
)

// read returns one line an entry: time, identity, text; marks as `covered …`.
func read(t *testing.T, data string) (lines []string, n int, err error) {
	t.Helper()
	n, err = Read(document.Document{Name: "doc"}, []byte(data), func(e ingest.Entry) bool {
		event := e.Fields["msg"] == "event" // whoever may create events says in it what he likes
		if e.Source != ingest.Kube || event && e.Trust == ingest.Attested || e.Doc != "doc" {
			t.Errorf("source %q trust %d doc %q", e.Source, e.Trust, e.Doc)
		}
		line := show(e)
		if !event && e.Trust != ingest.Attested {
			line = "claimed " + line
		}
		lines = append(lines, line)
		return true
	})
	return lines, n, err
}

func show(e ingest.Entry) string {
	id := strings.TrimRight(fmt.Sprintf("%s/%s/%s@%s", e.Namespace, e.Pod, e.Container, e.Node), "/@")
	id = strings.TrimPrefix(id, "//")
	if e.Mark != nil {
		return fmt.Sprintf("covered %s %d", id, e.Mark.Lines)
	}
	at := "-"
	if e.Clock == ingest.WallClock {
		at = e.At.Format("15:04:05")
	}
	return fmt.Sprintf("%s %s %s", at, id, e.Text)
}

const (
	cid = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"
	old = "0ddba11e0ddba11e0ddba11e0ddba11e0ddba11e0ddba11e0ddba11e0ddba11e"
)

// podJSON has everything at once: giant managedFields, null times, numbers as
// strings, both states, all three kinds of containers, a disruption.
var podJSON = `{
 "apiVersion": "v1", "kind": "Pod",
 "metadata": {
  "managedFields": [` + strings.Repeat(`{"fieldsV1":{"f:status":{"f:phase":{}}}},`, 500) + `{}],
  "name": "mill-runner-7", "namespace": "mills", "uid": "aaaaaaaa-0000-4000-8000-000000000007",
  "creationTimestamp": "2031-02-03T04:00:00Z",
  "deletionTimestamp": "2031-02-03T04:06:30Z", "deletionGracePeriodSeconds": "30",
  "labels": {"actions.github.com/scale-set-name": "mill", "app.kubernetes.io/component": "runner"},
  "ownerReferences": [{"kind": "Note", "name": "x"}, {"kind": "EphemeralRunner", "name": "mill-runner-7", ` +
	`"controller": true}]
 },
 "spec": {
  "nodeName": "quern-1", "restartPolicy": "Never", "serviceAccountName": "grinder", "runtimeClassName": "kata-qemu",
  "activeDeadlineSeconds": 3600, "terminationGracePeriodSeconds": 30,
  "containers": [
   {"name": "dind", "resources": {"limits": {"memory": "9Gi"}}},
   {"name": "runner", "command": ["/bin/sh", "-c"], "args": ["exec ./go \"now\""], ` +
	`"resources": {"limits": {"memory": "2Gi", "cpu": 2}}}
  ]
 },
 "status": {
  "phase": "Failed", "reason": "Evicted", "message": "The node was low on grain.\nSorry.", "qosClass": "Burstable",
  "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": "m", ` +
	`"lastTransitionTime": "2031-02-03T04:06:00Z", "lastProbeTime": null}],
  "initContainerStatuses": [{"name": "prep", "restartCount": 0, "lastState": {}, ` +
	`"state": {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": "2031-02-03T04:00:02Z", ` +
	`"startedAt": null}}}],
  "containerStatuses": [
   {"name": "runner", "restartCount": "1", "containerID": "containerd://` + cid + `",
    "lastState": {"terminated": {"containerID": "containerd://` + old +
	`", "exitCode": 1, "reason": "Error", "startedAt": "2031-02-03T04:00:03Z", "finishedAt": "2031-02-03T04:01:00Z"}},
    "state": {"running": null, "waiting": null, "terminated": {"exitCode": "137", "signal": 9, ` +
	`"reason": "OOMKilled", "message": "bye reason=Completed", "startedAt": "1970-01-01T00:00:00Z", ` +
	`"finishedAt": "2031-02-03T04:06:10Z"}}},
   {"name": "dind", "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", ` +
	`"message": "no such barrel"}}, "lastState": {}}
  ],
  "ephemeralContainerStatuses": [{"name": "debugger-x", "state": {"running": {"startedAt": "2031-02-03T04:05:00Z"}}}]
 }
}`

var podWant = []string{
	`04:00:00 mills/mill-runner-7/@quern-1 pod spec containers=dind,` +
		`runner node=quern-1 service_account=grinder restart_policy=Never runtime_class=kata-qemu ` +
		`owner=EphemeralRunner/mill-runner-7 pool=mill component=runner memory_limit=2Gi ` +
		`active_deadline_seconds=3600 grace_seconds=30 command="/bin/sh -c exec ./go \"now\""`,
	`04:06:10 mills/mill-runner-7/@quern-1 pod status reason=Evicted phase=Failed qos=Burstable message="The node ` +
		`was low on grain. Sorry."`,
	`04:06:00 mills/mill-runner-7/@quern-1 pod condition reason=TerminationByKubelet type=DisruptionTarget ` +
		`status=True message=m`,
	`04:00:02 mills/mill-runner-7/prep@quern-1 container terminated container=prep exit_code=0 reason=Completed ` +
		`finished_at=2031-02-03T04:00:02Z which=state restarts=0 init=true`,
	`04:01:00 mills/mill-runner-7/runner@quern-1 container terminated container=runner exit_code=1 reason=Error ` +
		`started_at=2031-02-03T04:00:03Z finished_at=2031-02-03T04:01:00Z container_id=` + old +
		` which=lastState restarts=1`,
	`04:06:10 mills/mill-runner-7/runner@quern-1 container terminated container=runner exit_code=137 ` +
		`reason=OOMKilled signal=9 finished_at=2031-02-03T04:06:10Z container_id=` + cid +
		` which=state restarts=1 message="bye reason=Completed"`,
	`- mills/mill-runner-7/dind@quern-1 container waiting container=dind reason=ImagePullBackOff restarts=0 ` +
		`message="no such barrel"`,
	`04:05:00 mills/mill-runner-7/debugger-x@quern-1 container running container=debugger-x ` +
		`started_at=2031-02-03T04:05:00Z ephemeral=true`,
	`04:06:30 mills/mill-runner-7/@quern-1 pod deleting deletion_timestamp=2031-02-03T04:06:30Z grace_seconds=30 ` +
		`requested_at=2031-02-03T04:06:00Z`,
	`covered mills/mill-runner-7/@quern-1 0`,
}

func TestPod(t *testing.T) {
	got, n, err := read(t, podJSON)
	if n != 1 || err != nil {
		t.Fatalf("n %d err %v", n, err)
	}
	if d := cmp.Diff(podWant, got); d != "" {
		t.Error(d)
	}
}

// What gitlab-runner noted at the pod says which job it runs. A job may have written it: it
// is a claim. Another CI's pods have none.
func TestPodJob(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "runner-a-project-4-concurrent-0-b",
		"annotations": {"job.runner.gitlab.com/id": "7001", "job.runner.gitlab.com/name": "build",
		"job.runner.gitlab.com/sha": "c0ffee", "job.runner.gitlab.com/url": %q}},
		"spec": {"containers": [{"name": "build"}]}}`
	for url, repository := range map[string]string{
		"https://git.example/mills/east/flour/-/jobs/7001": "mills/east/flour", "/-/jobs/7001": "", "": "",
	} {
		found := false
		_, err := Read(document.Document{}, fmt.Appendf(nil, pod, url), func(e ingest.Entry) bool {
			if e.Fields["msg"] == "pod job" {
				found = true
				if e.Fields["job"] != "build" || e.Fields["job_id"] != "7001" || e.Fields["repository"] != repository ||
					e.Trust != ingest.Claimed {
					t.Errorf("%s: %+v", url, e)
				}
			}
			return true
		})
		if !found || err != nil {
			t.Errorf("%s: no job, %v", url, err)
		}
	}
	_, _ = Read(document.Document{}, []byte(podJSON), func(e ingest.Entry) bool {
		if e.Fields["msg"] == "pod job" {
			t.Errorf("a job of no gitlab-runner's: %s", e.Text)
		}
		return true
	})
}

func TestPodFields(t *testing.T) {
	var last ingest.Entry
	_, _ = Read(document.Document{}, []byte(podJSON), func(e ingest.Entry) bool {
		if e.Fields["which"] == "state" && e.Container == "runner" {
			last = e
		}
		return true
	})
	want := ingest.Entry{
		Namespace: "mills", Pod: "mill-runner-7", PodUID: "aaaaaaaa-0000-4000-8000-000000000007",
		Container: "runner", ContainerID: cid, Node: "quern-1", Line: 1, Text: last.Text,
		At: time.Date(2031, 2, 3, 4, 6, 10, 0, time.UTC), Clock: ingest.WallClock,
		Source: ingest.Kube, Trust: ingest.Attested,
		Fields: map[string]string{
			"msg": "container terminated", "container": "runner", "exit_code": "137", "reason": "OOMKilled",
			"signal":      "9",
			"finished_at": "2031-02-03T04:06:10Z", "container_id": cid, "which": "state", "restarts": "1",
			"message": "bye reason=Completed",
		},
	}
	if d := cmp.Diff(want, last); d != "" {
		t.Error(d)
	}
	if msg, _, ok := logtext.Message(&last, nil); msg != "container terminated" || !ok {
		t.Errorf("message %q %v", msg, ok)
	}
}

// TestLivingPod: a pod that runs has no time of its status, and one that lost
// its node keeps the reason.
func TestLivingPod(t *testing.T) {
	got, _, err := read(t, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"n"},
	 "status":{"phase":"Running","reason":"NodeLost","containerStatuses":[{"name":"c","state":{}}]}}`)
	want := []string{`- n/p pod status reason=NodeLost phase=Running`, `covered n/p 0`}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestSettled: the time of a finished pod whose containers tell none.
// TestMachine: what is to become a node tells its conditions under the node's name, or
// its own until it names one.
func TestMachine(t *testing.T) {
	const machine = `{"apiVersion":"a/v1","kind":"%s","metadata":{"name":"m"},"status":{%s"conditions":[` +
		`{"type":"Bootstrapped","status":"False","reason":"BootstrapFailed","message":"no key"}]}}`
	const text = `machine condition reason=BootstrapFailed type=Bootstrapped status=False message="no key"`
	for kind, c := range map[string]struct{ names, node string }{
		"Machine":      {`"nodeRef":{"name":"n"},`, "n"},
		"AppleMachine": {"", "m"},
		"NodeClaim":    {`"nodeName":"k",`, "k"},
	} {
		lines, n, err := read(t, fmt.Sprintf(machine, kind, c.names))
		if diff := cmp.Diff([]string{"- @" + c.node + " " + text}, lines); err != nil || n != 1 || diff != "" {
			t.Errorf("%s: %v\n%s", kind, err, diff)
		}
	}
	if lines, _, _ := read(t, fmt.Sprintf(machine, "Machinery", "")); len(lines) > 0 {
		t.Error(lines)
	}
}

func TestSettled(t *testing.T) {
	for status, want := range map[string]string{
		`"phase":"Failed","startTime":"2031-01-01T10:00:00Z"`:                                          "10:00:00",
		`"phase":"Failed","conditions":[{"type":"Ready","lastTransitionTime":"2031-01-01T11:00:00Z"}]`: "11:00:00",
		`"phase":"Failed","containerStatuses":[{"state":{"terminated":{"finishedAt":null}}}],` +
			`"conditions":[{"lastTransitionTime":"2031-01-01T12:00:00Z"}]`: "12:00:00",
		`"phase":"Pending","startTime":"2031-01-01T10:00:00Z"`: "-",
	} {
		got, _, err := read(t, `{"kind":"Pod","metadata":{"name":"p"},"status":{`+status+`}}`)
		if err != nil || !strings.HasPrefix(got[0], want+" ") {
			t.Errorf("%s: got %q, want %s (%v)", status, got, want, err)
		}
	}
}

func TestPool(t *testing.T) {
	for labels, want := range map[string]string{
		`{"labels":{"actions.github.com/scale-set-name":"a","tuist.dev/runner-pool":"b"}}`: "a",
		`{"labels":{"tuist.dev/runner-pool":"b"}}`:                                         "b",
		`{"labels":{"runner-deployment-name":"c"}}`:                                        "c",
		`{"labels":{"pod-template-hash":"6f"},"ownerReferences":[{"kind":"ReplicaSet","name":"ci-6f",` +
			`"controller":1}]}`: "ci",
		`{"labels":{"pod-template-hash":"6f"},"ownerReferences":[{"kind":"ReplicaSet","name":"other"}]}`: "",
		`{}`: "",
	} {
		var m meta
		if err := unmarshal([]byte(labels), &m); err != nil || m.poolName() != want {
			t.Errorf("%s: pool %q, want %q (%v)", labels, m.poolName(), want, err)
		}
	}
}

func TestStop(t *testing.T) {
	for stop := 1; stop <= len(podWant); stop++ {
		seen := 0
		_, err := Read(document.Document{}, []byte(podJSON), func(ingest.Entry) bool { seen++; return seen < stop })
		if seen != stop || err != nil {
			t.Errorf("stop after %d: saw %d, %v", stop, seen, err)
		}
	}
}

// TestNotObject: near misses are left to the text parsers, and nothing is
// yielded for them.
func TestNotObject(t *testing.T) {
	for _, in := range []string{
		"", "\n\n", "null", "17", "[]x", "[1,2]", `{"items":[1]}`, `{}`, `{"kind":"Pod"}`,
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"delete"}`,
		`{"level":"info","msg":"Killed","pod":{"kind":"Pod","apiVersion":"v1"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"cut`,
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"cut"`,
		"[RUNNER 2031-01-01 00:00:00Z INFO Listener] x", "kind: Pod\n",
		"lastState:\n  terminated:\n    exitCode: 137\n",
		"runner: x\nverdict: none\n", "kind: Pod\nmetadata: [", "\x00\x01\x02",
		"apiVersion: v1\nkind: Pod\nmetadata: &a [*a]\n",
	} {
		got, n, err := read(t, in)
		if !errors.Is(err, ErrNotObject) || n != 0 || len(got) != 0 {
			t.Errorf("%q: n %d err %v entries %q", in, n, err, got)
		}
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := Read(document.Document{}, make([]byte, MaxDocument+1), nil); !errors.Is(err, ErrNotObject) {
		t.Error(err)
	}
}

// TestTail: what follows the objects is given back with its place.
func TestTail(t *testing.T) {
	node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"}}`
	for in, want := range map[string]string{
		node + "\nthe rest":           "the rest",
		node + "\n```\n":              "```\n",
		node + node + `{"msg":"log"}`: `{"msg":"log"}`,
		`{"kind":"List","apiVersion":"v1","items":[` + node + `,{"kind":"No`:  `{"kind":"No`,
		"apiVersion: v1\nkind: Node\nmetadata:\n  name: x\n$ kubectl logs\n":  "$ kubectl logs\n",
		"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n- kind: [\n": "- kind: [\n",
	} {
		_, n, err := read(t, in)
		tail := (*TailError)(nil)
		if n == 0 || !errors.As(err, &tail) || in[tail.Offset:] != want {
			t.Errorf("%q: n %d err %v, want rest %q", in, n, err, want)
		} else if tail.Line != strings.Count(in[:tail.Offset], "\n") {
			t.Errorf("%q: line %d", in, tail.Line)
		}
	}
}

// TestCommandSecrets: what a runner is registered with is not kept.
func TestCommandSecrets(t *testing.T) {
	for in, want := range map[string]string{
		`["./config.sh --unattended --token AB12CD --url https://github.com/o"]`: `./config.sh --unattended --token ` +
			`… --url https://github.com/o`,
		`["./run.sh","--jitconfig","eyJhbGciOi"]`:             `./run.sh --jitconfig …`,
		`["./run.sh","--jitconfig=eyJhbGciOi","--once"]`:      `./run.sh --jitconfig=… --once`,
		`["sh","-c","./r --registration-token \"abc\" && x"]`: `sh -c ./r --registration-token "…" && x`,
		`["/home/runner/run.sh"]`:                             `/home/runner/run.sh`,
	} {
		var got string
		_, err := Read(
			document.Document{},
			[]byte(
				`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"runner",`+
					`"command":`+in+`}]}}`,
			),
			func(e ingest.Entry) bool {
				got += e.Fields["command"]
				return true
			},
		)
		if got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", in, got, err, want)
		}
	}
}

// The pod of a pool's listener says in one word how it is, as kubectl's table does: that is about
// the pool. Other pods say nothing of the kind.
func TestListenersPod(t *testing.T) {
	const label = `"labels":{"actions.github.com/scale-set-name":"p","app.kubernetes.io/component":` +
		`"runner-scale-set-listener"}`
	row := func(status, of string) string {
		return "- n listener pod status=" + status + " object=Pod/" + of + " listener_of=p"
	}
	for _, c := range []struct{ meta, status, want string }{
		{`"name":"own-name",` + label, `"phase":"Pending"`, row("Pending", "own-name")},
		{`"name":"p-1a2b3c4d-listener"`, `"phase":"Running","containerStatuses":[{"name":"listener","state":` +
			`{"running":{}}}]`, row("Running", "p-1a2b3c4d-listener")},
		{`"name":"p-1a2b3c4d-listener"`, `"phase":"Pending","containerStatuses":[{"name":"listener","state":` +
			`{"waiting":{"reason":"ErrImagePull"}}},{"name":"b","state":{"waiting":{"reason":"PodInitializing"}}}]`,
			row("ErrImagePull", "p-1a2b3c4d-listener")},
		{`"name":"p-1a2b3c4d-listener"`, `"phase":"Failed","containerStatuses":[{"name":"listener","state":` +
			`{"terminated":{"exitCode":1}}}]`, row("Error", "p-1a2b3c4d-listener")},
		{`"name":"p-1a2b3c4d-listener"`, `"phase":"Failed","reason":"Evicted"`, row("Evicted", "p-1a2b3c4d-listener")},
		{`"name":"p-1a2b3c4d-listener","deletionTimestamp":"2031-01-01T00:00:00Z"`, `"phase":"Running"`,
			row("Terminating", "p-1a2b3c4d-listener")},
		{`"name":"p-1a2b3c4d-runner-x7k2m"`, `"phase":"Pending"`, ""},
		{`"name":"event-listener"`, `"phase":"Pending"`, ""}, // no pool has one of that name
	} {
		got, _, err := read(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"n",`+c.meta+
			`},"status":{`+c.status+`}}`)
		got = slices.DeleteFunc(got, func(s string) bool { return !strings.HasPrefix(s, "- n listener pod ") })
		if strings.Join(got, "\n") != c.want || err != nil {
			t.Errorf("%s %s: got %q, want %q, %v", c.meta, c.status, got, c.want, err)
		}
	}
}
