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
	Server    string        `help:"${server_server}" env:"CORONER_SERVER" default:"${server}" placeholder:"URL"`
	TokenFile string        `name:"token-file" help:"${server_token_file}" env:"CORONER_TOKEN_FILE" placeholder:"FILE"`
	CAFile    string        `name:"ca-file" help:"${server_ca_file}" env:"CORONER_CA_FILE" placeholder:"FILE"`
	Timeout   time.Duration `help:"How long to wait for an answer." default:"15s"`
}

// newClient is who asks it.
func (f *serverFlags) newClient() (*lookup.Client, error) {
	if !strings.Contains(f.Server, "://") {
		f.Server = "http://" + f.Server
	}
	if u, err := url.Parse(f.Server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usage("--server %s: want http://HOST:PORT", f.Server)
	}
	if f.Timeout <= 0 {
		return nil, usage("--timeout %s: want a time above zero, like 15s", f.Timeout)
	}
	transport, err := push.TLS{CA: f.CAFile}.Transport()
	if err != nil {
		return nil, usage("--ca-file: %w", err)
	}
	asking := &http.Client{Transport: transport, Timeout: f.Timeout}
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

// requestError says in one line why the server did not answer, and what to do.
func (f *serverFlags) requestError(err error) error {
	var refused lookup.Refusal
	var sending *url.Error
	var foreign *json.SyntaxError
	switch {
	case errors.As(err, &refused) && refused.Unauthorized():
		return unreadable("server %s: it requires a credential: give a token with --token-file FILE or "+
			"CORONER_TOKEN_FILE, or a password in the address", f.shownAddress())
	case errors.As(err, &sending) && (sending.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return unreadable("server %s: no answer in %s; --timeout allows more time, "+
			"--server or CORONER_SERVER names another server", f.shownAddress(), f.Timeout)
	case errors.As(err, &sending):
		return unreadable("server %s: %w; does coroner serve run there? "+
			"--server URL or CORONER_SERVER says where it listens", f.shownAddress(), sending.Err)
	case errors.As(err, &foreign):
		return unreadable("server %s: what answers there is not coroner serve; "+
			"--server URL or CORONER_SERVER says where that listens", f.shownAddress())
	}
	return unreadable("%s", strings.ReplaceAll(err.Error(), f.Server, f.shownAddress()))
}

// shownAddress is the server's address without a password.
func (f *serverFlags) shownAddress() string {
	u, err := url.Parse(f.Server)
	if err != nil {
		return f.Server
	}
	return u.Redacted()
}
