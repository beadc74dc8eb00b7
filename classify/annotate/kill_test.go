package annotate

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/fixtures/githubapi"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/ingest/workflow"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// The environment in which this test is the program that is killed.
const (
	killedLedger = "CORONER_TEST_KILLED_LEDGER"
	killedGitHub = "CORONER_TEST_KILLED_GITHUB"
	killedMode   = "CORONER_TEST_KILLED_MODE"
)

// annotateOnce does what the server does with a ledger and a GitHub, once.
func annotateOnce(t *testing.T, path, address string, mode Mode) {
	t.Helper()
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	loop := &deliver.Loop{Receiver: "github", List: l.Deliveries("github"), Send: senderOf(t, l, address, mode),
		Log: zerolog.Nop(), Now: time.Now, Metrics: deliver.NewMetrics(prometheus.NewRegistry())}
	if err := loop.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// These stand for GitLab among the modes, by what is made while it is killed: a comment on a commit,
// one on a merge request, a commit status.
const (
	onLabCommit Mode = "/discussions"
	onLabMerge  Mode = "/notes"
	labStatuses Mode = "/statuses/"
)

func atGitLab(mode Mode) bool { return strings.HasPrefix(string(mode), "/") }

func senderOf(t *testing.T, l *ledger.Ledger, address string, mode Mode) deliver.Send {
	if atGitLab(mode) {
		return (&GitLab{Ledger: l, Book: shippedBook(t), Scope: Groups{"acme"}, API: forge.New(forge.Options{
			Name: "GitLab", URL: address + "/api/v4", HTTP: &http.Client{}, Now: time.Now, Prefix: "RateLimit-",
			Token: func() (string, error) { return "glpat-7", nil }})}).Send
	}
	return (&Annotator{Mode: mode, GitHub: githubapi.ClientOf(address, time.Now), Ledger: l,
		Scope: Scope{"o/*"}, Book: shippedBook(t), Log: zerolog.Nop(),
		Locate: func(_ context.Context, r *ledger.Record) (github.Question, error) {
			return github.Question{Repository: "o/r", Run: "8", Runner: r.Verdict.Runner, Died: *r.Verdict.DiedAt}, nil
		}}).Send
}

// fake is a forge that a test asks what was made there.
type fake interface {
	WhenMade(func())
	Said() int
}

// newFake is one that has a job under way, and its address.
func newFake(t *testing.T, mode Mode) (f fake, address string) {
	t.Helper()
	began := time.Now().Add(-time.Hour)
	if !atGitLab(mode) {
		hub := githubapi.New(t, time.Now)
		job := githubapi.Lost(7, "amber", began)
		job.Conclusion, job.Completed = "", time.Time{}
		hub.Jobs, hub.Pulls = []workflow.Job{job}, []githubapi.Pull{{Number: 12, State: "open"}}
		return hub, hub.URL
	}
	lab := &fakeGitLab{t: t, notes: map[string][]note{}, hookAt: string(mode),
		job: fmt.Sprintf(`"status":"running","started_at":%q`, began.Format(time.RFC3339))}
	if mode == onLabMerge {
		lab.requests = []map[string]any{{"iid": 12, "state": "opened", "target_project_id": 42}}
	}
	server := httptest.NewServer(lab)
	t.Cleanup(server.Close)
	return lab, server.URL
}

// A program that is killed with SIGKILL while GitHub or GitLab answers makes no second annotation after
// its start.
func TestKill9(t *testing.T) {
	if path := os.Getenv(killedLedger); path != "" {
		annotateOnce(t, path, os.Getenv(killedGitHub), Mode(os.Getenv(killedMode)))
		return
	}
	for _, mode := range []Mode{Check, Status, Comment, onLabCommit, onLabMerge, labStatuses} {
		path := filepath.Join(t.TempDir(), "l.db")
		f, address := newFake(t, mode)
		runner, want := "amber", 1
		if atGitLab(mode) {
			runner, want = labPod, 2 // a comment and a status
		}
		annotateOnce(t, path, address, mode) // so that the receiver is known
		l, err := ledger.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		died := time.Now().Add(-time.Minute)
		v := &rules.Verdict{Runner: runner, Namespace: "arc", Label: rules.HostTeardown, Revision: 1, DiedAt: &died,
			Job: rules.Job{ID: "7001"}}
		if err := l.Write(t.Context(), time.Now(), func(tx *ledger.Tx) error {
			return tx.AddVerdict("c1", v, time.Now(), false)
		}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill9$")
		cmd.Env = append(os.Environ(), killedLedger+"="+path, killedGitHub+"="+address, killedMode+"="+string(mode))
		started := make(chan *os.Process, 1)
		f.WhenMade(func() { _ = (<-started).Kill() })
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started <- cmd.Process
		err = cmd.Wait()
		if end, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGKILL {
			t.Fatalf("%s: it was not killed: %v", mode, err)
		}
		f.WhenMade(func() { t.Errorf("%s: a second annotation", mode) })
		annotateOnce(t, path, address, mode)
		if n := f.Said(); n != want {
			t.Errorf("%s: %d annotations", mode, n)
		}
	}
}
