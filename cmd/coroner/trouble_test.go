package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
	"coroner/ingest/push"
)

// A namespace that is not there is told where people look: by /-/ready without its name, for
// anybody may ask that, and by the page with it; until it is there. A token that the API does
// not take is told the same way.
func TestTroubleIsToldWherePeopleLook(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that /-/ready and the page say what a real API server lacks: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	serve := func(token string) (ask func(path string) string, stop func()) {
		config, err := k.Kubeconfig(k.URL, token)
		if err != nil {
			t.Fatal(err)
		}
		s := serveFor(t, "--ledger="+filepath.Join(t.TempDir(), "l.db"), "--kube.config="+config,
			"--kube.namespace=arc-runners")
		return func(path string) string {
			res, err := http.Get("http://" + s.daemon.Addr() + path)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %v", path, res.StatusCode, err)
			}
			return string(body)
		}, s.stop
	}
	ask, stop := serve(apiserver.Admin)
	const kind, text = "attention: a namespace that is to be watched is not there",
		"namespace arc-runners is not there, so nothing is watched in it"
	wait(t, kind, func() bool { return strings.Contains(ask("/-/ready"), kind) })
	if got := ask("/-/ready"); !strings.HasPrefix(got, "ready\n") || strings.Contains(got, "arc-runners") {
		t.Errorf("%q", got)
	}
	if got := ask("/"); !strings.Contains(got, text) {
		t.Errorf("the page does not say %q", text)
	}
	stop()
	ask, stop = serve("no-such-token")
	defer stop()
	wait(t, "a token that is not taken", func() bool {
		return strings.Contains(ask("/-/ready"), "attention: the Kubernetes API rejects the token")
	})
	if got := ask("/"); !strings.Contains(got, "the API server rejects the token") {
		t.Error("the page does not say it")
	}
}

// A server whose pod has no token serves all the same: what it lacks is told where people look,
// and agents keep what they have.
func TestAServerWithoutAToken(t *testing.T) {
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
		t.Skip("not shown: what a server says whose pod has no token: this pod has one")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	s := serveFor(t, "--ledger="+filepath.Join(t.TempDir(), "l.db"), "--kube.namespace=arc-runners",
		"--push.agent-account=coroner/coroner-agent")
	defer s.stop()
	for path, want := range map[string]string{"/-/ready": "attention: this pod has no service-account token",
		"/": "set automountServiceAccountToken"} {
		res, err := http.Get("http://" + s.daemon.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %v, want %q in %.300s", path, res.StatusCode, err, want, body)
		}
	}
	sender := &push.Sender{URL: "http://" + s.daemon.Addr() + push.Path, Node: "n1", Client: http.DefaultClient,
		Token: func() (string, error) { return "a-token", nil }}
	var later push.Later
	if err := sender.Post(t.Context(), nil); !errors.As(err, &later) || later.Status != http.StatusServiceUnavailable {
		t.Errorf("an agent is told %v", err)
	}
}
