package docket

import (
	"slices"
	"testing"
	"time"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
)

const helped = "heron-x7k2m-runner-aq2wz" // the runner of the incidents whose steps run in another pod

// workflow is what the incident of a runner whose steps run in another pod tells of the runner,
// and of that pod, as agents and the watch tell it: each record names its pod. It all came to
// pass before the clock's time.
func (w *world) workflow(name string) (runner, steps []ingest.Entry) {
	w.t.Helper()
	all, err := fixtures.All()
	i := slices.IndexFunc(all, func(in fixtures.Incident) bool { return in.Name == name })
	if err != nil || i < 0 {
		w.t.Fatal(name, err)
	}
	w.clock.at = time.Date(2026, 6, 3, 9, 5, 0, 0, time.UTC)
	for e := range bundle.Bytes(name+".txtar", all[i].Archive(), bundle.Options{}).Entries(nil) {
		switch {
		case e.Mark != nil: // of the whole folder
		case e.Pod == helped+"-workflow":
			steps = append(steps, e)
		default:
			if e.Source == ingest.Runner || e.Source == ingest.Job {
				e.Namespace, e.Pod, e.Container = "yard", helped, "runner"
				e.PodUID = "3f1b9d52-9a01-4d0c-8d7e-0a4a51f50012"
			}
			runner = append(runner, e)
		}
	}
	if len(steps) < 3 || len(runner) < 6 {
		w.t.Fatalf("%d records of the runner, %d of the pod of its steps", len(runner), len(steps))
	}
	return runner, steps
}

// What kills the pod in which a runner's job has its steps run is named in the runner's verdict, as
// in files, in whatever order the two are told of and wherever the server is started anew. The pod
// itself is no runner, whatever the globs fit.
func TestPodOfTheStepsIsToldOfInTheRunnersVerdict(t *testing.T) {
	for _, globs := range []ingest.PodGlobs{nil, {"yard/*"}} {
		for _, late := range []bool{false, true} {
			w := newWorld(t, Options{Runners: globs})
			runner, steps := w.workflow("child-OOM-beside~workflow")
			all := slices.Values(slices.Concat(runner, steps))
			want := classify.Replay(all, w.book, classify.Options{Runner: helped, Strict: true})[0]
			if late {
				w.tell(runner...)
				w.pass(2 * time.Minute)
				w.due()
				if v := w.verdict(helped).Verdict; v.Label == want.Label {
					t.Fatalf("%s without a word of the pod of the steps", v.Label)
				}
				w.restart()
				w.tell(steps...)
			} else {
				w.tell(steps...)
				w.tell(runner...)
			}
			w.pass(2 * time.Minute)
			w.due()
			v := w.verdict(helped).Verdict
			if v.Label != rules.ChildOOM || v.Rule != want.Rule || v.Confidence != want.Confidence ||
				v.Summary != want.Summary {
				t.Errorf("late %v: %s %s %q, the files give %s %s %q", late, v.Rule, v.Confidence, v.Summary,
					want.Rule, want.Confidence, want.Summary)
			}
			if got := w.verdicts(); len(got) != 1 {
				t.Errorf("late %v: %q", late, got)
			}
		}
	}
}

// The kernel names the pod of the steps by its UID alone, and an eviction is known as one. A pod
// of that name in another namespace, or one that was killed after the job, harmed nobody.
func TestWhatEndsThePodOfTheSteps(t *testing.T) {
	const uid = "3f1b9d52-9a01-4d0c-8d7e-0a4a51f50013"
	status := func(e ingest.Entry, reason string) ingest.Entry {
		e.At, e.Clock, e.Container = time.Date(2026, 6, 3, 9, 3, 20, 0, time.UTC), ingest.WallClock, ""
		e.Fields = map[string]string{"msg": "pod status", "phase": "Failed", "reason": reason}
		e.Text = "pod status phase=Failed reason=" + reason
		return e
	}
	for name, tt := range map[string]struct {
		change func(steps []ingest.Entry) []ingest.Entry
		want   string
	}{
		"kernel": {func(steps []ingest.Entry) []ingest.Entry {
			cg := "/kubepods/burstable/pod" + uid + "/4444444444444444444444444444444444444444444444444444444444444444"
			ended := func(e ingest.Entry) bool { return e.Fields["msg"] == "container terminated" }
			alive := slices.DeleteFunc(steps, ended)
			return append(alive, ingest.Entry{At: time.Date(2026, 6, 3, 9, 3, 19, 0, time.UTC), Clock: ingest.WallClock,
				Source: ingest.Kernel, Trust: ingest.Attested, Node: "build-3", Doc: "journal",
				Text: "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + cg +
					",task_memcg=" + cg + ",task=rustc,pid=4242,uid=0"})
		}, "child-OOM-beside"},
		"eviction": {func(steps []ingest.Entry) []ingest.Entry {
			alive := slices.DeleteFunc(steps, func(e ingest.Entry) bool {
				return e.Fields["msg"] == "container terminated" || e.Fields["msg"] == "pod status"
			})
			return append(alive, status(steps[0], "Evicted"))
		}, "unknown-beside"},
		"elsewhere": {func(steps []ingest.Entry) []ingest.Entry {
			for i := range steps {
				steps[i].Namespace = "meadow"
			}
			return steps
		}, ""},
	} {
		w := newWorld(t, Options{})
		runner, steps := w.workflow("child-OOM-beside~workflow")
		w.tell(tt.change(steps)...)
		w.tell(runner...)
		w.pass(2 * time.Minute)
		w.due()
		v := w.verdict(helped).Verdict
		beside := v.Rule == "child-OOM-beside" || v.Rule == "unknown-beside"
		if tt.want == "" && beside || tt.want != "" && v.Rule != tt.want {
			t.Errorf("%s: %s by %s: %s", name, v.Label, v.Rule, v.Summary)
		}
	}
	w := newWorld(t, Options{})
	runner, steps := w.workflow("completed-runner~job-pod-removed")
	w.tell(slices.Concat(steps, runner)...)
	w.pass(2 * time.Minute)
	w.due()
	w.want("it was removed after the job", helped+" completed 1")
}
