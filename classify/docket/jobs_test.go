package docket

import (
	"context"
	"fmt"
	"slices"
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
