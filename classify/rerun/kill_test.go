package rerun

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/fixtures/githubapi"
)

// The environment in which this test is the program that is killed.
const (
	killedLedger = "CORONER_TEST_KILLED_LEDGER"
	killedGitHub = "CORONER_TEST_KILLED_GITHUB"
)

// kill has a program do what the server does, and kills it with SIGKILL while GitHub answers its
// order. The server is started again after it.
func (s *scene) kill() {
	s.t.Helper()
	if err := s.ledger.Close(); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill9$")
	cmd.Env = append(os.Environ(), killedLedger+"="+s.path, killedGitHub+"="+s.URL)
	started := make(chan *os.Process, 1)
	s.WhenMade(func() { _ = (<-started).Kill() })
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	started <- cmd.Process
	err := cmd.Wait()
	if end, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); end.Signal() != syscall.SIGKILL {
		s.t.Fatalf("it was not killed: %v", err)
	}
	s.WhenMade(nil)
	s.open()
}

func (s *scene) noted(id, want string) {
	s.t.Helper()
	note, err := s.ledger.Deliveries(Receiver).Note(s.t.Context(), id, 1)
	if err != nil || !strings.HasPrefix(note, want) || want == "" && note != "" {
		s.t.Errorf("noted of %s: %q %v, want %q; the log: %s", id, note, err, want, &s.log)
	}
}

// A program that is killed with SIGKILL between its order and the record orders nothing twice
// after its start, whether GitHub took the order, shows that late, or never had it; and in the
// end each has its record.
func TestKill9(t *testing.T) {
	if path := os.Getenv(killedLedger); path != "" {
		s := &scene{t: t, path: path, clock: died.Add(2 * time.Minute)}
		s.client = githubapi.ClientOf(os.Getenv(killedGitHub), s.now)
		s.open()
		s.flush(t.Context())
		return
	}
	const done = "rerun: all failed jobs of run 8, attempt 1"
	t.Run("taken", func(t *testing.T) {
		s := newScene(t)
		s.put("amber", nothing)
		s.kill()
		s.want(failedJobs)
		for range 3 {
			s.Attempt.Status = "completed" // the second attempt failed, too
			s.flush(t.Context())
		}
		s.want(failedJobs)
		s.noted("amber", done)
	})
	t.Run("taken, and shown late", func(t *testing.T) {
		s := newScene(t)
		s.Jobs[1] = lost(9, "birch") // of the same run
		s.Orders.Late = true
		s.put("amber", nothing)
		s.kill()
		s.put("birch", nothing)
		for range 3 {
			s.flush(t.Context())
		}
		s.want(oneJob)
		s.Orders.Late = false
		s.Show()
		for range 3 {
			s.clock = s.clock.Add(time.Minute)
			s.flush(t.Context())
		}
		s.want(oneJob)
		s.noted("amber", "rerun: job 7 of run 8, attempt 1")
		s.noted("birch", "no: the run was run again since")
	})
	t.Run("not taken", func(t *testing.T) {
		s := newScene(t)
		s.Orders.Lost = true
		s.put("amber", nothing)
		s.kill()
		s.Orders.Lost = false
		s.flush(t.Context())
		s.want()
		s.noted("amber", looked)
		s.clock = s.clock.Add(time.Minute)
		s.flush(t.Context())
		s.want(failedJobs)
		s.noted("amber", done)
	})
}
