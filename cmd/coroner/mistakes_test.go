package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/flagtest"

	"github.com/rs/zerolog"
)

// tried are the flags of one of the program's daemons, which c has alone, with rows for what both have.
func tried(t *testing.T, c any, open func() error) *flagtest.Program {
	t.Helper()
	p := &program{out: io.Discard, err: io.Discard}
	parser, err := p.newParser(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	command := parser.Model.Children[0]
	return &flagtest.Program{
		Flags: command.Flags, Command: []string{command.Name}, Dir: t.TempDir(),
		Start: func(args []string) string {
			parser, err := p.newParser(c, nil)
			if err == nil {
				_, err = parser.Parse(args)
			}
			if err == nil {
				err = open()
			}
			if err != nil {
				return p.origins.Explain(err)
			}
			return ""
		},
		Base: func() []string { // a ledger may stay open
			return []string{"--web.listen-address=127.0.0.1:0", "--ledger=" + filepath.Join(t.TempDir(), "l.db")}
		},
		Rows: []flagtest.Row{
			{Flag: "web.listen-address", Values: []string{"nonsense"}},
			{Flag: "web.config.file", Values: []string{"/nope"}},
			{Flag: "web.operator-token-file", Values: []string{"/nope"}},
			{Flag: "kube.namespace", Values: []string{"Not_One", "a b"}},
			{Flag: "kube.ephemeral-runners", Values: []string{"true"}, With: []string{"--kube.nodes=true"}},
			{Flag: "kube.config", Values: []string{"/nope"}, With: []string{"--kube.nodes=true"}},
		},
		Free: []string{"cluster"},
	}
}

// A value of coroner serve that no run could use is told by where it came from.
func TestServeTellsMistakesByTheirOrigin(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	var c struct {
		Serve serveCmd `cmd:""`
	}
	p := tried(t, &c, func() error {
		_, err := c.Serve.open(zerolog.Nop(), time.Now)
		return err
	})
	inLab := []string{"--gitlab.annotate=comment", "--gitlab.scope=acme", "--gitlab.token-file=" + token}
	atHub, app := "--github.scope=acme/*", []string{"--github.app-id=1", "--github.app-installation=2"}
	nope, address := []string{"/nope"}, []string{"::", "nonsense", "ftp://host"}
	p.Rows = append(p.Rows,
		flagtest.Row{Flag: "kube.config", Values: []string{token}}, // nothing asks for it
		flagtest.Row{Flag: "ledger", Values: []string{"/nope/l.db"}},
		flagtest.Row{Flag: "rules", Values: append(nope, t.TempDir())},
		flagtest.Row{Flag: "runner", Values: []string{"["}},
		flagtest.Row{Flag: "controller", Values: []string{"a/["}},
		flagtest.Row{Flag: "settle-deadline", Values: []string{"0s"}},
		flagtest.Row{Flag: "push.token-file", Values: []string{"/nope", "east=/nope", "=x"}},
		flagtest.Row{Flag: "push.relay-token-file", Values: []string{"east=/nope"}},
		flagtest.Row{Flag: "push.agent-account", Values: []string{"a", "a/b/c", "a/b"}},
		flagtest.Row{Flag: "push.review", Values: []string{"east=/nope"}},
		flagtest.Row{
			Flag: "push.review", Values: []string{"east", "east=/nope"}, With: []string{"--push.agent-account=a/b"},
		},
		flagtest.Row{Flag: "push.client-node", Values: []string{"san"}},
		flagtest.Row{Flag: "web.token-file", Values: nope},
		flagtest.Row{Flag: "web.external-url", Values: append(address, "https://me:secret@host")},
		flagtest.Row{Flag: "web.grafana-url", Values: address, With: []string{"--web.grafana-datasource=u"}},
		flagtest.Row{Flag: "web.grafana-url", Values: []string{"https://host"}},
		flagtest.Row{Flag: "web.grafana-datasource", Values: []string{"u"}},
		flagtest.Row{Flag: "loki.url", Values: address},
		flagtest.Row{Flag: "loki.token-file", Values: nope},
		flagtest.Row{Flag: "otlp.logs-url", Values: append(address, "http://host")},
		flagtest.Row{Flag: "otlp.token-file", Values: nope},
		flagtest.Row{Flag: "notify.config-file", Values: []string{"/nope", token}},
		flagtest.Row{Flag: "github.token-file", Values: nope},
		flagtest.Row{Flag: "github.webhook-secret-file", Values: nope},
		flagtest.Row{Flag: "github.url", Values: address, With: []string{"--github.token-file=" + token}},
		flagtest.Row{
			Flag: "github.requests-per-minute", Values: []string{"0"}, With: []string{"--github.token-file=" + token},
		},
		flagtest.Row{Flag: "github.annotate", Values: []string{"check", "status", "comment"}, With: []string{atHub}},
		flagtest.Row{Flag: "github.annotate", Values: []string{"log"}},
		flagtest.Row{Flag: "github.rerun", Values: []string{"true"}, With: []string{atHub}},
		flagtest.Row{Flag: "github.reruns-per-hour", Values: []string{"0"}, With: []string{
			atHub, "--github.rerun", "--github.token-file=" + token,
		}},
		flagtest.Row{Flag: "github.scope", Values: []string{"acme", "a/["}},
		flagtest.Row{Flag: "github.app-id", Values: []string{"7", "x"}},
		flagtest.Row{Flag: "github.app-installation", Values: []string{"8", "x"}},
		flagtest.Row{Flag: "github.app-key-file", Values: []string{token}},
		flagtest.Row{Flag: "github.app-key-file", Values: []string{token, "/nope"}, With: app},
		flagtest.Row{Flag: "gitlab.annotate", Values: []string{"log"}},
		flagtest.Row{Flag: "gitlab.annotate", Values: []string{"comment"}, With: inLab[2:]},
		flagtest.Row{Flag: "gitlab.url", Values: address, With: inLab},
		flagtest.Row{Flag: "gitlab.scope", Values: []string{"a b"}, With: inLab},
		flagtest.Row{Flag: "gitlab.token-file", Values: nope, With: inLab},
	)
	p.Free = append(p.Free, "loki.tenant", "loki.user")
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}

// A value of coroner relay that no run could use is told by where it came from.
func TestRelayTellsMistakesByTheirOrigin(t *testing.T) {
	var c struct {
		Relay relayCmd `cmd:""`
	}
	p := tried(t, &c, func() error {
		d := daemon.New(&c.Relay.Flags, zerolog.Nop())
		_, err := c.Relay.open(d, time.Now)
		return cmp.Or(err, d.Open())
	})
	kube := filepath.Join(p.Dir, "kube.yaml")
	if err := os.WriteFile(kube, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Base = func() []string {
		return []string{"--web.listen-address=127.0.0.1:0", "--kube.nodes=true", "--kube.config=" + kube}
	}
	p.Rows = append(p.Rows,
		flagtest.Row{Flag: "server.url", Values: []string{"::", "nonsense"}},
		flagtest.Row{Flag: "server.ca-file", Values: []string{"/nope", kube}},
		flagtest.Row{Flag: "server.cert-file", Values: []string{"/nope"}},
		flagtest.Row{Flag: "server.key-file", Values: []string{"/nope"}},
	)
	p.Free = append(p.Free, "server.token-file", "server.name")
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}
