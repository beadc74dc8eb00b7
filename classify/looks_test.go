package classify_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// judged is the verdict of the runner that every test here is about, from files by name.
func judged(book *rules.Rulebook, files map[string]string) rules.Verdict {
	var all txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all.Files = append(all.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	return judgedBytes(book, txtar.Format(&all))
}

// judgedBytes is the same of a txtar archive.
func judgedBytes(book *rules.Rulebook, archive []byte) rules.Verdict {
	entries := bundle.Bytes("looks.txtar", archive, bundle.Options{}).Entries(nil)
	return classify.Replay(entries, book, classify.Options{Runner: "teal-runner-4kx2m"})[0]
}

// What only looks like a cause is not confirmed, and what only looks like an all-clear is none:
// a warning while a pod is being made, an eviction after a crash, a refused fork that was
// survived, a runner that renewed its job before it was removed as idle. The comment of each
// archive ends with the verdict that it gives.
func TestLooksAreNotEnough(t *testing.T) {
	book := loadBook(t)
	archives, err := filepath.Glob("testdata/looks/*.txtar")
	if err != nil || len(archives) < 6 {
		t.Fatal(archives, err)
	}
	for _, name := range archives {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, want, found := strings.Cut(string(txtar.Parse(text).Comment), "want: ")
		v := judgedBytes(book, text)
		if got := fmt.Sprintf("%s (%s)", v.Label, v.Confidence); !found || got != strings.TrimSpace(want) {
			t.Errorf("%s: %s by %s, want %s", name, got, v.Rule, want)
		}
	}
}

// Whoever may create events says in one what he likes, in the kubelet's name and any node's: a
// pod that runs is not evicted by it.
func TestEventsAreClaims(t *testing.T) {
	book := loadBook(t)
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "teal-runner-4kx2m", "namespace": "ci",
		"uid": "1b2c3d4e-0000-4000-8000-00000000000a"}, "spec": {"nodeName": "n-1", "containers": [{"name": "runner"}]},
		"status": {"phase": "Running", "containerStatuses": [{"name": "runner", "state": {"running": {}}}]}}`
	const event = `{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ci"}, "type":"Warning",
		"reason": "Evicted", "message": "The node was low on resource: memory.", "lastTimestamp":"2026-03-01T10:00:03Z",
		"source": {"component": "kubelet", "host": "NODE"}, "involvedObject": {"kind": "Pod", "namespace": "ci",
		"name": "teal-runner-4kx2m", "uid": "1b2c3d4e-0000-4000-8000-00000000000a"}}`
	for _, node := range []string{"n-1", "n-2"} {
		v := judged(book, map[string]string{"pod.json": pod, "event.json": strings.ReplaceAll(event, "NODE", node)})
		if v.Label != rules.Evicted || v.Confidence != rules.Suspected {
			t.Errorf("an event from %s: %s (%s)", node, v.Label, v.Confidence)
		}
	}
}

// A line of the job's that is dated after its end takes nothing from what others say of that
// end; but the runtime's own times do, for then the runner lived on.
func TestTimesThatAJobPrints(t *testing.T) {
	book := loadBook(t)
	files := map[string]string{
		"node.log": "2026-03-01T10:00:00+00:00 n-1 kubelet[812]: I0301 10:00:00.000000     812 kubelet.go:2405] " +
			`"SyncLoop ADD" source="api" pods=["ci/teal-runner-4kx2m"]` + "\n" +
			`2026-03-01T10:00:01+00:00 n-1 containerd[900]: time="2026-03-01T10:00:01Z" level=info ` +
			`msg="RunPodSandbox for &PodSandboxMetadata{Name:teal-runner-4kx2m,` +
			`Uid:1b2c3d4e-0000-4000-8000-00000000000a,Namespace:ci,` +
			`Attempt:0,} returns sandbox id \"` + strings.Repeat("5a", 32) + `\""` + "\n" +
			"2026-03-01T10:05:00+00:00 n-1 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x," +
			"mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-pod1b2c3d4e_0000_4000_8000_00000000000a.slice," +
			"task_memcg=/kubepods.slice/kubepods-pod1b2c3d4e_0000_4000_8000_00000000000a.slice/cri-containerd-" +
			strings.Repeat("c1", 32) + ".scope,task=Runner.Listener,pid=4711,uid=1001\n" +
			"2026-03-01T10:05:01+00:00 n-1 kubelet[812]: I0301 10:05:01.000000     812 generic.go:356] " +
			`"Generic (PLEG): container finished" podID="1b2c3d4e-0000-4000-8000-00000000000a" containerID="` +
			strings.Repeat("c1", 32) + `" exitCode=137` + "\n",
	}
	before := judged(book, files)
	files["teal-runner-4kx2m.log"] = "√ Connected to GitHub\n\nCurrent runner version: '2.331.0'\n" +
		"2026-03-01 10:00:02Z: Listening for Jobs\n2026-03-01 10:00:20Z: Running job: build\n" +
		"2026-03-01 10:20:00Z: Job build completed with result: Succeeded\n"
	if after := judged(book, files); before.Label != rules.CgroupOOM || after.Label != before.Label ||
		after.Confidence != before.Confidence {
		t.Errorf("%s (%s) became %s (%s)", before.Label, before.Confidence, after.Label, after.Confidence)
	}
}

// What ends a pod from without and came after the runner's own end, or hours before it,
// confirms nothing of that end.
func TestWhatCameAfterTheEnd(t *testing.T) {
	book := loadBook(t)
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "teal-runner-4kx2m", "namespace": "ci",
		"uid": "1b2c3d4e-0000-4000-8000-00000000000a"}, "spec": {"nodeName": "n-1", "containers":
		[{"name": "runner"}, {"name": "dind"}]}, "status": {"phase": "Failed"REASON, "conditions": [CONDITION],
		"containerStatuses": [
		{"name": "runner", "state": {"terminated": {"exitCode": CODE, "reason": "WHY",
		"startedAt": "2026-03-01T08:00:00Z", "finishedAt": "2026-03-01T11:00:00Z"}}},
		{"name": "dind", "state": {"terminated": {"exitCode": 137, "reason": "Error",
		"startedAt": "2026-03-01T08:00:00Z", "finishedAt": "2026-03-01T11:00:10Z"}}}]}}`
	target := func(reason, at string) string {
		return `{"type": "DisruptionTarget", "status": "True", "reason": "` + reason +
			`", "lastTransitionTime": "2026-03-01T` + at +
			`Z", "message": "Pod was terminated in response to imminent node shutdown."}`
	}
	tried := 0
	for what, c := range map[string][2]string{
		"drained after":        {"", target("EvictionByEvictionAPI", "11:00:09")},
		"drained hours before": {"", target("EvictionByEvictionAPI", "08:10:00")},
		"given up after":       {"", target("DeletionByTaintManager", "11:00:09")},
		"collected after":      {"", target("DeletionByPodGC", "11:00:09")},
		"shut down after": {`, "reason": "Terminated", "message": "node is shutting down"`,
			target("TerminationByKubelet", "11:00:09")},
		"its deadline after":     {`, "reason": "DeadlineExceeded", "message": "Pod was active too long"`, ""},
		"evicted after":          {`, "reason": "Evicted", "message": "The node was low on resource: memory."`, ""},
		"evicted and told after": {`, "reason": "Evicted"`, target("TerminationByKubelet", "11:00:09")},
	} {
		for code, why := range map[string]string{"0": "Completed", "1": "Error", "139": "Error"} {
			text := strings.NewReplacer("REASON", c[0], "CONDITION", c[1], "CODE", code, "WHY", why).Replace(pod)
			v := judged(book, map[string]string{"pod.json": text})
			if tried++; v.Exit.Code == nil {
				t.Errorf("%s: its end was not read", what)
			}
			if v.Confidence == rules.Confirmed && v.Label != rules.Completed && v.Label != rules.RunnerCrash {
				t.Errorf("%s, exit %s: %s (%s) by %s", what, code, v.Label, v.Confidence, v.Rule)
			}
		}
	}
	if tried < 24 {
		t.Error("few were tried")
	}
}
