package classify_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"
)

// What is packed and left out changes no verdict: neither of the runner that is
// asked for nor of all that died, and not among healthy neighbours either.
func TestPackedLinesChangeNothing(t *testing.T) {
	lines, left := 0, 0
	for _, g := range gates(t) {
		noisy := slices.Concat(living(g.neighbours(240)), g.list)
		for _, in := range []struct {
			what string
			list []ingest.Entry
		}{{"alone", g.list}, {"among neighbours", noisy}} {
			for _, o := range []classify.Options{{}, {Runner: g.ask}, {Strict: true}} {
				want := classify.Replay(slices.Values(in.list), g.book, o)
				undo := classify.PackAll()
				got := classify.Replay(slices.Values(in.list), g.book, o)
				packed, omitted := classify.Packed(in.list, g.book, o)
				undo()
				lines, left = lines+packed, left+omitted
				if !reflect.DeepEqual(withoutNone(got), withoutNone(want)) {
					t.Errorf(
						"%s %s, %+v: packed %v, else %v",
						g.name,
						in.what,
						o,
						verdictsSaid(got),
						verdictsSaid(want),
					)
				}
			}
		}
	}
	t.Logf("%d lines were packed, %d of them left out", lines, left)
	if left < 10_000 {
		t.Error("hardly any line was left out: the test shows nothing")
	}
}

// What strikes one pod of a node leaves the others out: else each of a day's pods would be
// judged by itself, once for every kill on its node.
func TestPodsBesideADeathAreLeftOut(t *testing.T) {
	defer classify.PackAll()()
	const uid = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
	id, slice := strings.Repeat("c4", 32), "/kubepods.slice/kubepods-pod6f9619ff_8b86_4d01_b42d_00cf4fc964ff.slice"
	struck := map[string]ingest.Entry{
		"a kill for its own limit": {
			Source: ingest.Kernel,
			Text: "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)," +
				"cpuset=cri-containerd-" + id + ".scope,mems_allowed=0,oom_memcg=" + slice + ",task_memcg=" + slice +
				"/cri-containerd-" + id + ".scope,task=ld,pid=4711,uid=1001",
		},
		"the process that was killed": {
			Source: ingest.Kernel,
			Text: "Memory cgroup out of memory: Killed process 4711 (ld) " +
				"total-vm:9080kB, anon-rss:2240kB, file-rss:84kB, shmem-rss:0kB, UID:1 pgtables:8kB oom_score_adj:9",
		},
		"room that is made": {Source: ingest.Kubelet, Text: `I0102 03:04:06.000001     812 eviction_manager.go:376] ` +
			`"Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"`},
		"a processor that stood still": {
			Source: ingest.Kernel,
			Text:   "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [ld:4711]",
		},
		"a stop": {
			Source: ingest.Kubelet,
			Text: `I0102 03:04:06.000001     812 kuberuntime_container.go:866] "Killing container ` +
				`with a grace period" pod="ci/mill-runner-x2v9k" podUID="` + uid + `" containerName="runner" ` +
				`containerID="containerd://` + id + `" gracePeriod=30`,
		},
	}
	g := newGate(loadBook(t), incidents(t)[0])
	beside := living(g.neighbours(1200))
	for what, e := range struck {
		e.At, e.Clock, e.Trust, e.Node = beside[600].At, ingest.WallClock, ingest.Attested, g.node()
		e.Doc, e.Line = "neighbours", 5000
		lines, left := classify.Packed(append(slices.Clone(beside), e), g.book, classify.Options{})
		if lines < 250 || left < lines*95/100 {
			t.Errorf("%s: %d of %d lines about other pods are left out", what, left, lines)
		}
	}
}

// living are the lines of neighbours that do not end.
func living(neighbours []ingest.Entry) []ingest.Entry {
	return slices.DeleteFunc(neighbours, func(e ingest.Entry) bool {
		return strings.Contains(e.Text, "container finished") || strings.Contains(e.Text, "SyncLoop DELETE") ||
			strings.Contains(e.Text, "SyncLoop REMOVE")
	})
}

// withoutNone leaves out what nothing happened to; of an input in which nothing
// died one such verdict is its answer.
func withoutNone(all []rules.Verdict) []rules.Verdict {
	if len(all) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(v rules.Verdict) bool { return v.Label == rules.None })
}

func verdictsSaid(all []rules.Verdict) (out []string) {
	for _, v := range all {
		out = append(out, v.Runner+" "+said(v))
	}
	return out
}
