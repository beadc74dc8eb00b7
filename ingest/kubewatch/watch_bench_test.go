package kubewatch

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	measured "coroner/fixtures/bench"
	"coroner/ingest"
)

// runnerLife is what the API server says of one runner: its pod and its EphemeralRunner as they
// are listed, and each change of them until its end.
type runnerLife struct {
	pod, runner string
	changes     [][2]string // resource and object
}

func lifeOf(i int) (l runnerLife) {
	name := fmt.Sprintf("mill-qx2lp-runner-%05d", i)
	pod := func(version int, status string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"ci","uid":"p%d",`+
			`"resourceVersion":"%d","labels":{"actions.github.com/scale-set-name":"mill"},"ownerReferences":[{"kind":`+
			`"EphemeralRunner","name":%[1]q,"controller":true}],"managedFields":[{"fieldsV1":{"f:x":%[4]q}}]},`+
			`"spec":{"nodeName":"n%[5]d","containers":[{"name":"runner","resources":{"limits":{"memory":"4Gi"}}}]},`+
			`"status":{"phase":"Running","containerStatuses":[{"name":"runner","state":%[6]s}]}}`,
			name, i, version, strings.Repeat("f:metadata ", 300), i%50, status)
	}
	runner := func(version int, status string) string {
		return fmt.Sprintf(`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","metadata":{`+
			`"name":%q,"namespace":"ci","uid":"r%d","resourceVersion":"%d","labels":{`+
			`"actions.github.com/scale-set-name":"mill"}},"spec":{"githubConfigUrl":"https://github.com/mills",`+
			`"template":%q},"status":{%s}}`,
			name, i, version, strings.Repeat("spec ", 500), status)
	}
	const running = `{"running":{"startedAt":"2031-01-01T00:00:01Z"}}`
	l.pod, l.runner = pod(1, `{"waiting":{"reason":"ContainerCreating"}}`), runner(1, `"phase":"Pending"`)
	l.changes = [][2]string{
		{"pods", pod(2, running)},
		{"ephemeralrunners", runner(2, `"phase":"Running","runnerId":7`)},
		{"ephemeralrunners", runner(3, `"phase":"Running","runnerId":7,"jobDisplayName":"build","workflowRunId":41`)},
		{"pods", pod(3, `{"terminated":{"exitCode":0,"reason":"Completed","finishedAt":"2031-01-01T00:20:01Z"}}`)},
	}
	return l
}

// What the watches of 1,000 runners cost: to list them, and to follow each from its pod's start to
// its end. What the made server does to send it is in it.
func TestBenchWatch(t *testing.T) {
	measured.Asked(t, "what the watches of 1,000 runners cost")
	const runners = 1000
	var lives []runnerLife
	lists := map[string][]string{}
	for i := range runners {
		l := lifeOf(i)
		lives = append(lives, l)
		lists["pods"] = append(lists["pods"], l.pod)
		lists["ephemeralrunners"] = append(lists["ephemeralrunners"], l.runner)
	}
	ends, all := 0, make(chan struct{})
	receive := func(_ context.Context, some []ingest.Entry) error {
		for i := range some {
			if some[i].Fields["msg"] != "container terminated" {
				continue
			}
			if ends++; ends == runners {
				close(all)
			}
		}
		return nil
	}
	s := serve(t, lists)
	before := usedNow()
	s.follow(t, Options{Receive: receive})
	listed := usedNow()
	for _, l := range lives {
		for _, change := range l.changes {
			s.changes[change[0]] <- `{"type":"MODIFIED","object":` + change[1] + `}`
		}
	}
	<-all
	followed := usedNow()
	runtime.KeepAlive(lives)
	figures := append(before.to(listed, "list", runners), listed.to(followed, "watch", runners)...)
	held := float64(followed.heap) - float64(before.heap)
	figures = append(figures, measured.Figure{Topic: topic, What: "memory held", Unit: "KiB each",
		Value: held / runners / 1024})
	if err := measured.Note(figures...); err != nil {
		t.Fatal(err)
	}
}

const topic = "the watches of 1 000 runners"

// used is what the process has used until now.
type used struct {
	cpu               time.Duration
	mallocs, of, heap uint64 // allocations, their bytes, and those that are held
}

func usedNow() used {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{measured.CPU(), m.Mallocs, m.TotalAlloc, m.HeapAlloc}
}

// to are the figures of what was used from u until later, of each runner.
func (u used) to(later used, what string, runners float64) []measured.Figure {
	return []measured.Figure{
		{Topic: topic, What: what + ", processor time", Unit: "ms each",
			Value: (later.cpu - u.cpu).Seconds() * 1000 / runners},
		{Topic: topic, What: what + ", allocations", Unit: "each", Value: float64(later.mallocs-u.mallocs) / runners},
		{Topic: topic, What: what + ", memory allocated", Unit: "KiB each",
			Value: float64(later.of-u.of) / runners / 1024},
	}
}
