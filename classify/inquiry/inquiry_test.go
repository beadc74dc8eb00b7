package inquiry

import (
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/github"
	"coroner/rules"
	"coroner/rules/book"
)

// TestQuestion: which repository and run GitHub is asked about only those
// records say that a job cannot write, and only about this runner.
func TestQuestion(t *testing.T) {
	rulebook, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	died := time.Date(2026, 10, 1, 9, 20, 0, 0, time.UTC)
	r := &ledger.Record{Case: "c1", Verdict: rules.Verdict{Cluster: "east",
		Runner: "mill-runner-1", Namespace: "ci", PodUID: "u1", DiedAt: &died}}
	listener := func(trust ingest.Trust, source ingest.Source, runner, repo, run string) ingest.Entry {
		return ingest.Entry{Source: source, Trust: trust, Namespace: "arc-systems", Pod: "mill-listener",
			Text: "Updating job info for the runner",
			Fields: map[string]string{
				"msg": "Updating job info for the runner", "runnerName": runner, "ownerName": "mills", "repoName": repo,
				"workflowRunId": run, "jobId": "beb2b7e7-3d59-42d9-a5c7-f2aa433c1653",
			}}
	}
	object := ingest.Entry{Source: ingest.Kube, Trust: ingest.Attested, Namespace: "ci", Pod: "mill-runner-1",
		Text: "ephemeral runner",
		Fields: map[string]string{
			"msg": "ephemeral runner", "job_repository": "mills/flour", "workflow_run_id": "36180041",
		}}
	spec := ingest.Entry{Source: ingest.Kube, Trust: ingest.Attested, Namespace: "ci", Pod: "mill-runner-1",
		Text:   "pod spec",
		Fields: map[string]string{"msg": "pod spec", "owner": "EphemeralRunner/mill-runner-1", "containers": "runner"}}
	other := object
	other.Pod = "mill-runner-2"
	for _, c := range []struct {
		name      string
		entries   []ingest.Entry
		repo, run string
	}{
		{
			"the listener's word",
			[]ingest.Entry{spec, listener(ingest.Attested, ingest.Listener, "mill-runner-1", "flour", "7")},
			"mills/flour", "7",
		},
		{"the runner's object", []ingest.Entry{object, spec}, "mills/flour", "36180041"},
		{
			"another runner's job",
			[]ingest.Entry{listener(ingest.Attested, ingest.Listener, "mill-runner-11", "flour", "7"), other}, "", "",
		},
		{"a claim", []ingest.Entry{listener(ingest.Claimed, ingest.Listener, "mill-runner-1", "secrets", "7")}, "", ""},
		{
			"what the job printed",
			[]ingest.Entry{
				listener(ingest.Attested, ingest.Runner, "mill-runner-1", "secrets", "7"),
				listener(ingest.Attested, ingest.Job, "mill-runner-1", "secrets", "7"),
			},
			"", "",
		},
	} {
		q := question(r, c.entries, rulebook)
		if q.Repository != c.repo || q.Run != c.run || q.Asks() != (c.repo != "") {
			t.Errorf("%s: asks about %q run %q (%v), want %q %q", c.name, q.Repository, q.Run, q.Asks(), c.repo, c.run)
		}
		if q.Cluster != "east" {
			t.Errorf("%s: what GitHub answers would be filed under cluster %q", c.name, q.Cluster)
		}
		if want := (github.Question{
			Case:      "c1",
			Runner:    "mill-runner-1",
			Namespace: "ci",
			Pod:       "mill-runner-1",
			PodUID:    "u1",
			Died:      died,
		}); q.Case != want.Case || q.Runner != want.Runner || q.PodUID != want.PodUID || !q.Died.Equal(died) {
			t.Errorf("%s: %+v", c.name, q)
		}
	}
}
