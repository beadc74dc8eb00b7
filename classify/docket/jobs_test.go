package docket

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// job is what GitHub's webhook says of a job that was queued at a time: it is queued, or a
// runner took it now.
func (w *world) job(id int, queued time.Time, status, pool string) ingest.Entry {
	e := w.entry(ingest.GitHub, "github job")
	e.Node, e.Doc = "", "github-webhook"
	if status == "queued" {
		e.At = queued
	}
	e.Fields = map[string]string{"msg": "github job", "status": status, "job_id": fmt.Sprint(id), "name": "build",
		"created_at": queued.Format(time.RFC3339), "labels": pool, "repository": "mills/flour"}
	e.Text += fmt.Sprintf(" status=%s job_id=%d", status, id)
	return e
}

// jobs are the verdicts on jobs, the latest recorded last.
func (w *world) jobs() (out []string) {
	w.t.Helper()
	kind := casefile.OfJob
	q := ledger.Query{Standing: ledger.Standing{Kind: &kind}, Limit: 100}
	records, err := w.ledger.Verdicts(context.Background(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range slices.Backward(records) {
		v := &r.Verdict
		out = append(out, fmt.Sprintf("%s of %s %s %s %d", v.Job.ID, v.Pool, v.Label, v.State, v.Revision))
	}
	return out
}

func (w *world) wantJobs(what string, want ...string) {
	w.t.Helper()
	if got := w.jobs(); !slices.Equal(got, want) {
		w.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// A job that no runner takes is stranded a minute after its time is up, not before, and
// no longer once a runner takes it. A server that is started anew in between goes on.
func TestJobIsStranded(t *testing.T) {
	w := newWorld(t, Options{})
	queued := w.clock.at
	w.tell(w.job(41, queued, "queued", "heron"), w.job(42, queued, "queued", "heron"))
	w.pass(time.Minute)
	w.tell(w.job(42, queued, "in_progress", "heron"))
	w.pass(3*time.Minute + 50*time.Second)
	w.due()
	w.wantJobs("five minutes are not over")
	w.restart()
	w.pass(time.Minute)
	w.due()
	w.wantJobs("they are", "41 of heron stranded open 1")
	w.pass(time.Hour)
	w.due()
	w.wantJobs("it is said once", "41 of heron stranded open 1")
	w.tell(w.job(41, queued, "in_progress", "heron"))
	w.pass(time.Minute)
	w.due()
	w.wantJobs("a runner took it", "41 of heron stranded resolved 2")
	found, err := w.ledger.Verdicts(context.Background(), ledger.Query{Job: "41", Limit: 10})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	v := found[0].Verdict
	if !v.Since.Equal(queued) || v.Job.Name != "build" || v.Job.Repository != "mills/flour" ||
		v.Confidence != rules.Probable {
		t.Errorf("%+v", v)
	}
}

// What is usual is learned of each pool: one whose runners come late is not accused as soon
// as one whose runners are there at once, and nobody waits longer than the most.
func TestUsualWaitIsThePools(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 40 {
		at := w.clock.at
		w.tell(w.job(100+i, at.Add(-20*time.Minute), "in_progress", "slow"),
			w.job(200+i, at.Add(-4*time.Hour), "in_progress", "slowest"),
			w.job(300+i, at.Add(-10*time.Second), "in_progress", "quick"))
		w.pass(time.Second)
	}
	queued := w.clock.at
	for i, pool := range []string{"quick", "slow", "slowest", "unknown"} {
		w.tell(w.job(i+1, queued, "queued", pool))
	}
	for _, tt := range []struct {
		after time.Duration
		want  []string
	}{
		{4 * time.Minute, nil},
		{6 * time.Minute, []string{"1 of quick stranded open 1", "4 of unknown stranded open 1"}},
		{21 * time.Minute, []string{"1 of quick stranded open 1", "4 of unknown stranded open 1",
			"2 of slow stranded open 1"}},
		{61 * time.Minute, []string{"1 of quick stranded open 1", "4 of unknown stranded open 1",
			"2 of slow stranded open 1", "3 of slowest stranded open 1"}},
	} {
		w.clock.at = queued.Add(tt.after)
		w.due()
		got := w.jobs()
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("after %s: %q, want %q", tt.after, got, tt.want)
		}
	}
}

// What is heard of a job late does not make it stranded: it was taken before anybody
// judged it, in whatever order the deliveries came.
func TestTakenJobIsNotStranded(t *testing.T) {
	w := newWorld(t, Options{})
	queued := w.clock.at
	w.pass(10 * time.Minute)
	w.tell(w.job(41, queued, "completed", "heron"))
	w.tell(w.job(41, queued, "queued", "heron"))
	w.tell(w.job(42, queued, "queued", "heron"))
	w.tell(w.job(42, queued, "in_progress", "heron"))
	for range 10 {
		w.pass(time.Minute)
		w.due()
	}
	w.wantJobs("both were taken")
}

// claimed is a controller's word that a job was given to the runner.
func (w *world) claimed(job int, runner string) ingest.Entry {
	const line = "%s\tINFO\tqueue\tJob claimed\t{\"job\": \"%d\", \"runner\": %q}"
	return w.entry(ingest.Controller, fmt.Sprintf(line, w.clock.at.Format(time.RFC3339), job, runner))
}

// neverPulled tells of a runner whose image cannot be pulled, until its time is up.
func (w *world) neverPulled() {
	w.tell(w.watched(pod, "pod spec", "containers=runner node=n1 pool=heron")...)
	for range 4 {
		w.tell(w.watched(pod, "container waiting", "container=runner reason=ImagePullBackOff")...)
		w.tell(w.watch())
		w.pass(time.Minute)
		w.due()
	}
}

// verdictOf is the latest verdict on a job.
func (w *world) verdictOf(job string) rules.Verdict {
	w.t.Helper()
	found, err := w.ledger.Verdicts(context.Background(), ledger.Query{Job: job, Limit: 10})
	for _, r := range found {
		if r.Verdict.Kind == casefile.OfJob {
			return r.Verdict
		}
	}
	w.t.Fatalf("no verdict on job %s: %v, %v", job, found, err)
	return rules.Verdict{}
}

// A job that was given to a runner which never came is stranded as soon as the runner has its
// verdict, and names it; another runner that takes the job ends that.
func TestJobNamesItsRunner(t *testing.T) {
	w := newWorld(t, Options{})
	queued := w.clock.at
	w.tell(w.job(41, queued, "queued", "heron"), w.job(42, queued, "queued", "heron"))
	w.tell(w.claimed(41, pod))
	w.neverPulled()
	w.wantJobs("its runner never came", "41 of heron stranded open 1")
	r := w.verdictOf("41").RunnerVerdict
	if r == nil || r.Runner != pod || r.Label != rules.ImagePullFailure || r.Namespace != "ci" || r.PodUID == "" {
		t.Fatalf("its runner: %+v", r)
	}
	w.restart()
	w.pass(5 * time.Minute)
	w.due()
	w.wantJobs("nobody takes the other", "41 of heron stranded open 1", "42 of heron stranded open 1")
	if r := w.verdictOf("42").RunnerVerdict; r != nil {
		t.Errorf("another job's runner: %+v", r)
	}
	taken := w.job(41, queued, "in_progress", "heron")
	taken.Fields["runner_name"] = "heron-x7k2m-runner-aq2wz"
	w.tell(taken)
	w.pass(time.Minute)
	w.due()
	w.wantJobs("another took it", "42 of heron stranded open 1", "41 of heron stranded resolved 2")
}

// Of a job that waits, and whose runner gets its verdict later, a revision names that. They are
// tied by the run and the job's name in it, as an EphemeralRunner has them.
func TestStrandedJobLearnsOfItsRunner(t *testing.T) {
	w := newWorld(t, Options{})
	queued := w.clock.at
	job := w.job(41, queued, "queued", "heron")
	job.Fields["run_id"] = "7001"
	other := w.job(42, queued, "queued", "heron")
	other.Fields["run_id"] = "7002"
	w.tell(job, other)
	w.pass(7 * time.Minute)
	w.due()
	if got := w.jobs(); len(got) != 2 {
		t.Fatalf("nobody took them: %q", got)
	}
	const given = "phase=Pending workflow_run_id=7001 job_display_name=build pool=heron"
	w.tell(w.watched(pod, "ephemeral runner", given)...)
	w.neverPulled()
	w.wantJobs("one's runner never came", "42 of heron stranded open 1", "41 of heron stranded open 2")
	if v := w.verdictOf("41"); v.RunnerVerdict == nil || v.RunnerVerdict.Runner != pod || v.Rule != "stranded-queued" {
		t.Errorf("%+v by %s", v.RunnerVerdict, v.Rule)
	}
}

// A runner that died at its work strands no job, and one that ended well says nothing.
func TestRunnerAtWorkStrandsNoJob(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.claimed(41, pod))
	w.tell(w.born()...)
	w.pass(time.Minute)
	w.tell(append(w.died(137), w.oom())...)
	w.pass(2 * time.Minute)
	w.due()
	w.want("the runner", pod+" cgroup-OOM 1")
	w.pass(10 * time.Minute)
	w.due()
	w.wantJobs("its job began")
}

// A job that a pool's listener tells of is stranded within a minute after its time, where the
// listener names no runner for it, and no longer once it does. How long jobs of the pool
// usually wait is learned from the listener, too.
func TestAssignedJobIsStranded(t *testing.T) {
	for _, id := range []string{"7", `"0f8fad5b-d9cb-469f-a165-70867728950e"`} {
		w := newWorld(t, Options{})
		assigned := func(id string) { w.tell(w.listener("Job assigned message received", `{"jobId": `+id+`}`)) }
		started := func(id, key string) {
			w.tell(w.listener("Job started message received.", `{"`+key+`": `+id+`, "RunnerId": 3}`))
		}
		key, name := "RequestId", "heron:7"
		if id != "7" {
			key, name = "JobID", strings.Trim(id, `"`)
		}
		assigned(id)
		assigned("8")
		assigned("0") // says nothing of which job it is
		w.pass(4*time.Minute + 50*time.Second)
		started("8", "RequestId")
		w.due()
		w.wantJobs("five minutes are not over")
		w.restart()
		w.pass(time.Minute)
		w.due()
		w.wantJobs("they are", name+" of heron stranded open 1")
		if v := w.verdictOf(name); v.Confidence != rules.Suspected || v.Rule != "stranded-assigned" {
			t.Errorf("%s by %s", v.Confidence, v.Rule)
		}
		started(id, key)
		w.pass(time.Minute)
		w.due()
		w.wantJobs("a runner got it", name+" of heron stranded resolved 2")
	}
}

// Nineteen of twenty of a pool's jobs had to wait eight minutes, so the next one may, too.
func TestUsualWaitIsLearnedFromTheListener(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 25 {
		w.tell(w.listener("Job assigned message received", fmt.Sprintf(`{"jobId": %d}`, 100+i)))
	}
	w.pass(8 * time.Minute)
	for i := range 25 {
		w.tell(w.listener("Job started message received.", fmt.Sprintf(`{"RequestId": %d, "RunnerId": 3}`, 100+i)))
	}
	w.due()
	w.pass(time.Minute)
	w.due()
	w.tell(w.listener("Job assigned message received", `{"jobId": 7}`))
	w.pass(7 * time.Minute)
	w.due()
	w.wantJobs("it may wait for eight")
	w.pass(2 * time.Minute)
	w.due()
	w.wantJobs("it may not wait for nine", "heron:7 of heron stranded open 1")
}

// A job that was cancelled while it waited is not stranded.
func TestCancelledJobIsNotStranded(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.listener("Job assigned message received", `{"jobId": 7}`))
	w.pass(2 * time.Minute)
	w.tell(w.listener("Job completed message received.", `{"RequestId": 7, "Result": "canceled", "RunnerId": 0}`))
	for range 10 {
		w.pass(time.Minute)
		w.due()
	}
	w.wantJobs("it was cancelled")
}

// An EphemeralRunner has the number of its job. Where its pod never came up, the job is stranded
// until another runner gets it.
func TestEphemeralRunnersJobIsStranded(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.watched(pod, "ephemeral runner", "phase=Pending job_request_id=7 pool=heron")...)
	w.tell(w.listener("Job assigned message received", `{"jobId": 7}`))
	w.neverPulled()
	w.wantJobs("its runner never came", "heron:7 of heron stranded open 1")
	v := w.verdictOf("heron:7")
	if v.RunnerVerdict == nil || v.RunnerVerdict.Runner != pod || v.Rule != "stranded-runner" {
		t.Errorf("%+v by %s", v.RunnerVerdict, v.Rule)
	}
	w.tell(w.listener("Updating job info for the runner",
		`{"runnerName": "heron-x7k2m-runner-aq2wz", "requestId": 7, "workflowRunId": 1, "jobDisplayName": "build"}`))
	w.pass(time.Minute)
	w.due()
	w.wantJobs("another got it", "heron:7 of heron stranded resolved 2")
}
