package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// A fork that was refused in a pod's own cgroup, in whatever form its path is written, or in a
// group that nobody knows, makes no verdict of the node; one of all pods does.
func TestPidsLimitOfAPodIsNotItsNodes(t *testing.T) {
	b := loadBook(t)
	const uid, id = "0a0b0c0d_1111_2222_3333_444455556666",
		"ab00000000000000000000000000000000000000000000000000000000000012"
	for path, node := range map[string]bool{
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid + ".slice/cri-containerd-" + id +
			".scope": false,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid +
			".slice": false,
		"/kubepods/besteffort/pod" + strings.ReplaceAll(uid, "_", "-") + "/" + id +
			"/actions_job": false,
		"/kubepods/burstable/pod<redacted>/" +
			"<redacted>": false,
		"/kubepods.slice/kubepods-pod****.slice":              false,
		"/docker/" + id + "/init":                             false,
		"/lxc.payload.runner-7/system.slice":                  false,
		"/machine.slice/libpod-" + id + ".scope/container":    false,
		"/system.slice/actions.runner.example.mill-3.service": false,
		"/runner":         false,
		"/kubepods.slice": true,
		"/":               true,
	} {
		text := "2026-03-01T10:00:00.000000+00:00 host-1 kernel: cgroup: fork rejected by pids controller in " +
			path + "\n" +
			"2026-03-01T10:00:09.000000+00:00 host-1 kernel: eth0: renamed from veth3c\n"
		for _, v := range replayText(b, "kern.log", text) {
			if got := v.Label == rules.ResourceExhaustion && v.Rule == "resource-exhaustion-node"; got != node {
				t.Errorf("%s: %s (%s) by %s", path, v.Label, v.Confidence, v.Rule)
			}
		}
	}
	for text, node := range map[string]bool{
		`E0301 10:00:00.000000 700 manager.go:1] "Failed to run mount" err="fork/exec /usr/bin/mount: resource ` +
			`temporarily unavailable"`: true,
		`E0301 10:00:00.000000 700 remote_runtime.go:1] "ExecSync cmd from runtime service failed" ` +
			`err="fork/exec /proc/self/exe: resource temporarily unavailable"`: false,
	} {
		for _, v := range replayText(b, "kubelet.log",
			"2026-03-01T10:00:00.000000+00:00 host-1 kubelet[700]: "+text+"\n") {
			if got := v.Label == rules.ResourceExhaustion && v.Rule == "resource-exhaustion-node"; got != node {
				t.Errorf("%s: %s (%s) by %s", text, v.Label, v.Confidence, v.Rule)
			}
		}
	}
}

// Lines about a node that nobody vouches for displace none that is proven, however many.
func TestClaimsDisplaceNoProvenLine(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		if g.ask == "" || g.was.Confidence != rules.Confirmed {
			continue
		}
		tried++
		all := shapes(g.book, g.was, g.list)
		flood := slices.Repeat(all, 3)
		slices.Reverse(flood)
		for _, texts := range [][]string{flood, slices.Concat(flood, all)} {
			if what := g.changed(texts, carriers["a stream of nobody"]); what != "" {
				t.Errorf("%s: %s", g.name, what)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d incidents were tried", tried)
	}
}

// However often the node says one thing of its other pods, what else it said still decides,
// though it may be less sure.
func TestFloodDisplacesNoOtherKind(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		node := g.node()
		if g.was.Confidence != rules.Confirmed || g.was.DiedAt == nil || node == "" {
			continue
		}
		tried++
		list := slices.Clone(g.list)
		for n := range 200 {
			list = append(list, ingest.Entry{
				At: g.was.DiedAt.Add(time.Duration(n-100) * time.Millisecond), Clock: ingest.WallClock,
				Source: ingest.Kernel, Trust: ingest.Attested, Node: node, Cluster: g.was.Cluster,
				Doc: "flood.log", Line: n + 1,
				Text: fmt.Sprintf("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"+
					"oom_memcg=/kubepods/pod5eed0000-0000-4000-8000-%012[1]d/%064[1]x,"+
					"task_memcg=/kubepods/pod5eed0000-0000-4000-8000-%012[1]d/%064[1]x,"+
					"task=java,pid=%[1]d,uid=0", n+40000),
			})
		}
		for n := range 100 { // one signal reads all conditions
			list = append(list, ingest.Entry{
				At: g.was.DiedAt.Add(
					time.Duration(n-50) * time.Millisecond,
				), Clock: ingest.WallClock, Source: ingest.Kube,
				Trust: ingest.Attested, Node: node, Cluster: g.was.Cluster, Doc: "node.json", Line: n + 1,
				Text: fmt.Sprintf("node condition type=DiskPressure status=False message=%d", n),
				Fields: map[string]string{
					"msg": "node condition", "type": "DiskPressure", "status": "False", "message": fmt.Sprint(n),
				},
			})
		}
		if v := g.judge(list); v.Label != g.was.Label || v.Confidence == rules.Suspected {
			t.Errorf("%s: %s, with the flood %s", g.name, said(g.was), said(v))
		}
	}
	if tried < 40 {
		t.Errorf("only %d incidents were tried", tried)
	}
}

// A trouble of a node that its kubelet takes back, in the order in which things happened.
func TestTroublesThatPassed(t *testing.T) {
	const at, later = "Aug 02 16:40:10 teasel-n7 kubelet[1203]: I0802 16:40:10.300100    1203 ",
		"Aug 02 16:44:55 teasel-n7 kubelet[1203]: I0802 16:44:55.120044    1203 "
	for _, c := range [][2]string{
		{`kubelet_node_status.go:590] Node became not ready: {Type:Ready Status:False Reason:KubeletNotReady ` +
			`Message:PLEG is not healthy: pleg was last seen active 3m2.1s ago; threshold is 3m0s}`,
			`kubelet_node_status.go:420] Recording NodeReady event message for node teasel-n7`},
		{`eviction_manager.go:366] "Eviction manager: attempting to reclaim" resourceName="nodefs"`,
			`eviction_manager.go:373] "Eviction manager: able to reduce resource pressure without evicting ` +
				`pods." resourceName="nodefs"`},
	} {
		trouble, passed := c[0], c[1]
		b := loadBook(t)
		if v := replayText(b, "kubelet.log", at+trouble+"\n"+later+passed+"\n")[0]; v.Death() {
			t.Errorf("%s: %s by %s", passed, v.Label, v.Rule)
		}
		if v := replayText(b, "kubelet.log", at+trouble+"\n")[0]; !v.Death() {
			t.Errorf("%s, and no more: %s by %s", trouble, v.Label, v.Rule)
		}
	}
}
