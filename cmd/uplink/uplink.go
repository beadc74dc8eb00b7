// Package uplink has the flags by which a program reaches coroner serve to push to it.
//
// Invariant: a certificate or a key that cannot be used is an error at the start.
//
// Crash behaviour: it keeps no state.
package uplink

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest/push"

	"github.com/alecthomas/kong"
)

// Uplink is how the server is reached.
type Uplink struct {
	Server string `name:"server.url" help:"Address of coroner serve." default:"http://127.0.0.1:9095" placeholder:"URL"`
	Token  string `name:"server.token-file" help:"${server_token_read}" placeholder:"FILE"`
	CA     string `name:"server.ca-file" help:"${server_ca_system}" placeholder:"FILE"`
	Cert   string `name:"server.cert-file" help:"Client certificate, for mutual TLS." placeholder:"FILE"`
	Key    string `name:"server.key-file" help:"Key of the client certificate." placeholder:"FILE"`
	Name   string `name:"server.name" help:"${server_name}" placeholder:"NAME"`
}

// Vars are the texts of the flags that are too long for their tags.
var Vars = kong.Vars{
	"server_token_read": "File with the token for the server, read at each use.",
	"server_ca_system":  "Certificate authority of the server. Default: the system's.",
	"server_name":       "Name in the server's certificate, where the address has another.",
}

// Address is the server's, to put a path behind.
func (f *Uplink) Address() string { return strings.TrimRight(f.Server, "/") }

// Sender pushes to the server, as the agent of a node unless that is "".
func (f *Uplink) Sender(node, cluster string) (*push.Sender, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	transport, err := push.TLS{CA: f.CA, Cert: f.Cert, Key: f.Key, Name: f.Name}.Transport()
	if err != nil {
		return nil, err
	}
	return &push.Sender{
		URL: f.Address() + push.Path, Node: node, Cluster: cluster, Token: daemon.Token(f.Token),
		Client: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}, nil
}

// check refuses values that no run could use.
func (f *Uplink) check() error {
	if err := daemon.CheckURL("server.url", f.Server, "http://HOST:PORT"); err != nil {
		return err
	}
	if _, err := (push.TLS{CA: f.CA}).Transport(); err != nil {
		return daemon.WrongValue("server.ca-file", f.CA, "%w", err)
	}
	switch {
	case f.Cert != "" && f.Key == "":
		return daemon.Wrong("server.cert-file", "a certificate needs its key: give --server.key-file, too")
	case f.Cert == "" && f.Key != "":
		return daemon.Wrong("server.key-file", "a key needs its certificate: give --server.cert-file, too")
	}
	_, err := push.TLS{Cert: f.Cert, Key: f.Key}.Transport()
	var file *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file) && file.Path == f.Key:
		return daemon.WrongValue("server.key-file", f.Key, "%w", err)
	}
	return daemon.WrongValue("server.cert-file", f.Cert, "%w", err)
}
