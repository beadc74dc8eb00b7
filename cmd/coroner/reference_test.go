package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/kubeflags"
	"coroner/cmd/reference"
	"coroner/cmd/units"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
)

var renew = flag.Bool("reference", false, "rewrite docs/reference.md")

const referencePage = "../../docs/reference.md"

// docs/reference.md has every command, flag and metric of this program.
func TestReference(t *testing.T) {
	var c cli
	parser, err := new(program).newParser(&c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := reference.Hold(referencePage, "flags of coroner", reference.Flags(parser.Model.Node),
		*renew); err != nil {
		t.Error(err)
	}
	var serve struct{ serveCmd }
	p, err := kong.New(&serve, flagVars("127.0.0.1:0"), new(daemon.Origins), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	token, kube := filepath.Join(dir, "token"), filepath.Join(dir, "kube.yaml")
	for path, text := range map[string]string{token: "secret", kube: kubeconfig} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Parse([]string{"--ledger", filepath.Join(dir, "l.db"), "--loki.url", "http://127.0.0.1:1",
		"--github.token-file", token, "--kube.config", kube, "--kube.namespace", "ci"}); err != nil {
		t.Fatal(err)
	}
	s, err := serve.open(zerolog.New(io.Discard), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.ledger.Close()
	relaying := relayCmd{Watch: kubeflags.Watch{KubeNodes: true, KubeConfig: kube}}
	relaying.Server = "http://127.0.0.1:1"
	d := daemon.New(&relaying.Flags, zerolog.Nop())
	if _, err := relaying.open(d, time.Now); err != nil {
		t.Fatal(err)
	}
	if err := reference.Hold(referencePage, "metrics of coroner relay", reference.Metrics(d.Registry),
		*renew); err != nil {
		t.Error(err)
	}
	if err := reference.Hold(referencePage, "metrics of coroner serve", reference.Metrics(s.daemon.Registry),
		*renew); err != nil {
		t.Error(err)
	}
}

// kubeconfig is of an API server that nobody asks here.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
`

// Every address that the server answers at stands on the page.
func TestReferenceHasTheAPI(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	route, found := regexp.MustCompile(`"(GET|POST) (/[^"{]*)`), 0
	for _, pattern := range []string{"../../classify/lookup/*.go", "../../classify/web/*.go", "../daemon/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range route.FindAllStringSubmatch(string(source), -1) {
				if found++; !strings.Contains(string(page), "`"+m[1]+" "+m[2]) {
					t.Errorf("%s answers %s %s, which the page does not have", file, m[1], m[2])
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d addresses were found", found)
	}
}
