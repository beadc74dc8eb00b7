package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/cmd/pushers"
	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// tokenFiles writes a file for each token and returns the flags that name them.
func tokenFiles(t *testing.T, of map[string]string) (flags []string) {
	t.Helper()
	dir := t.TempDir()
	for token, cluster := range of {
		file := filepath.Join(dir, token)
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if cluster != "" {
			file = cluster + "=" + file
		}
		flags = append(flags, "--push.token-file="+file)
	}
	return flags
}

// push sends entries as a node's agent of who knows a token.
func (s *liveServer) push(t *testing.T, token string, entries ...ingest.Entry) error {
	t.Helper()
	body, err := push.Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	sender := &push.Sender{URL: "http://" + s.daemon.Addr() + push.Path, Node: "node-1", Client: http.DefaultClient,
		Token: func() (string, error) { return token, nil }}
	return sender.Post(context.Background(), body)
}

// ran is what a node's agent has of a runner that works, and panicked what the
// node's kernel says a second later, before nothing more is heard.
func ran(at time.Time) []ingest.Entry {
	e := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Runner, Node: "node-1", Namespace: "ci",
		Pod: "amber-runner-1", PodUID: "0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10", Container: "runner",
		Text: at.Format("2006-01-02 15:04:05Z") + ": Running job: build"}
	return []ingest.Entry{e, reached(at)}
}

func panicked(at time.Time) []ingest.Entry {
	e := ingest.Entry{At: at.Add(time.Second), Clock: ingest.WallClock, Source: ingest.Kernel, Trust: ingest.Attested,
		Node: "node-1", Text: "Kernel panic - not syncing: Fatal exception"}
	return []ingest.Entry{e, reached(at)}
}

func reached(at time.Time) ingest.Entry {
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Agent, Trust: ingest.Attested, Node: "node-1",
		Mark: &ingest.Mark{Kind: ingest.Reached, To: at}}
}

// of gives entries a cluster.
func of(cluster string, all []ingest.Entry) []ingest.Entry {
	for i := range all {
		all[i].Cluster = cluster
	}
	return all
}

// Each token speaks for its cluster: who pushes a kernel's panic on node-1 with
// cluster a's ends nobody on the node-1 of b, whatever the label says.
func TestTokensOfClusters(t *testing.T) {
	s := serveFor(t, append(tokenFiles(t, map[string]string{"secret-a": "a", "secret-b": "b", "secret": ""}),
		"--cluster=home", "--node-silent-after=1s", "--ledger="+filepath.Join(t.TempDir(), "l.db"))...)
	defer s.stop()
	now := time.Now().UTC().Truncate(time.Second)
	if err := s.push(t, "secret-b", ran(now)...); err != nil {
		t.Fatal(err)
	}
	if err := s.push(t, "secret-a", panicked(now)...); err != nil {
		t.Fatal(err)
	}
	var later push.Later
	err := s.push(t, "secret-a", of("b", panicked(now))...)
	if !errors.As(err, &later) || later.Status != http.StatusForbidden || !strings.Contains(later.Text, `"b"`) {
		t.Errorf("cluster a's token took a record of b: %v", err)
	}
	err = s.push(t, "guessed", panicked(now)...)
	if !errors.As(err, &later) || later.Status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %v", err)
	}
	if err := s.push(t, "secret", panicked(now)...); err != nil { // of the server's own
		t.Fatal(err)
	}
	wait(t, "a verdict", func() bool { return s.verdict(t, "amber-runner-1") != "" })
	all, err := s.ledger.Verdicts(context.Background(), ledger.Query{})
	if err != nil || len(all) != 1 || all[0].Verdict.Cluster != "b" || all[0].Verdict.Label == rules.NodeCrash {
		t.Errorf("%+v %v", all, err)
	}
	const want = `
# HELP coroner_pushes_refused_total Pushes that were not taken, by reason.
# TYPE coroner_pushes_refused_total counter
coroner_pushes_refused_total{reason="cluster"} 1
coroner_pushes_refused_total{reason="credential"} 1
`
	err = testutil.GatherAndCompare(s.daemon.Registry, bytes.NewBufferString(want), "coroner_pushes_refused_total")
	if err != nil {
		t.Error(err)
	}
	struck, err := s.ledger.In("home").Wide(context.Background(), "node-1", now.Add(-time.Minute), now.Add(time.Minute))
	if err != nil || len(struck) == 0 {
		t.Errorf("what names no cluster is not the server's own: %v %v", struck, err)
	}
}

// The same by the label alone is the same cluster's, and does end the runner.
func TestPanicOnTheRunnersOwnNode(t *testing.T) {
	s := serveFor(t, "--node-silent-after=1s", "--ledger="+filepath.Join(t.TempDir(), "l.db"))
	defer s.stop()
	now := time.Now().UTC().Truncate(time.Second)
	if err := s.push(t, "", of("b", append(ran(now), panicked(now)...))...); err != nil {
		t.Fatal(err)
	}
	wait(t, "a verdict", func() bool { return s.verdict(t, "amber-runner-1") != "" })
	if got := s.verdict(t, "amber-runner-1"); !strings.HasPrefix(got, "node-crash ") {
		t.Error(got)
	}
}

// A ledger from before --cluster is that cluster's once it is given, and what its
// cases were called stays.
func TestClusterIsGivenLater(t *testing.T) {
	path := "--ledger=" + filepath.Join(t.TempDir(), "l.db")
	now := time.Now().UTC().Truncate(time.Second)
	s := serveFor(t, path, "--node-silent-after=1h")
	if err := s.push(t, "", ran(now)...); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s = serveFor(t, path, "--cluster=home", "--node-silent-after=1s")
	defer s.stop()
	if err := s.push(t, "", panicked(now)...); err != nil {
		t.Fatal(err)
	}
	id := ledger.NewCaseID("", "ci", "amber-runner-1", "0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10")
	wait(t, "a verdict of the case that was open", func() bool {
		all, err := s.ledger.Revisions(context.Background(), id)
		return err == nil && len(all) == 1 && all[0].Verdict.Cluster == "home" &&
			all[0].Verdict.Label == rules.NodeCrash
	})
}

// Mistakes in --push.token-file are told when the server starts, and a file whose
// path has a = in it is a file.
func TestPushTokenFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, token string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b, odd := file("a", "x"), file("b", "x"), file("o=dd", "y")
	for _, tt := range []struct {
		files []string
		want  string // of the error; "" is none
	}{
		{[]string{a, b}, ""},
		{[]string{odd}, ""},
		{[]string{"east=" + odd, "west=" + a, "west=" + b}, ""},
		{[]string{"east=" + a, "west=" + b}, "same token"},
		{[]string{"east=" + a, b}, "same token"},
		{[]string{"=" + a}, "want FILE or CLUSTER=FILE"},
		{[]string{"east="}, "want FILE or CLUSTER=FILE"},
		{[]string{"east=" + filepath.Join(dir, "none")}, "no such file"},
	} {
		err := (&pushers.Tokens{PushToken: tt.files}).Check()
		if tt.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.files, err, tt.want)
		}
	}
}
