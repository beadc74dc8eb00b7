package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/fixtures/apiserver"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
)

// startRelay is coroner relay, until the function that it returns is called.
func startRelay(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	var c struct {
		Relay relayCmd `cmd:""`
	}
	parser, err := kong.New(&c, flagVars(":0"), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"relay", "--web.listen-address=127.0.0.1:0"}, args...)); err != nil {
		t.Fatal(err)
	}
	d := daemon.New(&c.Relay.Flags, zerolog.Nop())
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	r, err := c.Relay.open(d, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestRelay: the server has no credential for the API server; a relay tells it what that
// says. A pod that goes while no relay runs is not forgotten; two relays say nothing twice.
func TestRelay(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that coroner relay hands on what a real API server tells: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	do := func(method, path, body string) {
		t.Helper()
		if _, err := k.Do(method, path, body); err != nil {
			t.Fatal(err)
		}
	}
	const ns = "/api/v1/namespaces/ci"
	do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ci"}}`)
	for _, name := range []string{"mill-runner-1", "mill-runner-2", "mill-runner-3"} {
		do("POST", ns+"/pods", `{"metadata":{"name":"`+name+
			`"},"spec":{"nodeName":"quern-1","containers":[{"name":"runner","image":"x"}]}}`)
		do("PATCH", ns+"/pods/"+name+"/status", `{"status":{"phase":"Running","containerStatuses":[{"name":"runner",`+
			`"image":"x","imageID":"","ready":true,"restartCount":0,"state":{"running":{"startedAt":"`+
			time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)+`"}}}]}}`)
	}
	dir := t.TempDir()
	token, other := filepath.Join(dir, "token"), filepath.Join(dir, "other")
	config, err := k.Kubeconfig(k.URL, apiserver.Admin)
	err = joined(err, os.WriteFile(token, []byte("r3lay-east\n"), 0o600), os.WriteFile(other, []byte("ship\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger="+filepath.Join(dir, "l.db"), "--cluster=hub", "--push.token-file="+other,
		"--push.relay-token-file=east="+token)
	defer s.stop()
	args := []string{"--server.url=http://" + s.daemon.Addr(), "--server.token-file=" + token, "--kube.namespace=ci",
		"--kube.config=" + config}
	living := func(n int) func() bool {
		return func() bool {
			open, err := s.ledger.Cases(context.Background(), ledger.StateOpen, 0)
			return err == nil && len(open) == n && open[0].Cluster == "east"
		}
	}

	stop := startRelay(t, args...)
	wait(t, "the runners that live", living(3))
	do("DELETE", ns+"/pods/mill-runner-1", `{"gracePeriodSeconds":0}`)
	wait(t, "the pod that was deleted by force", func() bool {
		return strings.HasPrefix(s.verdict(t, "mill-runner-1"), "force-deleted force-deleted-watched - ")
	})
	stop()

	do("DELETE", ns+"/pods/mill-runner-2", `{"gracePeriodSeconds":0}`)
	stop, second := startRelay(t, args...), startRelay(t, args...)
	defer stop()
	defer second()
	wait(t, "the pod that went while no relay ran", func() bool {
		return strings.HasPrefix(s.verdict(t, "mill-runner-2"), "unknown unknown-vanished - ")
	})
	do("DELETE", ns+"/pods/mill-runner-3", `{"gracePeriodSeconds":0}`)
	wait(t, "a pod that two relays watch", func() bool {
		return strings.HasPrefix(s.verdict(t, "mill-runner-3"), "force-deleted force-deleted-watched - 1 ")
	})
	if s.filed(t, "repeated") == 0 {
		t.Error("what both said was not recognised")
	}
}

// A mistake in the flags is told at once.
func TestRelayFlags(t *testing.T) {
	for args, says := range map[string]string{
		"":                                       "--kube.namespace",
		"--kube.namespace=Not_One":               "--kube.namespace Not_One",
		"--kube.nodes --kube.config=/nowhere":    "/nowhere",
		"--kube.nodes --server.ca-file=/nowhere": "--server.ca-file",
		"--kube.nodes --kube.config=/nowhere --cluster=x --server.url=http://h": "/nowhere",
	} {
		var out bytes.Buffer
		p := &program{out: &out, err: &out, now: time.Now, tty: func(any) bool { return false }}
		code := p.runCommand(append([]string{"relay", "--web.listen-address=127.0.0.1:0"}, strings.Fields(args)...))
		if code != exitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: code %d, %s", args, code, out.String())
		}
	}
}
