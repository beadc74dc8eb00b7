package agent

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/rules/book"
	"coroner/rules/signal"
)

// tellSecrets gives the agent a secret of every kind, in recognised lines and in last ones,
// and a private key line by line beside another runner's last words.
func tellSecrets(a *Agent) {
	runner := ingest.Entry{At: now, Clock: ingest.WallClock, Source: ingest.Runner, Node: "n1", Namespace: "ci",
		Pod: "p", PodUID: "u", Container: "runner"}
	var told, last []ingest.Entry
	for _, s := range fixtures.Secrets() {
		recognised, word := runner, runner
		recognised.Text, word.Text = "2026-09-01 12:00:00Z: Running job: "+s.Line(), "doing "+s.Line()
		told, last = append(told, recognised), append(last, word)
	}
	for _, text := range []string{"-----BEGIN PRIVATE KEY-----", fixtures.Filler(64, fixtures.Letters),
		fixtures.Filler(20, fixtures.Letters)} {
		e := runner
		e.Text = text
		last = append(last, e)
	}
	other := runner
	other.Pod, other.PodUID, other.Text = "q", "v", fixtures.Filler(30, fixtures.Hex)
	last = append(last, other)
	kernel := line(ingest.Kernel, strings.Replace(oom, "(x)", "(password:)", 1))
	_ = a.takeJournal(journal.Batch{Entries: []ingest.Entry{kernel}, Lines: 1, Cursor: "c1", At: now, Reached: now})
	_ = a.takePods(podlog.Batch{Entries: told, LastLines: last, Lines: len(told), Reached: now})
}

// No secret gets into the agent's spool, nor over the wire.
func TestNoSecretLeavesTheAgent(t *testing.T) {
	dir := t.TempDir()
	a := newTestAgent(t, dir, "http://127.0.0.1:1", 1<<20)
	tellSecrets(a)
	a.flushOnce(context.Background(), true)
	spooled := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			spooled += string(data)
		}
		return err
	})
	if err != nil || spooled == "" {
		t.Fatalf("%d bytes are spooled: %v", len(spooled), err)
	}
	s := newServer(t)
	b := newTestAgent(t, dir, s.URL, 1<<20)
	sendUntil(t, b, "an empty spool", b.empty)
	got := strings.Join(s.texts(), "\n")
	for kind, secret := range fixtures.Secrets() {
		if strings.Contains(spooled+got, secret.Value) || !strings.Contains(got, "[redacted:"+kind+"]") {
			t.Errorf("a %s leaves the agent", kind)
		}
	}
	if strings.Contains(got, "\n"+fixtures.Filler(20, fixtures.Letters)+"\n") || !strings.Contains(got,
		fixtures.Filler(30, fixtures.Hex)) {
		t.Errorf("a key goes, and what another stream says stays:\n%s", got)
	}
	if !strings.Contains(got, "(password:) total-vm") {
		t.Errorf("a process hides what the kernel says:\n%s", got)
	}
}

// An agent of a server that knows no secrets takes out what it knows itself.
func TestAnOldRulebookHidesNoSecret(t *testing.T) {
	own := "signals:\n  - {name: a.word, source: runner, match: 'some word'}\n"
	old, err := signal.Load(fstest.MapFS{"old.yaml": {Data: []byte(own)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*signal.Book{old, must(signal.Load(fs.FS(book.Files)))} {
		a := newTestAgent(t, t.TempDir(), "", 1<<20)
		if err := a.rulebook.adoptSource(b.Source()); err != nil {
			t.Fatal(err)
		}
		e := ingest.Entry{At: time.Now(), Source: ingest.Runner, Text: "some word of GH_TOKEN=swordfish"}
		if a.rulebook.inForce.Load().Redact(&e); e.Text != "some word of GH_TOKEN=[redacted:token]" {
			t.Errorf("%s", e.Text)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
