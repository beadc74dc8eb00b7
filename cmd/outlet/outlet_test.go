package outlet

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

func keyFile(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What cannot work is refused at the start, by the flag that is wrong.
func TestCheck(t *testing.T) {
	key, scope := keyFile(t), []string{"acme/*"}
	noKey := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(noKey, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := GitHub{Annotate: "check", Scope: scope, App: "7", Installation: "8", Key: key, PerHour: 1}
	lab := GitLab{LabAnnotate: "comment", LabURL: "https://gitlab.example", LabToken: noKey, LabScope: []string{"acme"}}
	for _, c := range []struct {
		change func(*Outlets)
		token  string
		says   string
	}{
		{func(*Outlets) {}, "", ""},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1} }, "", ""},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "log", Scope: scope} }, "", ""},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "status", Scope: scope} }, "file", ""},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "status", Scope: scope} }, "", "token-file"},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "comment", Scope: scope} }, "", "token-file"},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Rerun: true, Scope: scope} }, "", "--github.token-file"},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "check", Scope: scope} }, "file", "GitHub App"},
		{func(o *Outlets) { o.Scope = nil }, "", "--github.scope"},
		{func(o *Outlets) { o.Scope = []string{"acme"} }, "", "--github.scope"},
		{func(o *Outlets) { o.App = "x" }, "", "--github.app-id"},
		{func(o *Outlets) { o.Installation = "" }, "", "--github.app-installation"},
		{func(o *Outlets) { o.Key = noKey }, "", "private key"},
		{func(o *Outlets) { o.Key = noKey + "x" }, "", "no such file"},
		{func(o *Outlets) { o.Rerun, o.PerHour = true, 0 }, "", "--github.reruns-per-hour"},
		{func(o *Outlets) { o.GitLab = lab }, "", ""},
		{func(o *Outlets) { o.GitLab = lab; o.LabToken = "" }, "", "--gitlab.token-file"},
		{func(o *Outlets) { o.GitLab = lab; o.LabToken = noKey + "x" }, "", "no such file"},
		{func(o *Outlets) { o.GitLab = lab; o.LabScope = nil }, "", "--gitlab.scope"},
		{func(o *Outlets) { o.GitLab = lab; o.LabScope = []string{"a/*"} }, "", "--gitlab.scope"},
		{func(o *Outlets) { o.GitLab = lab; o.LabURL = "gitlab.example" }, "", "--gitlab.url"},
		{func(o *Outlets) { o.Pages = "coroner" }, "", "--web.external-url"},
		{func(o *Outlets) { o.OTLP = "http://collector:4318" }, "", "--otlp.logs-url"},
		{func(o *Outlets) { o.OTLP, o.OTLPToken = "http://collector:4318/v1/logs", noKey+"x" }, "", "no such file"},
		{func(o *Outlets) { o.Notify = noKey }, "", "--notify.config-file"},
	} {
		o := &Outlets{Pages: "https://coroner.example", GitHub: app}
		c.change(o)
		err := o.Check(c.token)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", o, err, c.says)
		}
	}
}

// Only what a flag asks for is sent to.
func TestTasks(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	routes := filepath.Join(t.TempDir(), "notify.yaml")
	text := "receivers: [{name: a, kind: slack, url: 'http://x'}, {name: b, kind: webhook, url: 'http://x'}]\n" +
		"routes: [{to: a}, {to: b, confidence: confirmed}]\n"
	if err := os.WriteFile(routes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for tasks, o := range map[int]*Outlets{
		0: {}, 1: {GitHub: GitHub{Annotate: "log"}}, 2: {GitHub: GitHub{Annotate: "status", Rerun: true}},
		3: {GitHub: GitHub{Annotate: "status", Rerun: true}, GitLab: GitLab{LabAnnotate: "log"}},
		4: {OTLP: "http://127.0.0.1:4318/v1/logs", Notify: routes, GitHub: GitHub{Annotate: "log"}},
	} {
		parts := Parts{Ledger: l, Registry: prometheus.NewRegistry(), Log: zerolog.Nop(), Now: time.Now}
		if got, err := o.Tasks(parts); len(got) != tasks || err != nil {
			t.Errorf("%+v: %d tasks, want %d, %v", o, len(got), tasks, err)
		}
	}
}
