package outlet

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/notify"
	"coroner/rules"

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
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "log", Scope: scope} }, "file", ""},
		{func(o *Outlets) { o.GitHub = GitHub{PerHour: 1, Annotate: "log", Scope: scope} }, "", "token-file"},
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
		4: {OTLP: "http://127.0.0.1:4318/v1/logs", Notify: routes, GitHub: GitHub{Annotate: "log"},
			GitLab: GitLab{LabAnnotate: "log"}},
	} {
		parts := Parts{Ledger: l, Registry: prometheus.NewRegistry(), Log: zerolog.Nop(), Now: time.Now}
		if w, err := o.Work(parts); err != nil || len(w.Tasks) != tasks {
			t.Errorf("%+v: %+v, want %d tasks, %v", o, w, tasks, err)
		}
	}
}

// A notify configuration that is read again takes the place of the one before; one with mistakes is
// refused by one line with its place, and the one before goes on.
func TestReload(t *testing.T) {
	came := make(chan string)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- r.URL.Path + " " + r.Header.Get(notify.DeliveryHeader)
	}))
	defer receiver.Close()
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, revision := filepath.Join(t.TempDir(), "notify.yaml"), 0
	write := func(path, more string) {
		t.Helper()
		text := fmt.Sprintf("receivers:\n  - {name: ops, kind: webhook, url: '%s%s'}\nroutes:\n  - {to: ops%s}\n",
			receiver.URL, path, more)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/one", "")
	o := &Outlets{Notify: file}
	w, err := o.Work(Parts{Ledger: l, Registry: prometheus.NewRegistry(), Log: zerolog.Nop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Deliveries("notify-ops").Due(t.Context(), time.Now(), 1); err != nil { // from now on
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Tasks[0](ctx) }()
	told := func(where string) {
		t.Helper()
		revision++
		at, id := time.Now(), fmt.Sprint("c", revision)
		v := rules.Verdict{Runner: id, Label: rules.NodeOOM, Confidence: rules.Confirmed, Revision: 1, DiedAt: &at}
		err := l.Write(ctx, at, func(tx *ledger.Tx) error { return tx.AddVerdict(id, &v, at, false) })
		if err != nil {
			t.Fatal(err)
		}
		got := <-came
		for strings.HasSuffix(got, fmt.Sprint(" c", revision-1, "/1")) {
			got = <-came // the one before, a second time: a reload can cut its answer off
		}
		if got != where+" "+id+"/1" {
			t.Errorf("%s was told, want %s of %s", got, where, id)
		}
	}
	content := func() string {
		t.Helper()
		of, err := w.Content("book", nil)
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	told("/one")
	before := content()
	write("/two", "")
	if err := w.Reload(); err != nil || content() == before {
		t.Errorf("%v, the content was %s and is %s", err, before, content())
	}
	told("/two")
	write("/three", ", pool: x")
	if err := w.Reload(); err == nil || !strings.HasPrefix(err.Error(), file+":4: ") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("a mistake on line 4: %v", err)
	}
	told("/two")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Reload(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no file: %v", err)
	}
	told("/two")
	write("/three", "")
	if err := w.Reload(); err != nil {
		t.Error(err)
	}
	told("/three")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Where no file is named, a reload has nothing to read.
func TestReloadOfNothing(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w, err := (&Outlets{}).Work(Parts{Ledger: l, Registry: prometheus.NewRegistry(), Log: zerolog.Nop(), Now: time.Now})
	if err != nil || w.Reload() != nil {
		t.Errorf("%v, %v", err, w)
	}
}
