package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A certificate authority that is renewed is trusted without a restart; a file that
// is no good changes nothing.
func TestAuthoritiesAreReadAgain(t *testing.T) {
	token := "first"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%v, want the token %s", r.Header, token)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	file, when := filepath.Join(t.TempDir(), "ca.crt"), time.Now()
	write := func(data []byte) {
		t.Helper()
		when = when.Add(time.Second)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, when, when); err != nil {
			t.Fatal(err)
		}
	}
	right := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	write(right)
	transport, err := TLS{CA: file}.Transport()
	if err != nil {
		t.Fatal(err)
	}
	s := &Sender{URL: server.URL, Client: &http.Client{Transport: transport}}
	s.Token = func() (string, error) { return token, nil }
	post := func(what string, taken bool) {
		t.Helper()
		if err := s.Post(context.Background(), nil); (err == nil) != taken {
			t.Errorf("%s: %v", what, err)
		}
	}
	post("the right authority", true)
	token = "second"
	post("with a new token", true)
	write(foreign(t))
	post("a foreign authority", false)
	write(right)
	post("the right one again", true)
	write([]byte("none"))
	post("no authority: the one before stays", true)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	post("no file: the one before stays", true)
	write(right)
	for name, taken := range map[string]bool{"example.com": true, "another": false} { // the test server's name
		if s.Client.Transport, err = (TLS{CA: file, Name: name}).Transport(); err != nil {
			t.Fatal(err)
		}
		post("the server's name is "+name, taken)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for what, files := range map[string]TLS{
		"no file": {CA: file}, "no key": {Cert: file}, "no certificate": {Key: file},
	} {
		if _, err := files.Transport(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// foreign is an authority that signed nothing here.
func foreign(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
