package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"

	"k8s.io/client-go/tools/clientcmd"
)

var hosts = []string{"coroner", "coroner.coroner.svc", "127.0.0.1"}

// keep is Keep where failing is the end of the test.
func keep(t *testing.T, s Store, hosts []string, now time.Time) string {
	t.Helper()
	made, err := Keep(t.Context(), s, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// With what is made a server is trusted under each of its names, and no other.
func TestClientsTrustIt(t *testing.T) {
	dir := Folder(filepath.Join(t.TempDir(), "new"))
	if made := keep(t, dir, hosts, time.Now()); made != "there was none" {
		t.Error(made)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(string(dir), "tls.crt"), filepath.Join(string(dir), "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()
	ca, err := os.ReadFile(filepath.Join(string(dir), "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, good := range map[string]bool{"coroner": true, "coroner.coroner.svc": true, "127.0.0.1": true,
		"coroner.evil": false, "127.0.0.2": false} {
		conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name})
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	if info, err := os.Stat(filepath.Join(string(dir), "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v %v", info.Mode(), err)
	}
	if pair.Leaf.IsCA {
		t.Error("the server could sign others")
	}
}

// What is good stays; what is not is made anew, and who trusts the old ones only is
// given time.
func TestKeep(t *testing.T) {
	dir, now := Folder(t.TempDir()), time.Now()
	keep(t, dir, hosts, now)
	first, err := dir.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []struct {
		hosts []string
		at    time.Time
	}{{hosts, now}, {hosts[:1], now}, {hosts, now.Add(life/2 - time.Hour)}} {
		if made := keep(t, dir, same.hosts, same.at); made != "" {
			t.Errorf("made anew for %q at %s: %s", same.hosts, same.at, made)
		}
	}
	for says, change := range map[string]func() ([]string, time.Time){
		"not good for more": func() ([]string, time.Time) { return append([]string{"more"}, hosts...), now },
		"ends":              func() ([]string, time.Time) { return hosts, now.Add(life/2 + time.Hour) },
		"cannot be read": func() ([]string, time.Time) {
			return hosts, now.Add(clobber(t, filepath.Join(string(dir), "tls.key")))
		},
	} {
		if err := dir.Save(context.Background(), first); err != nil {
			t.Fatal(err)
		}
		names, at := change()
		if made := keep(t, dir, names, at); !strings.Contains(made, says) {
			t.Errorf("%s: %q", says, made)
		}
		second, err := dir.Load(context.Background())
		if err != nil || !strings.HasSuffix(string(second.CA), string(first.CA)) ||
			slices.Equal(second.Cert, first.Cert) {
			t.Errorf("%s: the bundle does not end with the old authority: %v", says, err)
		}
		if made := keep(t, dir, names, at); made != "" {
			t.Errorf("%s: made once more: %s", says, made)
		}
	}
	p := Pair{}
	for range 20 {
		more, err := Make(hosts, now)
		if err != nil {
			t.Fatal(err)
		}
		p.CA = append(more.CA, p.authorities(now)...)
	}
	if len(p.CA) > 3*maxOld {
		t.Errorf("the bundle grew to %d bytes", len(p.CA))
	}
	if left := p.authorities(now.Add(2 * life)); len(left) > 0 {
		t.Error("authorities that have ended are kept")
	}
}

// clobber makes a file one that cannot be read as what it is.
func clobber(t *testing.T, path string) time.Duration {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return 0
}

// With a real API server: the Secret is made, stays, is renewed, and one that somebody
// else made is not touched. What the job's role allows is enough.
func TestSecretOfARealServer(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: a certificate in a Secret of a real API server: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	do := func(path, body string) {
		t.Helper()
		if _, err := k.Do("POST", path, body); err != nil {
			t.Fatal(err)
		}
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/coroner/"
	do("/api/v1/namespaces", `{"metadata":{"name":"coroner"}}`)
	do("/api/v1/namespaces/coroner/secrets", `{"metadata":{"name":"mine"},"stringData":{"tls.crt":"x"}}`)
	do(rbac+"roles", `{"metadata":{"name":"c"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["create"]},
		{"apiGroups":[""],"resources":["secrets"],"resourceNames":["coroner-tls"],"verbs":["get","update"]}]}`)
	do(rbac+"rolebindings", `{"metadata":{"name":"c"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"c"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"viewer"}]}`)
	store := func(user, name string) *Secret {
		t.Helper()
		file, err := k.Kubeconfig(k.URL, user)
		if err != nil {
			t.Fatal(err)
		}
		config, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSecret(config, "coroner", name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, now := store(apiserver.Viewer, "coroner-tls"), time.Now()
	more := append([]string{"more"}, hosts...)
	for i, step := range []struct {
		hosts []string
		says  string
	}{{hosts, "there was none"}, {hosts, ""}, {more, "not good for more"}, {more, ""}} {
		if made := keep(t, s, step.hosts, now); (made == "") != (step.says == "") ||
			!strings.Contains(made, step.says) {
			t.Errorf("%d: %q, want %q", i, made, step.says)
		}
	}
	other := store(apiserver.Viewer, "coroner-tls")
	if _, err := other.Load(ctx); err != nil {
		t.Fatal(err)
	}
	keep(t, s, []string{"another"}, now)
	if err := other.Save(ctx, Pair{}); err == nil {
		t.Error("what changed in between is written over")
	}
	_, err = Keep(ctx, store(apiserver.Admin, "mine"), hosts, now)
	if err == nil || !strings.Contains(err.Error(), "not made by coroner") {
		t.Errorf("somebody else's: %v", err)
	}
	var refused net.Error
	k.Down()
	if _, err := Keep(ctx, s, hosts, now); !errors.As(err, &refused) {
		t.Errorf("without an API server: %v", err)
	}
}
