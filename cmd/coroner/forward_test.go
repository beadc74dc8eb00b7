package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/portforward"
	"coroner/rules"
)

// A server that asks its readers for a token answers kubectl coroner through a port that is
// forwarded; without the token it is refused, and what the API still has is collected. The server
// is a real one; the API server is as much of one as forwards ports.
func TestPluginForwardsAPort(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3same\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger=l.db", "--web.token-file="+token)
	defer s.stop()
	died := time.Now().Add(-time.Minute)
	if err := s.ledger.Write(t.Context(), time.Now(), func(tx *ledger.Tx) error {
		v := &rules.Verdict{Runner: "amber-1", Namespace: "ci", Label: rules.CgroupOOM, Confidence: rules.Confirmed,
			Revision: 1, DiedAt: &died, Summary: "It was told through a port."}
		return tx.AddVerdict("c1", v, died, false)
	}); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.daemon.Addr())
	const v1 = "/api/v1/namespaces/coroner/"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/services":
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"coroner","namespace":"coroner"},`+
				`"spec":{"ports":[{"name":"http","appProtocol":"http"}]}}]}`)
		case "/apis/discovery.k8s.io/v1/namespaces/coroner/endpointslices":
			fmt.Fprintf(w, `{"items":[{"ports":[{"name":"http","port":%s}],"endpoints":[{"targetRef":`+
				`{"kind":"Pod","name":"coroner-0"}}]}]}`, port)
		case v1 + "pods/coroner-0/portforward":
			portforward.Serve(w, r, func(port string) (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+port) })
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer api.Close()
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "`+api.URL+`"}}], users: [{name: u, user: {}}],
contexts: [{name: x, context: {cluster: c, user: u}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, notes, code := run(true, "amber-1", "-n", "ci", "--kubeconfig", config, "--token-file", token)
	if code != exitOK || !strings.Contains(out, "It was told through a port.") || notes != "" {
		t.Errorf("with the token it ended with %d:\n%s\n%s", code, out, notes)
	}
	out, notes, code = run(true, "amber-1", "-n", "ci", "--kubeconfig", config)
	if code == exitOK || strings.Contains(out, "through a port") || !strings.Contains(notes, "requires a credential") {
		t.Errorf("without it it ended with %d:\n%s\n%s", code, out, notes)
	}
}
