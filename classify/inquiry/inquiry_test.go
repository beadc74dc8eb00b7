package inquiry

import (
	"slices"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/github"
	"coroner/rules"
)

// TestQuestion: which repository and run GitHub is asked about only those
// records say that a job cannot write, and only about this runner.
func TestQuestion(t *testing.T) {
	rulebook := shipped.Rulebook(t)
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

// TestNamesUsedAgain: of the runs that were told of under the runner's name, it is the last from
// before the death, in whatever order the records come; another pod's or namespace's is none.
func TestNamesUsedAgain(t *testing.T) {
	rulebook := shipped.Rulebook(t)
	died := time.Date(2026, 10, 1, 9, 20, 0, 0, time.UTC)
	r := &ledger.Record{Verdict: rules.Verdict{Runner: "runner-0", Namespace: "ci", PodUID: "u1", DiedAt: &died}}
	told := func(minutes int, repository, run string) ingest.Entry {
		return ingest.Entry{At: died.Add(time.Duration(minutes) * time.Minute), Source: ingest.GitHub,
			Trust: ingest.Attested, Pod: "runner-0", Text: "github job", Fields: map[string]string{"msg": "github job",
				"status": "in_progress", "runner_name": "runner-0", "repository": repository, "run_id": run}}
	}
	object := func(namespace, uid string) ingest.Entry {
		return ingest.Entry{Source: ingest.Kube, Trust: ingest.Attested, Namespace: namespace, Pod: "runner-0",
			PodUID: uid, Text: "ephemeral runner", Fields: map[string]string{"msg": "ephemeral runner",
				"job_repository": "mills/flour", "workflow_run_id": "8"}}
	}
	before, had, late, next := told(-60, "mills/old", "5"), told(-10, "mills/flour", "8"), told(11, "mills/flour", "8"),
		told(15, "mills/next", "9")
	for name, c := range map[string]struct {
		entries         []ingest.Entry
		repository, run string
	}{
		"one before and one after":     {[]ingest.Entry{before, had, late, next}, "mills/flour", "8"},
		"only its end was told":        {[]ingest.Entry{late, next}, "mills/flour", "8"},
		"its object":                   {[]ingest.Entry{object("ci", ""), next}, "mills/flour", "8"},
		"its pod's object":             {[]ingest.Entry{object("ci", "u1")}, "mills/flour", "8"},
		"the object of the next pod":   {[]ingest.Entry{object("ci", "u2")}, "", ""},
		"the object of another's name": {[]ingest.Entry{object("other", "")}, "", ""},
	} {
		for range 2 {
			if q := question(r, c.entries, rulebook); q.Repository != c.repository || q.Run != c.run {
				t.Errorf("%s: asks about %q run %q, want %q %q", name, q.Repository, q.Run, c.repository, c.run)
			}
			slices.Reverse(c.entries)
		}
	}
}
