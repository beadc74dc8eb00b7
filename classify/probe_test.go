package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"coroner/fixtures"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// A liveness or startup probe that failed as often as it may right before a container's end
// with 137 or 143 is probably its cause, where the kill itself is not in what was read; a
// readiness probe, another container's, one failure, an old one or another code is not.
func TestProbeThatKilled(t *testing.T) {
	const live, start = "Liveness probe failed: HTTP probe failed with statuscode: 500", "Startup probe failed: " +
		"dial tcp: refused"
	for _, c := range []struct {
		what, message, container, at string
		count, code                  int
		reason                       string
		by                           string // "" where it is not the cause
	}{
		{"liveness", live, "runner", "13:21:10", 3, 137, "Error", "liveness"},
		{"liveness, stopped in time", live, "runner", "13:21:10", 3, 143, "Error", "liveness"},
		{"startup", start, "runner", "13:21:10", 30, 137, "Error", "kubelet"},
		{"one that says it", "Liveness probe failed: x, will be restarted", "runner", "13:21:10", 1, 137,
			"Error", "liveness"},
		{"readiness", "Readiness probe failed: dial tcp: refused", "runner", "13:21:10", 9, 137, "Error", ""},
		{"readiness that quotes", "Readiness probe failed: Liveness probe failed", "runner", "13:21:10", 9, 137,
			"Error", ""},
		{"one failure", live, "runner", "13:21:10", 1, 137, "Error", ""},
		{"long before", live, "runner", "13:10:00", 3, 137, "Error", ""},
		{"after the end", live, "runner", "13:22:10", 3, 137, "Error", ""},
		{"a sidecar's", live, "dind", "13:21:10", 3, 137, "Error", ""},
		{"an error of its own", live, "runner", "13:21:10", 3, 1, "Error", ""},
		{"a good end", live, "runner", "13:21:10", 3, 0, "Completed", ""},
		{"out of memory", live, "runner", "13:21:10", 3, 137, "OOMKilled", ""},
	} {
		pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"reed-1","namespace":"ci","uid":`+
			`"%s"},"spec":{"nodeName":"fen-2",`+
			`"containers":[{"name":"runner"},{"name":"dind"}]},"status":{"phase":"Failed","containerStatuses":`+
			`[{"name":"runner","restartCount":0,`+
			`"containerID":"containerd://%s","state":{"terminated":{"exitCode":%d,"reason":%q,"startedAt":`+
			`"2026-11-09T13:00:04Z",`+
			`"finishedAt":"2026-11-09T13:21:40Z"}}}]}}`, laterUID, strings.Repeat("9e10", 16), c.code, c.reason)
		event := fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"reed-1.1","namespace":`+
			`"ci"},"involvedObject":{"kind":"Pod",`+
			`"name":"reed-1","namespace":"ci","uid":"%s","fieldPath":"spec.containers{%s}"},"reason":`+
			`"Unhealthy","message":%q,"type":"Warning",`+
			`"count":%d,"source":{"component":"kubelet","host":"fen-2"},"lastTimestamp":`+
			`"2026-11-09T%sZ"}`, laterUID, c.container, c.message, c.count, c.at)
		in := fixtures.Incident{Name: "probe", Files: []txtar.File{
			{Name: "pod.json", Data: []byte(pod)}, {Name: "event.json", Data: []byte(event)},
		}}
		in.Want.Runner = "reed-1"
		v := replayAll(loadBook(t), in)[0]
		killed := v.Rule == "SIGTERM-drain-probe"
		if killed != (c.by != "") || killed && (v.Confidence != rules.Probable || v.Initiator != c.by) {
			t.Errorf("%s: %s by %s, of %s", c.what, said(v), v.Rule, v.Initiator)
		}
	}
}

// An event about another container of a pod whose runner runs, by its object, is no death; the
// same about the runner's own is a suspicion.
func TestEventsOfOtherContainers(t *testing.T) {
	running := func(name string) string {
		return `{"name":"` + name + `","restartCount":0,"state":{"running":{"startedAt":"2026-11-09T13:00:04Z"}}}`
	}
	for _, message := range []string{
		"Container %s failed liveness probe, will be restarted", "Container %s failed startup probe, will be restarted",
		"Container %s definition changed, will be restarted", "Stopping container %s",
	} {
		for container, alive := range map[string]bool{"dind": true, "docker-proxy": true, "runner": false} {
			pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"reed-1","namespace":"ci","uid":"` + laterUID +
				`"},"spec":{"nodeName":"fen-2",` +
				`"containers":[{"name":"runner"},{"name":"dind"},{"name":"docker-proxy"}]},` +
				`"status":{"phase":"Running","containerStatuses":[` + running("runner") + `,` + running("dind") + `,` +
				running("docker-proxy") + `]}}`
			event := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"reed-1.1","namespace":"ci"},` +
				`"involvedObject":{"kind":"Pod","name":"reed-1","namespace":"ci","uid":"` + laterUID +
				`","fieldPath":"spec.containers{` + container + `}"},"reason":"Killing","message":"` + fmt.Sprintf(
				message,
				container,
			) + `","type":"Normal",` +
				`"count":1,"source":{"component":"kubelet","host":"fen-2"},"lastTimestamp":"2026-11-09T13:21:10Z"}`
			in := fixtures.Incident{Name: "probe", Files: []txtar.File{
				{Name: "pod.json", Data: []byte(pod)}, {Name: "event.json", Data: []byte(event)},
			}}
			in.Want.Runner = "reed-1"
			v := replayAll(loadBook(t), in)[0]
			if alive && v.Label != rules.None || v.Label != rules.None && v.Confidence != rules.Suspected {
				t.Errorf("%s, %s: %s", container, message, said(v))
			}
		}
	}
}

// The same of rows, which name the container in the kubelet's words alone.
func TestRowsOfOtherContainers(t *testing.T) {
	for message, label := range map[string]rules.Label{
		"Container dind failed liveness probe, will be restarted":   rules.None,
		"Container dind failed startup probe, will be restarted":    rules.None,
		"Stopping container dind":                                   rules.None,
		"Container runner failed liveness probe, will be restarted": rules.SIGTERMDrain,
		"Stopping container runner":                                 rules.SIGTERMDrain,
		"Stopping container dind now":                               rules.SIGTERMDrain, // no kubelet says so
	} {
		table := "LAST SEEN   TYPE     REASON    OBJECT       MESSAGE\n" +
			"2m          Normal   Killing   pod/reed-1   " + message + "\n"
		for _, v := range replayText(loadBook(t), "events.txt", table) {
			if v.Label != label || label != rules.None && v.Confidence != rules.Suspected {
				t.Errorf("%s: %s", message, said(v))
			}
		}
	}
}

// A container that alone is stopped, while the pod is shown ready or another one of it runs, is
// not the runner; one with a runner's name is, and so is one of a pod that is stopped whole.
func TestOneContainerIsStopped(t *testing.T) {
	rows := "NAME     READY   STATUS    RESTARTS   AGE\nreed-1   2/2     Running   1          12m\n\n"
	events := "LAST SEEN   TYPE     REASON    OBJECT       MESSAGE\n"
	stops := func(container string) string {
		return "2m          Normal   Killing   pod/reed-1   Stopping container " + container + "\n"
	}
	pod := "Name:             reed-1\nNamespace:        ci\nStatus:           Running\nContainers:\n  agent:\n" +
		"    State:          Running\n      Started:      Sun, 01 Mar 2026 10:00:00 +0000\n  shipper:\n" +
		"    State:          STATE\n"
	ended := "Terminated\n      Reason:       Error\n      Exit Code:    143\n      Started:      Sun, 01 Mar 2026 " +
		"10:00:00 +0000\n      Finished:     Sun, 01 Mar 2026 10:05:00 +0000"
	told := func(state, container string) string {
		return strings.Replace(pod, "STATE", state, 1) + "Events:\n  Type    Reason   Age  From     Message\n" +
			"  ----    ------   ---- ----     -------\n  Normal  Killing  4m   kubelet  Stopping container " +
			container + "\n"
	}
	for what, c := range map[string]struct {
		text string
		want rules.Label
	}{
		"a sidecar of a ready pod":    {rows + events + stops("shipper"), rules.None},
		"the runner of a ready pod":   {rows + events + stops("runner"), rules.SIGTERMDrain},
		"both":                        {rows + events + stops("shipper") + stops("agent"), rules.SIGTERMDrain},
		"nothing is known of the pod": {events + stops("shipper"), rules.SIGTERMDrain},
		"another one runs":            {told("Waiting", "shipper"), rules.None},
		"one of two unknown ended":    {told(ended, "shipper"), rules.SIGTERMDrain},
	} {
		for _, v := range replayText(loadBook(t), "pod.txt", c.text) {
			if v.Label != c.want || v.Confidence != rules.Suspected && v.Death() {
				t.Errorf("%s: %s, want %s", what, said(v), c.want)
			}
		}
	}
}
