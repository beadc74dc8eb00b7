package kubectl_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
)

// read gives the entries of a document with the text.
func read(t *testing.T, text string) (entries []ingest.Entry) {
	t.Helper()
	err := document.Document{Name: "kubectl.txt"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
		if e.Mark == nil {
			entries = append(entries, e)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// kubeOf gives those of them that tell of objects.
func kubeOf(t *testing.T, text string) (out []ingest.Entry) {
	t.Helper()
	for _, e := range read(t, text) {
		if e.Source == ingest.Kube {
			out = append(out, e)
		}
	}
	return out
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestKubeRows(t *testing.T) {
	for _, tt := range []struct{ line, pod, node, text string }{
		{"pool-runner-a   0/1   OOMKilled   3 (5m ago)   15m", "/pool-runner-a", "",
			"pod row status=OOMKilled ready=0/1 restarts=3 age=15m"},
		{"   ci   pool-runner-a   1/2   Init:0/1   0   84s   <none>   node-a   <none>   <none>", "ci/pool-runner-a",
			"node-a", "pod row status=Init:0/1 ready=1/2 restarts=0 age=84s"},
		{"pod/pool-runner-a 1/1 Running 0 2d3h", "/pool-runner-a", "",
			"pod row status=Running ready=1/1 restarts=0 age=2d3h"},
		{"pool-runner-a Terminating", "/pool-runner-a", "", "pod row status=Terminating"},
		{"node-a   NotReady,SchedulingDisabled   worker   3d   v1.34.1", "/", "node-a",
			"node condition reason=SchedulingDisabled type=Ready status=False age=3d"},
		{"  Warning  Failed  27s (x2 over 60s)  kubelet  Error: ErrImagePull", "/", "",
			`event reason=Failed type=Warning age="27s (x2 over 60s)" from=kubelet count=2 message="Error: ` +
				`ErrImagePull"`},
		{"  Normal   Killing  1s   kubelet, node-a  Stopping container", "/", "node-a",
			`event reason=Killing type=Normal age=1s from=kubelet message="Stopping container"`},
		{"27s   Warning   Evicted   pod/pool-runner-a   too much", "/pool-runner-a", "",
			`event reason=Evicted type=Warning age=27s object=Pod/pool-runner-a message="too much"`},
		{"ci   3m   Normal   NodeNotReady   node/node-a   it is not", "ci/", "node-a",
			`event reason=NodeNotReady type=Normal age=3m object=Node/node-a message="it is not"`},
		{"5m 6m 3 pool-runner-a.15a1b2c3d4e5f607 Pod spec.containers{runner} Warning BackOff kubelet, node-a Back-off",
			"/pool-runner-a", "node-a",
			`event reason=BackOff type=Warning from=kubelet object=Pod/pool-runner-a count=3 message=Back-off`},
		{"Warning OOMKilling Memory cgroup out", "/", "",
			`event reason=OOMKilling type=Warning message="Memory cgroup out"`},
		{`Error from server (BadRequest): container "runner" in pod "pool-runner-a" is waiting to start: ` +
			`ContainerCreating`, "/pool-runner-a", "",
			"container waiting container=runner reason=ContainerCreating message=ContainerCreating"},
	} {
		got := kubeOf(t, tt.line)
		if len(got) != 1 {
			t.Errorf("%q: %d facts", tt.line, len(got))
			continue
		}
		e := got[0]
		if e.Namespace+"/"+e.Pod != tt.pod || e.Node != tt.node || e.Text != tt.text || e.Clock != ingest.NoClock {
			t.Errorf(
				"%q:\n got %s/%s %q %s\nwant %s %q %s",
				tt.line,
				e.Namespace,
				e.Pod,
				e.Node,
				e.Text,
				tt.pod,
				tt.node,
				tt.text,
			)
		}
	}
	for _, line := range []string{
		"Normal words here", "Warning: disk is full", "a/b c d e f", "step 1/2 Running 3 tests", "foo Running",
		"1/1 OK", "NAME READY STATUS RESTARTS AGE",
		"Warning Something happened to us", "Normal  Lowercase",
	} {
		if got := kubeOf(t, line); len(got) != 0 {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

const described = `Name:             pool-runner-a
Namespace:        ci
Node:             node-a/10.0.0.7
Status:           Failed
Reason:           Evicted
Message:          The node was low on resource: memory.
Init Containers:
  poller:
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
Containers:
  runner:
    Container ID:   containerd://aa
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Message:      two
                    lines
      Exit Code:    137
      Started:      Mon, 04 May 2026 12:00:00 +0200
      Finished:     Mon, 04 May 2026 12:05:00 +0200
    Ready:          False
    Restart Count:  4
  dind-1:
    State:          Running
      Started:      Mon, 04 May 2026 12:00:00 +0200
Conditions:
  Type              Status
  DisruptionTarget  True
  Ready             False
Events:
  Type     Reason   Age   From     Message
  ----     ------   ----  ----     -------
  Warning  Evicted  10s   kubelet  The node was low on resource: memory.
`

// The columns of kubectl before 1.9, and what Kubernetes' end-to-end framework prints.
func TestEventsOfOldForms(t *testing.T) {
	for _, tt := range []struct{ line, pod, node, text string }{
		{
			"  2m  2m  1  node-a  Node  Warning  SystemOOM  {kubelet node-a}  System OOM encountered", "", "node-a",
			`event reason=SystemOOM type=Warning from=kubelet object=Node/node-a count=1 ` +
				`message="System OOM encountered"`,
		},
		{
			"  2m   2m   1   pool-a   Pod   Warning   FailedScheduling   {default-scheduler }   no nodes", "pool-a", "",
			`event reason=FailedScheduling type=Warning from=default-scheduler object=Pod/pool-a count=1 ` +
				`message="no nodes"`,
		},
		{
			"INFO: At 2026-05-03 11:07:27 +0000 UTC - event for pool-a: {kubelet node-a} Failed: Error",
			"pool-a", "node-a", `event reason=Failed object=Pod/pool-a message=Error`,
		},
	} {
		got := kubeOf(t, tt.line+"\n")
		if len(got) != 1 || got[0].Pod != tt.pod || got[0].Node != tt.node || got[0].Text != tt.text {
			t.Errorf("%s:\n got %v\nwant %s %s %s", tt.line, got, tt.pod, tt.node, tt.text)
		}
	}
	for _, line := range []string{
		"INFO: event for pool-a: {kubelet node-a} Evicted: The node was low on resource: memory.",
		"a new event for pool-a: {a b} Mended: all is well",
	} {
		if got := kubeOf(t, line+"\n"); len(got) != 0 {
			t.Errorf("%s: read as %v, want text", line, got)
		}
	}
}

// A piece of docker inspect has its state's keys among others, and those of health checks inside.
func TestEngineStatePiece(t *testing.T) {
	piece := func(running, status, oom string) string {
		return `    "State": {
        "Status": "` + status + `",
        "Running": ` + running + `,
        "OOMKilled": ` + oom + `,
        "ExitCode": 137,
        "Error": "",
        "FinishedAt": "2026-05-04T10:00:00Z",
        "Health": {
            "Log": [
                {
                    "ExitCode": 0
                }
            ]
        }
    },
`
	}
	const want = "container terminated exit_code=137 finished_at=2026-05-04T10:00:00Z which=state"
	if got := kubeOf(t, piece("false", "exited", "false")); len(got) != 1 || got[0].Text != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if got := kubeOf(t, piece("false", "exited", "true")); len(got) != 1 ||
		!strings.Contains(got[0].Text, "reason=OOMKilled") {
		t.Errorf("got %v, want the reason OOMKilled", got)
	}
	for status, running := range map[string]string{"running": "true", "created": "false"} {
		if got := kubeOf(t, piece(running, status, "false")); len(got) != 0 {
			t.Errorf("%s: got %v, want no end", status, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	want := []string{
		`pod status reason=Evicted phase=Failed message="The node was low on resource: memory."`,
		`container terminated container=poller exit_code=0 reason=Completed which=state init=true`,
		`container waiting container=runner reason=CrashLoopBackOff restarts=4`,
		`container terminated container=runner exit_code=137 reason=OOMKilled started_at=2026-05-04T10:00:00Z ` +
			`finished_at=2026-05-04T10:05:00Z which=lastState restarts=4 message="two lines"`,
		`container running container=dind-1 started_at=2026-05-04T10:00:00Z`,
		`pod condition type=DisruptionTarget status=True`,
		`pod condition type=Ready status=False`,
		`event reason=Evicted type=Warning age=10s from=kubelet message="The node was low on resource: memory."`,
	}
	got := kubeOf(t, described)
	if len(got) != len(want) {
		t.Fatalf("%d facts, want %d: %+v", len(got), len(want), got)
	}
	for i, e := range got {
		if e.Text != want[i] {
			t.Errorf("fact %d\n got %s\nwant %s", i, e.Text, want[i])
		}
		if e.Namespace != "ci" || e.Pod != "pool-runner-a" || e.Node != "node-a" {
			t.Errorf("%s: %s/%s on %s", e.Text, e.Namespace, e.Pod, e.Node)
		}
	}
	if e := got[3]; !e.At.Equal(at("2026-05-04T10:05:00Z")) || e.Container != "runner" {
		t.Errorf("at %v, container %q", e.At, e.Container)
	}
}

func TestDescribeNode(t *testing.T) {
	got := kubeOf(t, `Name:               node-a
Roles:              worker
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                `+
		`Reason                       Message
  ----             ------  -----------------                 ------------------                `+
		`------                       -------
  MemoryPressure   True    Mon, 04 May 2026 12:00:00 +0200   Mon, `+
		`04 May 2026 12:05:00 +0200   KubeletHasInsufficientMemory kubelet has  none
`)
	if len(got) != 1 || got[0].Node != "node-a" || got[0].Fields["msg"] != "node condition" ||
		!got[0].At.Equal(at("2026-05-04T10:05:00Z")) {
		t.Fatalf("%+v", got)
	}
}

// TestNodeConditionsAlone: rows of a node's conditions are read below their head, without
// the line that names the section, and whatever stands in their message.
func TestNodeConditionsAlone(t *testing.T) {
	const head = "  Type    Status  LastHeartbeatTime                 LastTransitionTime                " +
		"Reason   Message\n" +
		"  ----    ------  -----------------                 ------------------                ------   -------\n"
	const row = "  Ready   False   Mon, 04 May 2026 12:00:00 +0200   Mon, 04 May 2026 12:05:00 +0200   Broken   " +
		"runtime is down: no answer\n"
	got := kubeOf(t, head+row)
	if len(got) != 1 || got[0].Fields["msg"] != "node condition" || got[0].Fields["status"] != "False" ||
		got[0].Fields["message"] != "runtime is down: no answer" {
		t.Fatalf("%+v", got)
	}
	if got := kubeOf(t, row); len(got) > 0 {
		t.Errorf("of a row without a head: %+v", got)
	}
}

func TestFragments(t *testing.T) {
	const want = `container terminated container=runner exit_code=137 reason=OOMKilled ` +
		`finished_at=2026-05-04T10:05:00Z container_id=aa which=lastState restarts=2`
	for what, text := range map[string]string{
		"json": `            "lastState": {
                "terminated": {
                    "containerID": "containerd://aa",
                    "exitCode": 137,
                    "finishedAt": "2026-05-04T10:05:00Z",
                    "reason": "OOMKilled",
                    "startedAt": null
                }
            },
            "name": "runner",
            "ready": false,
            "restartCount": 2,
`,
		"yaml": `  - containerID: containerd://bb
    lastState:
      terminated:
        containerID: containerd://aa
        exitCode: 137
        finishedAt: "2026-05-04T10:05:00Z"
        reason: OOMKilled
    name: runner
    restartCount: 2
`,
		"margin": `lastState:
  terminated:
    containerID: containerd://aa
    exitCode: 137
    finishedAt: 2026-05-04T10:05:00Z
    reason: OOMKilled
name: runner
restartCount: 2
`,
	} {
		got := kubeOf(t, text)
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestTwoContainers(t *testing.T) {
	one := `  lastState:
    terminated:
      exitCode: 255
      reason: Unknown
`
	if got := kubeOf(t, one+one); len(got) != 2 {
		t.Errorf("without names: %+v", got)
	}
	got := kubeOf(
		t,
		one+"  name: a\n  state:\n    running:\n      startedAt: 2026-05-04T10:05:00Z\n- containerID: x\n"+one+
			"  name: b\n",
	)
	if len(got) != 3 || got[0].Container != "a" || got[1].Container != "a" || got[2].Container != "b" {
		t.Errorf("%+v", got)
	}
}

// Containers of describe whose pod was cut away keep their names.
func TestDescribedContainersAlone(t *testing.T) {
	got := kubeOf(t, `  build:
    State:          Terminated
      Reason:       Error
      Exit Code:    1
  helper:
    Image:          mill:2
  svc-0:
    Image:          mill:3
    State:          Terminated
      Reason:       OOMKilled
      Exit Code:    137
`)
	var names []string
	for _, e := range got {
		names = append(names, e.Container)
	}
	if want := []string{"build", "svc-0"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestStatusFragments(t *testing.T) {
	for text, want := range map[string]string{
		"Reason: Evicted": "pod status reason=Evicted",
		"  message: 'gone'\n  phase: Failed\n  reason: NodeLost\n": "pod status reason=NodeLost phase=Failed " +
			"message=gone",
		"  - lastTransitionTime: x\n    message: m\n    reason: EvictionByEvictionAPI\n    status: \"True\"\n" +
			"    type: DisruptionTarget\n": "pod condition reason=EvictionByEvictionAPI type=DisruptionTarget " +
			"status=True message=m",
		"state:\n  waiting:\n    reason: ImagePullBackOff\n": "container waiting reason=ImagePullBackOff",
		`{"terminated":{"exitCode":9,"reason":"Error"}}`: "container terminated exit_code=9 " +
			"reason=Error which=state",
		`map[lastState:map[terminated:map[exitCode:9 reason:Error]]]`: "container terminated exit_code=9 " +
			"reason=Error which=lastState",
	} {
		got := kubeOf(t, text)
		if len(got) != 1 || got[0].Text != want {
			t.Errorf("%q\n got %+v\nwant %s", text, got, want)
		}
	}
	for _, text := range []string{
		"reason: because", "status: ok", "phase: beta", "Reason: none\nStatus: fine", "message: hello", "state: open",
		"terminated: yes",
		"type: bug\nstatus: True story", "the job was terminated: sorry",
	} {
		if got := kubeOf(t, text); len(got) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestKubeKeepsText: lines that become no fact stay lines.
func TestKubeKeepsText(t *testing.T) {
	doc := "key: value\nname: x\nStatus: 200 OK\nWarning: no\n- item: 1\n"
	entries := read(t, doc)
	if len(entries) != strings.Count(doc, "\n") {
		t.Errorf("%d entries: %+v", len(entries), entries)
	}
}

func TestMetadataFragment(t *testing.T) {
	got := kubeOf(t, `metadata:
  creationTimestamp: "2026-05-04T09:00:00Z"
  deletionGracePeriodSeconds: 30
  deletionTimestamp: "2026-05-04T10:00:00Z"
  labels:
    name: not-this
  name: pool-runner-a
  namespace: ci
  ownerReferences:
  - kind: EphemeralRunner
    name: nor-this
  uid: 00000000-1111-2222-3333-444444444444
spec:
  nodeName: node-a
status:
  containerStatuses:
  - name: runner
    state:
      terminated:
        exitCode: 143
        reason: Error
  phase: Failed
`)
	want := []string{
		"pod deleting deletion_timestamp=2026-05-04T10:00:00Z grace_seconds=30",
		"container terminated container=runner exit_code=143 reason=Error which=state",
		"pod status phase=Failed",
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, e := range got {
		if e.Text != want[i] || e.Pod != "pool-runner-a" || e.Namespace != "ci" ||
			e.PodUID != "00000000-1111-2222-3333-444444444444" {
			t.Errorf("fact %d: %s/%s %s %q, want %q", i, e.Namespace, e.Pod, e.PodUID, e.Text, want[i])
		}
	}
	if got[0].Container != "" || got[1].Node != "node-a" {
		t.Errorf("container %q node %q", got[0].Container, got[1].Node)
	}
}

// A cell of a table of runners is what stands below its head, so empty columns and
// blanks in a cell do no harm. Pods' rows behind it are read as ever.
func TestRunnerTables(t *testing.T) {
	for _, tt := range []struct{ table, want string }{
		{"NAMESPACE   NAME                  RUNNERID   STATUS   JOBDISPLAYNAME   MESSAGE   AGE\n" +
			"ci   mill-x7k2m-runner-aq2wz   url   7   Failed      no it   4h\n",
			""}, // the cells are not where their heads are
		{"NAMESPACE   NAME                      RUNNERID   STATUS   JOBDISPLAYNAME   MESSAGE   AGE\n" +
			"ci          mill-x7k2m-runner-aq2wz   7          Failed                    not up    4h\n",
			"ci/mill-x7k2m-runner-aq2wz ephemeral runner phase=Failed pool=mill runner_id=7 message=\"not up\""},
		{"NAME                                        GITHUB CONFIG URL     RUNNERID   STATUS   MESSAGE   AGE\n" +
			"ephemeralrunner.actions.github.com/mill-x7k2m-runner-aq2wz   https://x/y   7   Failed   not up   4h\n",
			"/mill-x7k2m-runner-aq2wz ephemeral runner phase=Failed pool=mill message=\"not up 4h\""},
		{"NAME                      GITHUB CONFIG URL     RUNNERID   STATUS   MESSAGE   AGE\n" +
			"mill-x7k2m-runner-aq2wz   https://github/mill   7          Failed   did not come up at all   4h\n",
			"/mill-x7k2m-runner-aq2wz ephemeral runner phase=Failed pool=mill runner_id=7 " +
				"message=\"did not come up at all   4h\""},
		{"NAME         DESIREDREPLICAS   CURRENTREPLICAS   PENDING RUNNERS   RUNNING RUNNERS\n" +
			"mill-x7k2m   3                 2                                   1\n",
			"/ ephemeral runner set wanted=3 current=2 running=1 pool=mill"},
		{"NAME   MINIMUM RUNNERS   MAXIMUM RUNNERS   CURRENT RUNNERS   STATE\n" +
			"mill   0                 3                 3                 Running\n",
			"/ autoscaling runner set phase=Running max=3 current=3 pool=mill"},
		{"NAME MINIMUM RUNNERS MAXIMUM RUNNERS CURRENT RUNNERS STATE\n" + // its columns are lost
			"mill 0 3 3 Running\n",
			"/ autoscaling runner set phase=Running max=3 current=3 pool=mill"},
		{"NAME MINIMUM RUNNERS MAXIMUM RUNNERS CURRENT RUNNERS STATE\n" +
			"mill 0 3 3\n", ""}, // an empty cell, so which is whose is not known
		{"NAME GITHUB CONFIG URL RUNNERID STATUS MESSAGE AGE\n" +
			"mill-x7k2m-runner-aq2wz https://github/mill 7 Failed not up 4h\n",
			"/mill-x7k2m-runner-aq2wz ephemeral runner phase=Failed pool=mill message=\"not up 4h\""},
		{"NAME     ORGANIZATION   REPOSITORY   LABELS   STATUS    MESSAGE   WF REPO   WF RUN   AGE\n" +
			"mill-0   mill                                 Running             a/b       17       2h\n",
			"/mill-0 ephemeral runner phase=Running job_repository=a/b workflow_run_id=17"},
		{"NAME   ORGANIZATION   REPOSITORY   LABELS   DESIRED   CURRENT   AVAILABLE   AGE\n" +
			"mill   mill                                 4         4         1           2h\n",
			"/ ephemeral runner set age=2h wanted=4 current=4 running=1 pool=mill"},
		{"NAME   DESIRED   CURRENT   UP-TO-DATE   AVAILABLE   AGE\n" +
			"mill   3         2         2            0           90m\n",
			"/ ephemeral runner set age=90m wanted=3 current=2 running=0 pool=mill"},
		{"NAMESPACE   NAME   DESIRED   CURRENT   UP-TO-DATE   AVAILABLE   AGE\n" +
			"ci          mill   3                                            4s\n",
			"ci/ ephemeral runner set age=4s wanted=3 pool=mill"}, // it has no status yet
		{"NAME                                       DESIRED   CURRENT   UP-TO-DATE   AVAILABLE   AGE\n" +
			"runnerset.actions.summerwind.dev/mill      3         2         2            0           90m\n" +
			"deployment.apps/web                        3         2         2            0           90m\n",
			"/ ephemeral runner set age=90m wanted=3 current=2 running=0 pool=mill"},
		{"NAME    DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR   AGE\n" +
			"proxy   3         3         0       3            0           <none>          90m\n", ""}, // a DaemonSet
		{"NAME         DESIRED   CURRENT   READY   AGE\n" +
			"mill-x7k2m   3         3         0       90m\n", ""}, // a ReplicaSet
		{"NAME          MIN   MAX   DESIRED   SCHEDULE\n" +
			"mill-scaler   1     3     3         min=0 time=2031-01-01 00:00:00 +0000 UTC\n",
			"/ runner autoscaler wanted=3 min=1 max=3"},
	} {
		var got []string
		const pods = "NAME   READY   STATUS    RESTARTS   AGE\nr-1    1/1     Running   0          5m\n"
		for _, e := range kubeOf(t, tt.table+pods) {
			got = append(got, e.Namespace+"/"+e.Pod+" "+e.Text)
		}
		want := []string{tt.want, "/r-1 pod row status=Running ready=1/1 restarts=0 age=5m"}
		if tt.want == "" {
			want = want[1:]
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s\ngot  %q\nwant %q", tt.table, got, want)
		}
	}
}

// What an event says is not said of a pod's status, whoever broke the event into pieces:
// its reason can be another program's word.
func TestPiecesOfAnEventAreNoStatus(t *testing.T) {
	const event = `look:
{
    "firstTimestamp": "2026-07-11T18:00:04Z",
    "involvedObject": {
        "kind": "Pod",
        "name": "mill-1"
    },
    "message": "Evicted pod: Spot interruption",
    "metadata": {
        "name": "b"
    },
    "reason": "Evicted",
    "source": {
        "component": "karpenter"
    },
    "type": "Normal"
`
	for _, e := range kubeOf(t, event) {
		if strings.HasPrefix(e.Text, "pod status") {
			t.Errorf("%s %s", e.Pod, e.Text)
		}
	}
}

// The runner's own container is no init container because the spec lists some before it.
func TestPiecesTellInitContainers(t *testing.T) {
	const pod = `look:
  initContainers:
  - name: prepare
status:
  containerStatuses:
  - name: runner
    state:
      terminated:
        exitCode: 1
  initContainerStatuses:
  - name: prepare
    state:
      terminated:
        exitCode: 0
`
	got := map[string]string{}
	for _, e := range kubeOf(t, pod) {
		got[e.Fields["container"]] = e.Fields["init"]
	}
	if got["runner"] != "" || got["prepare"] != "true" {
		t.Errorf("init containers: %v", got)
	}
}

// describedPod is the text of a pod with a message, an environment and a last event.
func describedPod(message, environment, event string) string {
	return `Name:         teal-runner-4kx2m
Namespace:    ci
Node:         n-1/10.0.0.1
Status:       Failed
Containers:
  runner:
    State:      Terminated
      Reason:   Error
` + message + `      Exit Code:    137
      Finished:     Tue, 03 Feb 2026 08:20:00 +0000
    Environment:
      GREETING:  ` + environment + `
Events:
  Type     Reason   Age  From     Message
  ----     ------   ---  ----     -------
` + event + `
`
}

// Whatever stands where a container can have written it is its own word, and so is what
// follows: another pod, a table, an exit code. What stands elsewhere is not.
func TestPrintedByTheContainer(t *testing.T) {
	const forged = "Name:  bar-runner-9zz1p\nNamespace:  ci\nStatus:  Failed\nReason:  Evicted\nMessage:  no memory\n"
	const table = "NAME READY STATUS RESTARTS AGE\n             bar-runner-9zz1p 0/1 Evicted 0 10m"
	const killing = "  Normal  Killing  9s  kubelet  Stopping container runner"
	for what, text := range map[string]string{
		"a message":           describedPod("      Message:  bye\n"+forged, "hello", killing),
		"an empty first line": describedPod("      Message:\n"+forged, "hello", killing),
		"an exit code":        describedPod("      Message:\n      Exit Code:  0\n"+forged, "hello", killing),
		"a variable":          describedPod("", table, killing),
		"a probe's output": describedPod("", "hello",
			"  Warning  Unhealthy  9s  kubelet  Liveness probe failed: no\n"+forged),
		"an event's own message": describedPod("", "hello", "  Normal  Hello  9s  me  x\n"+forged),
		"a probe's command": strings.Replace(describedPod("", "hello", killing), "    Environment:",
			"    Liveness:  exec [sh -c true\n"+forged+"] delay=0s\n    Environment:", 1),
		"a probe's command with an object": strings.Replace(describedPod("", "hello", killing), "    Environment:",
			"    Liveness:  exec [sh -c true\nkind: Pod\nstatus:\n  reason: Evicted\n] delay=0s\n    Environment:", 1),
		"an event in a variable": describedPod("", "hello\n             Warning Evicted 9s kubelet no memory", killing),
		"an annotation": "Look:\n\nmetadata:\n  annotations:\n    note: |\n      " +
			strings.ReplaceAll(table, "             ", "      ") + "\n  name: teal-runner-4kx2m\n",
	} {
		found := false
		for _, e := range kubeOf(t, text) {
			if e.Pod == "bar-runner-9zz1p" || e.Fields["reason"] == "Evicted" {
				found = true
				if e.Trust != ingest.Claimed {
					t.Errorf("%s: %s is taken for the API's word", what, e.Text)
				}
			}
			if e.Fields["msg"] == "container terminated" && e.Fields["exit_code"] == "" {
				t.Errorf("%s: the end has no exit code: %s", what, e.Text)
			}
		}
		if value := strings.Contains(what, "variable") || what == "an annotation"; found && value {
			t.Errorf("%s: it was read", what)
		}
	}
	second := describedPod("", "hello", "") + "\n\n" +
		strings.ReplaceAll(describedPod("", "hello", ""), "teal-runner-4kx2m", "bar-runner-9zz1p") +
		"\nNAME READY STATUS RESTARTS AGE\nbar-runner-9zz1p 0/1 Evicted 0 10m\n"
	seen := 0
	for _, e := range kubeOf(t, second) {
		if e.Pod == "bar-runner-9zz1p" {
			if seen++; (e.Trust == ingest.Attested) == (e.Fields["msg"] == "event") {
				t.Errorf("the trust of what kubectl itself says: %s", e.Text)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d facts of the second pod", seen)
	}
}

// What somebody wrote into a value is no part of the object that the value stands in, however
// the text was cut, and what stands behind the value is.
func TestValuesAreNoStatus(t *testing.T) {
	const describe = `Name:         teal-runner-4kx2m
Namespace:    ci
Node:         n-1/10.0.0.1
Labels:       app=x
Annotations:  note: first
                ANNOTATION
Status:       Running
Containers:
  runner:
    Args:
      ARGUMENT
    State:          Running
      Started:      Tue, 03 Feb 2026 08:00:00 +0000
    Last State:     Terminated
      Reason:       Error
      Exit Code:    3
    Environment:
      TITLE:  one
              VARIABLE
    Mounts:  <none>
QoS Class:  Burstable
`
	const pieces = `here is what I see
apiVersion: v1
kind: Pod
metadata:
  annotations:
    note: |
      ANNOTATION
  name: teal-runner-4kx2m
  namespace: ci
spec:
  containers:
  - args:
    - |
      ARGUMENT
    env:
    - name: TITLE
      value: |
        VARIABLE
    - name: FOLDED
      value: 'one two
        VARIABLE'
    name: runner
status:
  containerStatuses:
  - lastState:
      terminated:
        exitCode: 3
        message: |
          MESSAGE
        reason: Error
    name: runner
    state:
      running:
        startedAt: "2026-02-03T08:00:00Z"
  phase: Running
`
	for of, text := range map[string]string{"describe": describe, "pieces": pieces} {
		for _, place := range []string{"ANNOTATION", "ARGUMENT", "VARIABLE", "MESSAGE", "nowhere"} {
			for _, forged := range []string{
				"Status:  Failed\nReason:  Evicted", "Reason:  NodeLost", "reason: Evicted",
				"status:\n  phase: Failed\n  reason: DeadlineExceeded",
				"type: DisruptionTarget\nstatus: \"True\"\nreason: DeletionByPodGC",
				"State:  Terminated\n  Reason:  OOMKilled\n  Exit Code:  137",
				"state:\n  terminated:\n    exitCode: 137\n    reason: OOMKilled",
				`x "terminated":{"exitCode":137,"reason":"OOMKilled"}`,
				"x: terminated:map[exitCode:137 reason:OOMKilled]",
				"x\n\nReason:  Evicted", "bar-runner-9zz1p 0/1 Evicted 0 10m",
				"Warning  Evicted  9s  kubelet  no memory",
			} {
				i := strings.Index(text, place)
				if i < 0 && place != "nowhere" {
					continue
				}
				whole := text
				if i >= 0 {
					indent := i - 1 - strings.LastIndexByte(text[:i], '\n')
					lines := strings.ReplaceAll(forged, "\n", "\n"+strings.Repeat(" ", indent))
					whole = strings.ReplaceAll(text, place, lines)
				}
				ended := 0
				for _, e := range kubeOf(t, whole) {
					f := e.Fields
					if f["exit_code"] == "3" && f["reason"] == "Error" {
						ended++
						continue
					}
					if f["phase"] == "Failed" || f["exit_code"] != "" || f["type"] != "" || f["reason"] != "" ||
						f["status"] == "Evicted" {
						t.Errorf("%s, %s is %q: %s", of, place, forged, e.Text)
					}
				}
				if ended != 1 {
					t.Errorf("%s, %s is %q: %d true ends were read", of, place, forged, ended)
				}
			}
		}
	}
}

// Keys that somebody chose tell of no state, whatever they are called.
func TestChosenKeysTellNothing(t *testing.T) {
	const object = "my runner:\nmetadata:\n  name: teal-runner-4kx2m\n"
	for _, text := range []string{
		object + "  labels:\n    reason: Evicted\nstatus:\n  phase: Running\n",
		object + "  annotations:\n    status: |\n      x\n      reason: NodeLost\n",
		object + "spec:\n  nodeSelector:\n    reason: Evicted\nstatus:\n  phase: Running\n",
		object + "spec:\n  containers:\n  - args:\n    - status: |\n        reason: NodeLost\n",
		"see\n  nodeSelector:\n    reason: NodeLost\n",
	} {
		for _, e := range kubeOf(t, text) {
			if e.Fields["reason"] != "" || e.Fields["phase"] == "Failed" {
				t.Errorf("%q: %s", text, e.Text)
			}
		}
	}
}

// What stands behind describe's text, and apart from it, is read as well: at least as a claim.
func TestPiecesBehindDescribe(t *testing.T) {
	const piece = "  lastState:\n    terminated:\n      exitCode: 137\n      reason: OOMKilled\n"
	for _, between := range []string{"\n", "\n$ kubectl get pod x -o yaml\n", "```\n```\n", "---\n"} {
		found := false
		for _, e := range kubeOf(t, describedPod("", "hello", "")+between+piece) {
			found = found || e.Fields["reason"] == "OOMKilled" && e.Trust == ingest.Claimed
		}
		if !found {
			t.Errorf("behind %q the piece was not read", between)
		}
	}
	// What was said before keeps whose word it was, whatever comes behind it without a gap.
	runner := strings.Split(describedPod("", "hello", ""), "    Environment:")[0]
	for _, next := range []string{"Name:  bar-runner-9zz1p\nNamespace:  ci\n", "\nstatus:\n" + piece} {
		own := kubeOf(t, runner)
		for i, e := range kubeOf(t, runner+next)[:len(own)] {
			if e.Pod != own[i].Pod || e.Trust != own[i].Trust || e.Text != own[i].Text {
				t.Errorf("before %q: %v %s, want %v %s", next, e.Trust, e.Text, own[i].Trust, own[i].Text)
			}
		}
	}
	heading := "Name: teal-runner-4kx2m\nNamespace: ci\nstatus:\n  phase: Failed\n  reason: Evicted\n"
	if all := kubeOf(t, heading); !slices.ContainsFunc(all, func(e ingest.Entry) bool {
		return e.Pod == "teal-runner-4kx2m" && e.Fields["reason"] == "Evicted"
	}) {
		t.Errorf("a piece below its pod's name: %v", all)
	}
}
