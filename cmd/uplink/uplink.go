// Package uplink has the flags by which a program reaches coroner serve to push to it.
//
// Invariant: a certificate or a key that cannot be used is an error at the start.
//
// Crash behaviour: it keeps no state.
package uplink

import (
	"fmt"
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
	transport, err := push.TLS{CA: f.CA, Cert: f.Cert, Key: f.Key, Name: f.Name}.Transport()
	if err != nil {
		return nil, fmt.Errorf("--server.ca-file, --server.cert-file, --server.key-file: %w", err)
	}
	return &push.Sender{
		URL: f.Address() + push.Path, Node: node, Cluster: cluster, Token: daemon.Token(f.Token),
		Client: &http.Client{Transport: transport, Timeout: 30 * time.Second},
	}, nil
}
