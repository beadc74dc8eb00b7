package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/cmd/daemon"
	"coroner/ingest/push"
)

// serverFlags say which server is asked.
type serverFlags struct {
	Server    string        `help:"Address of coroner serve." env:"CORONER_SERVER" default:"http://127.0.0.1:9095" placeholder:"URL"`
	TokenFile string        `name:"token-file" help:"File with a bearer token for the server." env:"CORONER_TOKEN_FILE" placeholder:"FILE"`
	CAFile    string        `name:"ca-file" help:"Certificate authority of the server." env:"CORONER_CA_FILE" placeholder:"FILE"`
	Timeout   time.Duration `help:"How long to wait for an answer." default:"15s"`
}

// client is who asks it.
func (f *serverFlags) client() (*lookup.Client, error) {
	if !strings.Contains(f.Server, "://") {
		f.Server = "http://" + f.Server
	}
	if u, err := url.Parse(f.Server); err != nil || u.Host == "" {
		return nil, usage("--server %s: want http://HOST:PORT", f.Server)
	}
	if f.Timeout <= 0 {
		return nil, usage("--timeout %s: want a time above zero, like 15s", f.Timeout)
	}
	transport, err := push.TLS{CA: f.CAFile}.Transport()
	if err != nil {
		return nil, usage("--ca-file: %w", err)
	}
	asking := &http.Client{Transport: gate{transport}, Timeout: f.Timeout}
	c := &lookup.Client{Server: f.Server, Header: http.Header{}, HTTP: asking}
	if token := daemon.Token(f.TokenFile); token != nil {
		t, err := token()
		if err != nil {
			return nil, usage("%w", err)
		}
		c.Header.Set("Authorization", "Bearer "+t)
	}
	return c, nil
}

var errNotLetIn = errors.New("the server lets only those in whom it knows")

// gate tells a server that wants to know who asks from one with another problem.
type gate struct{ next http.RoundTripper }

// RoundTrip asks the next one.
func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := g.next.RoundTrip(r)
	if err == nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) {
		_ = res.Body.Close()
		return nil, errNotLetIn
	}
	return res, err
}

// failed says in one line why the server did not answer, and what to do.
func (f *serverFlags) failed(err error) error {
	var sending *url.Error
	var foreign *json.SyntaxError
	switch {
	case errors.Is(err, errNotLetIn):
		return unreadable("server %s: %w: give a token with --token-file FILE or CORONER_TOKEN_FILE, or a password in the address", f.shown(), errNotLetIn)
	case errors.As(err, &sending) && (sending.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return unreadable("server %s: no answer in %s; --timeout gives it longer, --server or CORONER_SERVER names another", f.shown(), f.Timeout)
	case errors.As(err, &sending):
		return unreadable("server %s: %w; does coroner serve run there? --server URL or CORONER_SERVER says where it listens", f.shown(), sending.Err)
	case errors.As(err, &foreign):
		return unreadable("server %s: what answers there is not coroner serve; --server URL or CORONER_SERVER says where that listens", f.shown())
	}
	return unreadable("%s", strings.ReplaceAll(err.Error(), f.Server, f.shown()))
}

// shown is the server's address without a password.
func (f *serverFlags) shown() string {
	u, err := url.Parse(f.Server)
	if err != nil {
		return f.Server
	}
	return u.Redacted()
}
