package classify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/rules"
)

// nodeLog is a node's log that was read over a pod's end: what its programs say each ten seconds,
// with lines of their own put in.
func nodeLog(from, to time.Time, lines map[time.Duration]string, end time.Time) string {
	var b strings.Builder
	for at := from; at.Before(to); at = at.Add(time.Second) {
		stamp, klog := at.Format("2006-01-02T15:04:05.000000-07:00"), at.Format("I0102 15:04:05.000000")
		if at.Second()%10 == 0 {
			fmt.Fprintf(&b, "%s n-1 kubelet[812]: %s     812 kubelet.go:2569] \"Probe succeeded\" pod=\"sys/a-1\"\n",
				stamp, klog)
			fmt.Fprintf(&b, "%s n-1 containerd[640]: time=\"%s\" level=info msg=\"ImageUpdate event\"\n", stamp,
				at.Format(time.RFC3339Nano))
			fmt.Fprintf(&b, "%s n-1 kernel: cni0: port 4(veth1) entered forwarding state\n", stamp)
			fmt.Fprintf(&b, "%s n-1 systemd[1]: Started tidy.service.\n", stamp)
		}
		if line := lines[at.Sub(end)]; line != "" {
			line = strings.NewReplacer("KLOG", klog, "TIME", at.Format(time.RFC3339Nano)).Replace(line)
			fmt.Fprintf(&b, "%s n-1 %s\n", stamp, line)
		}
	}
	return b.String()
}

// A status of a pod has no time, and says of a later time what it says where something kept the
// pod alive after the runner. The node's log tells whether somebody had asked for the end.
func TestStatusOfALaterTime(t *testing.T) {
	const (
		pod = "ci/teal-runner-4kx2m"
		uid = "7b1c2d3e-0000-4000-8000-000000000001"
		id  = "4d21ea8a2fc14d21ea8a2fc14d21ea8a2fc14d21ea8a2fc14d21ea8a2fc14d21"
	)
	end := time.Date(2026, 5, 4, 10, 0, 2, 0, time.UTC)
	told := map[time.Duration]string{
		-time.Minute: `kubelet[812]: KLOG     812 kubelet.go:2430] "SyncLoop ADD" source="api" pods=["` + pod + `"]`,
		-50 * time.Second: `kubelet[812]: KLOG     812 kubelet.go:2453] "SyncLoop (PLEG): event for pod" pod="` + pod +
			`" event={"ID":"` + uid + `","Type":"ContainerStarted","Data":"` + id + `"}`,
		time.Second: `kubelet[812]: KLOG     812 kubelet.go:2453] "SyncLoop (PLEG): event for pod" pod="` + pod +
			`" event={"ID":"` + uid + `","Type":"ContainerDied","Data":"` + id + `"}`,
		0: `containerd[640]: time="TIME" level=info msg="received exit event container_id:\"` + id + `\"  id:\"` + id +
			`\"  pid:811  exit_status:137  exited_at:{seconds:` + fmt.Sprint(end.Unix()) + `}"`,
	}
	stop := map[time.Duration]string{
		-5 * time.Second: `kubelet[812]: KLOG     812 kuberuntime_container.go:779] "Killing container with a grace ` +
			`period" pod="` + pod + `" podUID="` + uid + `" containerName="runner" containerID="containerd://` + id +
			`" gracePeriod=1`,
		-4 * time.Second: `containerd[640]: time="TIME" level=info msg="StopContainer for \"` + id +
			`\" with timeout 1 (s)"`,
	}
	for reason, message := range map[string]string{
		"Evicted":          "The node was low on resource: memory.",
		"DeadlineExceeded": "Pod was active on the node longer than the specified deadline",
		"Terminated":       "Pod was terminated in response to imminent node shutdown.",
	} {
		for _, asked := range []bool{false, true} {
			lines := map[time.Duration]string{}
			for at, line := range told {
				lines[at] = line
			}
			for at, line := range stop {
				if asked {
					lines[at] = line
				}
			}
			v := judged(loadBook(t), map[string]string{
				"node.log": nodeLog(end.Add(-2*time.Minute), end.Add(8*time.Minute), lines, end),
				"pod.yaml": `apiVersion: v1
kind: Pod
metadata: {name: teal-runner-4kx2m, namespace: ci, uid: ` + uid + `}
spec: {nodeName: n-1, restartPolicy: Never, containers: [{name: runner}, {name: dind}]}
status:
  phase: Failed
  reason: ` + reason + `
  message: "` + message + `"
  containerStatuses:
  - name: runner
    containerID: containerd://` + id + `
    state: {terminated: {exitCode: 137, reason: Error, containerID: "containerd://` + id + `",
      startedAt: "2026-05-04T09:59:12Z", finishedAt: "2026-05-04T10:00:02Z"}}
`,
			})
			if confirmed := v.Confidence == rules.Confirmed; confirmed != asked {
				t.Errorf("%s, asked to stop before: %v: %s", reason, asked, said(v))
			}
		}
	}
}
