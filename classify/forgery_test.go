package classify_test

import (
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// forged are lines that a job prints to be taken for somebody else, as good as
// they get.
func forged(pod, uid string) string {
	id := strings.Repeat("ab", 32)
	path := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(
		uid,
		"-",
		"_",
	) + ".slice"
	return strings.Join([]string{
		"[  100.000001] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" +
			path + ",task_memcg=" + path + "/cri-containerd-" + id + ".scope,task=node,pid=42,uid=0",
		"2026-03-01T10:00:00+00:00 host-1 kernel: Memory cgroup out of memory: Killed process 42 (node) " +
			"total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
		"Mar  1 10:00:00 host-1 kernel: Kernel panic - not syncing: forged",
		`{"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","_HOSTNAME":"host-1",` +
			`"__REALTIME_TIMESTAMP":"1772359200000000","_BOOT_ID":"00000000000000000000000000000001",` +
			`"MESSAGE":"Kernel panic - not syncing: forged"}`,
		`{"_TRANSPORT":"kernel","_HOSTNAME":"host-1","__REALTIME_TIMESTAMP":"1772359200000000",` +
			`"MESSAGE":"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=` +
			path + `,task_memcg=` + path + `/x,task=node,pid=42,uid=0"}`,
		"2026-03-01T10:00:00Z\tINFO\trunner pod terminated\t{\"pod\": \"" + pod +
			"\", \"exitCode\": 137, \"signal\": 0, \"reason\": \"OOMKilled\"}",
		`I0301 10:00:00.000000 1 kubelet.go:1] "Eviction manager: pod is evicted successfully" pod="ci/` + pod + `"`,
		`Mar  1 10:00:00 host-1 kubelet[1]: I0301 10:00:00.000000 1 kubelet.go:1] "SyncLoop DELETE" source="api" ` +
			`pods=["ci/` + pod + `"]`,
		`time="2026-03-01T10:00:00Z" level=warning msg="sandbox stopped unexpectedly" sandbox=` + id +
			` source=containerd-kata-shim-v2`,
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete",` +
			`"verb":"delete","user":{"username":"nora"},"objectRef":{"resource":"pods","namespace":"ci","name":"` +
			pod + `"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T10:00:00Z"}`,
		"[RUNNER 2026-03-01 10:00:00Z INFO JobDispatcher] Job cancellation request " +
			"00000000-0000-0000-0000-000000000001 received, cancellation timeout 5 minutes.",
		"[RUNNER 2026-03-01 10:00:00Z INFO Listener] Runner execution has finished with return code 0",
		"2026-03-01T10:00:00.000000000Z stdout F Mar  1 10:00:00 host-1 kernel: Kernel panic - not syncing: forged",
		"[pod/other/controller] 2026-03-01T10:00:00Z\tINFO\trunner pod terminated\t{\"pod\": \"" + pod +
			"\", \"exitCode\": 137, \"reason\": \"OOMKilled\"}",
		"  reason: OOMKilled", "    exitCode: 137", "Status: Failed", "Reason: Evicted",
		"ci   " + pod + "   0/1   OOMKilled   0   3m",
		"Warning  Evicted  1s  kubelet  The node was low on resource: memory.",
	}, "\n") + "\n"
}

// A job that prints everybody else's best lines never gets a confirmed verdict
// out of them: what was confirmed stays, and nothing else becomes confirmed.
func TestForgedLinesConfirmNothing(t *testing.T) {
	b := loadBook(t)
	for _, in := range incidents(t) {
		for i := range in.Files {
			if !jobOutput(in.Files[i]) {
				continue
			}
			forgedIn := in
			forgedIn.Files = slices.Clone(in.Files)
			forgedIn.Files[i].Data = slices.Concat(
				in.Files[i].Data,
				[]byte(asIn(in.Files[i], forged(in.Want.Runner, "0a0b0c0d-1111-2222-3333-444455556666"))),
			)
			for _, v := range replayAll(b, forgedIn) {
				if v.Confidence == rules.Confirmed && string(v.Label) != in.Want.Verdict &&
					!confirmedBefore(b, in, v) {
					t.Errorf(
						"%s: forged lines in %s give %s, confirmed by %s",
						in.Name,
						in.Files[i].Name,
						v.Label,
						v.Rule,
					)
				}
			}
		}
	}
}

func replayAll(b *rules.Rulebook, in fixtures.Incident) []rules.Verdict {
	return classify.Replay(
		bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil),
		b,
		classify.Options{Runner: in.Want.Runner},
	)
}

// confirmedBefore says whether the same runner had that verdict without the
// forged lines.
func confirmedBefore(b *rules.Rulebook, in fixtures.Incident, v rules.Verdict) bool {
	return slices.ContainsFunc(replayAll(b, in), func(w rules.Verdict) bool {
		return w.Runner == v.Runner && w.Label == v.Label && w.Confidence == v.Confidence
	})
}

func jobOutput(f txtar.File) bool {
	s := string(f.Data)
	return strings.Contains(s, "[RUNNER ") || strings.Contains(s, "[WORKER ") || strings.Contains(s, "##[") ||
		strings.Contains(s, "Listening for Jobs") || strings.Contains(f.Name, "/runner/")
}

// asIn puts lines in the envelope that the file's own lines have.
func asIn(f txtar.File, lines string) string {
	if !strings.Contains(f.Name, "pods/") {
		return lines
	}
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		b.WriteString("2026-03-01T10:00:00.000000000Z stdout F " + l + "\n")
	}
	return b.String()
}

// A document that is nothing but a job's forged lines confirms nothing either.
func TestForgedLinesAlone(t *testing.T) {
	b := loadBook(t)
	text := "√ Connected to GitHub\n2026-03-01 09:59:00Z: Running job: build\n" + forged(
		"amber-1",
		"0a0b0c0d-1111-2222-3333-444455556666",
	)
	for _, name := range []string{"runner.log", "pods/ci_amber-1_0a0b0c0d-1111-2222-3333-444455556666/runner/0.log",
		"job.txt", "controller.log", "audit.log"} {
		in := fixtures.Incident{Name: "forged", Story: "x", Files: []txtar.File{{Name: name, Data: []byte(text)}}}
		for _, v := range replayAll(b, in) {
			if v.Confidence == rules.Confirmed {
				t.Errorf("%s: %s is confirmed by %s", name, v.Label, v.Rule)
			}
		}
	}
}

// What a job prints between its runner's lines, in a file without envelopes, makes no case
// of the pods that it names, and does not change what is said of its own runner.
func TestRowsAmongARunnersLinesAreItsJobs(t *testing.T) {
	b := loadBook(t)
	const begins = "√ Connected to GitHub\n2026-03-01 10:00:01Z: Listening for Jobs\n2026-03-01 10:00:05Z: " +
		"Running job: e2e\n"
	const ends = "2026-03-01 10:05:05Z: Job e2e completed with result: Succeeded\n" +
		"Runner listener exit with 0 return code, stop the service, no retry needed.\nExiting runner...\n"
	rows := map[string]string{
		"lines of a node": "[ 1234.567890] Kernel panic - not syncing: Fatal exception\n" +
			"Mar  1 10:00:07 host-1 systemd-logind[1]: System is powering down.\n",
		"a table of pods": "NAME           READY   STATUS      RESTARTS   AGE\n" +
			"other-9x2lk-a1   0/1     OOMKilled   0          3m\nother-9x2lk-d3   0/1     Evicted     0          3m\n",
		"a table of events": "LAST SEEN   TYPE      REASON    OBJECT                    MESSAGE\n" +
			"3m          Warning   Evicted   pod/other-9x2lk-runner-a1b2c   The node was low on resource: memory.\n",
		"an object": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: other-9x2lk-runner-a1b2c\n  namespace: " +
			"e2e\nstatus:\n" +
			"  phase: Failed\n  reason: Evicted\n  containerStatuses:\n  - name: runner\n    state:\n      " +
			"terminated:\n" +
			"        exitCode: 137\n        reason: OOMKilled\n",
		"a kubelet's line": `Mar  1 10:00:10 host-1 kubelet[1]: I0301 10:00:10.000000 1 eviction_manager.go:1] ` +
			`"Eviction manager: pod is evicted successfully" pod="ci/other-9x2lk-runner-a1b2c"` + "\n",
	}
	for what, text := range rows {
		all := replayText(b, "job.log", begins+text+ends)
		if len(all) != 1 || all[0].Label != rules.Completed || strings.Contains(all[0].Runner, "other") {
			t.Errorf("%s: %d verdicts, the first is %s (%s) of %q", what, len(all), all[0].Label, all[0].Confidence,
				all[0].Runner)
		}
		below := replayText(b, "job.log", begins+text)
		if !slices.ContainsFunc(below, func(v rules.Verdict) bool { return v.Death() }) {
			t.Errorf("%s, which somebody may have pasted below: no death", what)
		}
		if v := replayText(b, "job.log", text+begins)[0]; strings.HasPrefix(what, "a table") &&
			(!v.Death() || v.Confidence != rules.Probable) {
			t.Errorf("%s, which no job can have printed: %s (%s)", what, v.Label, v.Confidence)
		}
		for _, v := range append(below, replayText(b, "job.log", text+ends)...) {
			if v.Death() && v.Confidence != rules.Suspected {
				t.Errorf("%s, which its job may have printed: %s (%s)", what, v.Label, v.Confidence)
			}
		}
		for _, v := range replayText(b, "job.log", begins+text+"Exiting runner...\n") {
			if v.Confidence != rules.Suspected && v.Death() || strings.Contains(v.Runner, "other") {
				t.Errorf(
					"%s, of a runner of which little is told: %s (%s) of %q",
					what,
					v.Label,
					v.Confidence,
					v.Runner,
				)
			}
		}
	}
}
