package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/document"
)

func TestClusterObjects(t *testing.T) {
	for _, c := range []struct {
		name, in string
		n        int
		want     []string
	}{
		{"event v1 from the kubelet, repeated",
			`{"apiVersion":"v1","kind":"Event","metadata":{"creationTimestamp":"2031-01-01T00:00:00Z"},
		  "involvedObject":{"kind":"Pod","namespace":"n","name":"p","uid":"u","fieldPath":"spec.initContainers{prep}"},
		  "type":"Warning","reason":"BackOff","message":"Back-off\tpulling \"x\"","count":4,"eventTime":null,
		  "firstTimestamp":"2031-01-01T00:00:01Z","lastTimestamp":"2031-01-01T00:09:00Z",` +
				`"source":{"component":"kubelet",` +
				`"host":"quern-1"}}`, 1,
			[]string{
				`00:09:00 n/p/prep@quern-1 event reason=BackOff type=Warning from=kubelet object=Pod/p count=4 ` +
					`first_at=2031-01-01T00:00:01Z message="Back-off\tpulling \"x\""`,
				`covered  1`,
			}},
		{"event v1 with eventTime only, from the scheduler",
			`{"kind":"Event","involvedObject":{"kind":"Pod","name":"p"},"reason":"Preempted",
		  "source":{},"eventTime":"2031-01-01T00:00:02.5Z","lastTimestamp":null,` +
				`"reportingComponent":"default-scheduler",` +
				`"reportingInstance":"default-scheduler-x"}`, 1,
			[]string{`00:00:02 /p event reason=Preempted from=default-scheduler object=Pod/p`, `covered  1`}},
		{"events.k8s.io",
			`{"apiVersion":"events.k8s.io/v1","kind":"Event","regarding":{"kind":"Node","name":"quern-2"},` +
				`"note":"hot","reason":"Overheat",
		  "type":"Normal","reportingController":"kubelet","reportingInstance":"quern-2",` +
				`"eventTime":"2031-01-01T00:00:00Z",
		  "series":{"count":3,"lastObservedTime":"2031-01-01T00:03:00Z"},"deprecatedCount":1,"deprecatedSource":{}}`, 1,
			[]string{`00:03:00 @quern-2 event reason=Overheat type=Normal from=kubelet object=Node/quern-2 count=3 ` +
				`first_at=2031-01-01T00:00:00Z message=hot`, `covered  1`}},
		{"an exporter's event without kind",
			`{"metadata":{"name":"e","creationTimestamp":"2031-01-01T00:00:05Z"},` +
				`"involvedObject":{"kind":"EphemeralRunner","namespace":"n","name":"er"},"reason":"X"}`, 1,
			[]string{`00:00:05 n event reason=X object=EphemeralRunner/er`, `covered  1`}},
		{"node", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"quern-1"},"status":{"nodeInfo":{},"conditions":[
		  {"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"stopped posting",` +
			`"lastHeartbeatTime":"2031-01-01T00:01:00Z","lastTransitionTime":"2031-01-01T00:02:00Z"}]}}`, 1,
			[]string{`00:02:00 @quern-1 node condition reason=NodeStatusUnknown type=Ready status=Unknown ` +
				`heartbeat_at=2031-01-01T00:01:00Z message="stopped posting"`, `covered @quern-1 0`}},
		{"ephemeral runner",
			`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","metadata":{"name":"r",` +
				`"namespace":"n","labels":{"actions.github.com/scale-set-name":"s"}},
		  "status":{"phase":"Failed","reason":"TooManyPodFailures","message":"gave up","runnerId":41,` +
				`"jobRequestId":0,` +
				`"workflowRunId":99,"jobDisplayName":"build (x)","jobRepositoryName":"o/r",
		  "failures":{"u1":"2031-01-01T00:01:00Z","u2":"2031-01-01T00:02:00Z","u3":true}}}`, 1,
			[]string{`00:02:00 n/r ephemeral runner reason=TooManyPodFailures phase=Failed workflow_run_id=99 ` +
				`job_display_name="build (x)" job_repository=o/r runner_id=41 pool=s failures=3 message="gave up"`}},
		{"ephemeral runner with its pod's reason",
			`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","metadata":{"name":"r",` +
				`"namespace":"n"},"status":{"phase":"Failed","reason":"Evicted","message":"low on memory"}}`, 1,
			[]string{`claimed - n/r pod status reason=Evicted phase=Failed message="low on memory"`,
				`- n/r ephemeral runner reason=Evicted phase=Failed message="low on memory"`}},
		{"runner autoscaler",
			`{"apiVersion":"actions.summerwind.dev/v1alpha1","kind":"HorizontalRunnerAutoscaler","metadata":` +
				`{"name":"s","namespace":"n"},"spec":{"minReplicas":1,"maxReplicas":3,"scaleTargetRef":{"name":"p"},` +
				`"capacityReservations":[{"replicas":2},{"replicas":3},{"replicas":-9},{}]},` +
				`"status":{"desiredReplicas":3}}`, 1,
			[]string{`- n runner autoscaler pool=p min=1 max=3 wanted=3 reserved=5`}},
		{"set of runners of the older kind",
			`{"apiVersion":"actions.summerwind.dev/v1alpha1","kind":"RunnerSet","metadata":{"name":"p-of-five",` +
				`"namespace":"n"},"spec":{"replicas":3},"status":{"currentReplicas":2,"availableReplicas":1}}`, 1,
			[]string{`- n ephemeral runner set pool=p-of-five wanted=3 current=2 running=1`}},
		{"replica set of runners that nothing made",
			`{"apiVersion":"actions.summerwind.dev/v1alpha1","kind":"RunnerReplicaSet","metadata":` +
				`{"name":"p-of-five","namespace":"n"},"spec":{"replicas":3},"status":` +
				`{"replicas":2,"readyReplicas":0,"availableReplicas":0}}`, 1,
			[]string{`- n ephemeral runner set pool=p-of-five wanted=3 current=2 running=0`}},
		{"replica set of a RunnerDeployment, which says more",
			`{"apiVersion":"actions.summerwind.dev/v1alpha1","kind":"RunnerReplicaSet","metadata":{"name":"p-x7k2m",` +
				`"namespace":"n","ownerReferences":[{"kind":"RunnerDeployment","name":"p","controller":true}]},` +
				`"spec":{"replicas":0},"status":{"replicas":2}}`, 1, nil},
		{"listener",
			`{"apiVersion":"actions.github.com/v1alpha1","kind":"AutoscalingListener","metadata":` +
				`{"name":"p-1a-listener","namespace":"n","deletionTimestamp":"2031-01-01T00:01:00Z"},` +
				`"spec":{"autoscalingRunnerSetName":"p","maxRunners":4}}`, 1,
			[]string{`00:01:00 n autoscaling listener pool=p max=4 deletion_timestamp=2031-01-01T00:01:00Z`}},
		{"other kinds count only",
			`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"x"},"spec":{"replicas":1},` +
				`"status":{"conditions":{"odd":1}}}`, 1, nil},
		{"empty list", `{"apiVersion":"v1","items":[],"kind":"List"}`, 0, []string{`covered  0`}},
		{"null items", `{"kind":"PodList","apiVersion":"v1","items":null}`, 0, []string{`covered  0`}},
	} {
		got, n, err := read(t, c.in)
		if err != nil || n != c.n {
			t.Errorf("%s: n %d err %v", c.name, n, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestContainers: the ways in which many objects come in one JSON document.
func TestContainers(t *testing.T) {
	const a, b = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready"}]}}`,
		`{"metadata":{"name":"b"},"status":{"nodeInfo":{},"conditions":[{"type":"Ready"}]}}`
	want := []string{`- @a node condition type=Ready`, `- @b node condition type=Ready`, `covered @a 0`, `covered @b 0`}
	for name, in := range map[string]string{
		"list": `{"apiVersion":"v1","items":[` + a + "," + b + `],"kind":"List"}`,
		"raw list": `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[` + b[:0] + a + "," + b +
			`]}`,
		"array":              `[` + a + "," + b + `]`,
		"lines":              a + "\n" + b + "\n",
		"watch":              `{"type":"ADDED","object":` + a + `}{"object":` + b + `,"type":"DELETED"}`,
		"prompt and fence":   "```json\n$ kubectl get nodes -o json\n[" + a + "," + b + "]",
		"byte order mark":    "\xef\xbb\xbf" + a + "\r\n" + b,
		"unknown in between": `{"items":[` + a + `,"x",null,{"y":1},` + b + `]}`,
		"two status keys":    `[{"status":{"phase":"x"},` + a[1:] + "," + b + `]`,
	} {
		got, n, err := read(t, in)
		if n != 2 || err != nil {
			t.Errorf("%s: n %d err %v", name, n, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestSniff(t *testing.T) {
	for in, want := range map[string]bool{
		podJSON: true,
		"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n":                          true,
		`[{"apiVersion":"v1"`:                                                         true,
		`{"metadata":{"a":1},"reason":"x","involvedObject":{`:                         true,
		`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1"`:                    true,
		"apiVersion: v1\nkind: Pod\n":                                                 true,
		"# note\n---\nmetadata:\n  name: x\nstatus: {}\n":                             true,
		"- apiVersion: v1\n  kind: Pod\n  metadata:\n- apiVersion: v1\n  kind: Pod\n": true,
		"root@quern:~# kubectl get pod -o yaml\nkind: Pod\napiVersion: v1\n":          true,

		"": false, "{": false, "[": false, `{"a":`: false, "{}": false,
		`{"__CURSOR":"x","MESSAGE":"apiVersion"}`:                                     false,
		`{"level":"info","object":{"kind":"Pod"}}`:                                    false,
		`{"apiVersion":"audit.k8s.io/v1","kind":"Event"}`:                             false,
		`{"level":"info","msg":"x","pod":{"apiVersion":"v1","kind":"Pod"}}`:           false,
		"[RUNNER 2031-01-01 00:00:00Z INFO X] y":                                      false,
		"[   12.5] Out of memory":                                                     false,
		"kind: bug\nbody: x\n":                                                        false,
		"Name: p\nStatus: Failed\nReason: x\n":                                        false,
		"2031-01-01T00:00:00Z stdout F apiVersion: v1\n2031-01-01 stdout F kind: Pod": false,
		"status:\n  phase: Failed\n":                                                  false,
	} {
		if got := Sniff([]byte(in)); got != want {
			t.Errorf("%.60q: %v", in, got)
		}
	}
}

// Each place where an object may begin can cost a look at all that follows: a hundred are looked at,
// whether they are objects or not.
func TestStartsAreBounded(t *testing.T) {
	const lie, object = "{\n  \"level\": \"info\",\n\n", "kind: Pod\napiVersion: v1\nmetadata:\n  name: p\n"
	for lies, want := range map[int]int{0: 1, 99: 1, 100: 0} {
		got := 0
		for range Starts([]byte(strings.Repeat(lie, lies) + object)) {
			got++
		}
		if got != want {
			t.Errorf("after %d places that are no objects: %d objects, want %d", lies, got, want)
		}
	}
}

// An object may stand on one line between what people say; a log's line of JSON is none.
func TestObjectsOnALineBegin(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`
	for in, want := range map[string]int{
		"We saw this:\n\n```\n" + object + "\n```\n":                           1,
		`{ "kind": "Pod", "apiVersion": "v1" }`:                                1,
		`{"level":"info","msg":"x","pod":` + object + "}\n":                    0,
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"delete"}`:      0,
		"it said " + object + "\n" + `{"ts":"x","message":"kind: Pod"}` + "\n": 0,
	} {
		got := 0
		for range Starts([]byte(in)) {
			got++
		}
		if got != want {
			t.Errorf("%q: %d objects, want %d", in, got, want)
		}
	}
}

// TestNodeBoot: what a node says of itself it says of one boot.
func TestNodeBoot(t *testing.T) {
	const in = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"status":{"nodeInfo":{"bootID":"b-1"},` +
		`"conditions":[{"type":"Ready"}]}}`
	var boots []string
	_, err := Read(document.Document{}, []byte(in), func(e ingest.Entry) bool {
		boots = append(boots, e.Boot)
		return true
	})
	if d := cmp.Diff([]string{"b-1", ""}, boots); d != "" || err != nil { // the mark is about all of them
		t.Error(d, err)
	}
}
