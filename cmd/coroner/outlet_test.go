package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/rules"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
)

// What the server records reaches those whom its flags name.
func TestVerdictsAreSentOn(t *testing.T) {
	came := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- r.URL.Path + " " + string(body)
	}))
	defer receiver.Close()
	dir := t.TempDir()
	routes := filepath.Join(dir, "notify.yaml")
	text := fmt.Sprintf("receivers: [{name: ops, kind: webhook, url: '%s/ops'}]\nroutes: [{to: ops}]\n", receiver.URL)
	if err := os.WriteFile(routes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "operator")
	if err := os.WriteFile(token, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var serve struct{ serveCmd }
	p, err := kong.New(&serve, flagVars("127.0.0.1:0"), new(daemon.Origins), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse([]string{"--ledger", filepath.Join(dir, "l.db"), "--notify.config-file", routes,
		"--web.operator-token-file", token,
		"--otlp.logs-url", receiver.URL + "/v1/logs", "--web.external-url", "https://coroner.example"}); err != nil {
		t.Fatal(err)
	}
	if err := serve.checkFlags(); err != nil {
		t.Fatal(err)
	}
	s, err := serve.open(zerolog.New(io.Discard), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.runParts(ctx) }()
	died := time.Now()
	paths := map[string]string{}
	for n := 1; len(paths) < 2 && n < 60; n++ { // a receiver hears of what is recorded once it is known
		v := rules.Verdict{Runner: "amber", Namespace: "arc", Label: rules.NodeOOM, Revision: n, DiedAt: &died,
			Confidence: rules.Confirmed}
		err := s.ledger.Write(ctx, time.Now(), func(tx *ledger.Tx) error {
			return tx.AddVerdict(fmt.Sprint("c", n), &v, time.Now(), false)
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-came:
			path, body, _ := strings.Cut(got, " ")
			paths[path] = body
		case <-time.After(time.Second):
		}
	}
	if err := os.WriteFile(routes, []byte(text+"  - {to: nobody}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload := httptest.NewRequest(http.MethodPost, "/-/reload", http.NoBody)
	reload.Header.Set("Authorization", "Bearer sesame")
	answer := httptest.NewRecorder()
	s.daemon.Mux.ServeHTTP(answer, reload)
	if answer.Code != http.StatusInternalServerError || !strings.HasPrefix(answer.Body.String(), routes+":3: ") {
		t.Errorf("a file with a mistake: %d %s", answer.Code, answer.Body)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	page := `"page":"https://coroner.example/runners/arc/amber?case=c`
	if !strings.Contains(paths["/ops"], page) || paths["/v1/logs"] == "" {
		t.Errorf("%q", paths)
	}
}
