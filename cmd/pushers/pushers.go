// Package pushers has the flags that say who may push to a server, and read it.
//
// Invariant: flags that contradict each other are an error before anything listens.
//
// Crash behaviour: it keeps no state.
package pushers

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"coroner/cmd/daemon"
	"coroner/cmd/units"
	"coroner/ingest/access"
	"coroner/ingest/push"

	"github.com/alecthomas/kong"
)

// Access says whose pushes and requests the server accepts.
type Access struct {
	AgentAccount []string `name:"push.agent-account" help:"Service account of agents." placeholder:"NS/NAME"`
	Review       []string `name:"push.review" help:"${serve_push_review}" placeholder:"CLUSTER=KUBECONFIG"`
	ClientNode   string   `name:"push.client-node" help:"${serve_push_client_node}" enum:",san" default:""`
	OpenPush     bool     `name:"push.open" help:"${serve_push_open}"`
	WebToken     string   `name:"web.token-file" help:"${serve_web_token_file}" placeholder:"FILE"`
}

// Check says what of the flags cannot be.
func (f *Access) Check() error {
	for _, a := range f.AgentAccount {
		if ns, name, ok := strings.Cut(a, "/"); !ok || ns == "" || name == "" || strings.Contains(name, "/") {
			return daemon.WrongValue("push.agent-account", a, "want NAMESPACE/NAME")
		}
	}
	if len(f.AgentAccount) == 0 && len(f.Review) > 0 {
		return daemon.Wrong("push.review", "say whose tokens are agents' with --push.agent-account NAMESPACE/NAME")
	}
	seen := map[string]bool{}
	for _, r := range f.Review {
		cluster, file, ok := strings.Cut(r, "=")
		if !ok || cluster == "" || file == "" || seen[cluster] {
			return daemon.WrongValue("push.review", r, "want CLUSTER=KUBECONFIG, once for each cluster")
		}
		seen[cluster] = true
	}
	return daemon.CheckToken("web.token-file", f.WebToken)
}

// Tokens are the flags of shared credentials and of how much is taken at once.
type Tokens struct {
	PushToken []string `name:"push.token-file" help:"${serve_push_token_file}" placeholder:"[CLUSTER=]FILE"`
	Relays    []string `name:"push.relay-token-file" help:"${serve_push_relay_token_file}" placeholder:"[CLUSTER=]FILE"`
	MaxBody   int64    `name:"push.max-body-bytes" type:"size" help:"Largest body of one push." default:"${push_body}"`
	MaxBusy   int      `name:"push.max-concurrent" help:"${serve_push_max_concurrent}" default:"${push_max_concurrent}"`
}

// Vars are the defaults of the flags: the handler's own.
var Vars = kong.Vars{
	"push_body":           units.SizeText(push.Defaults().Body),
	"push_max_concurrent": strconv.Itoa(push.Defaults().Busy),
}

// Shared are the credentials that the flags name. A path that begins with / or . is a file
// whatever is in its name.
func (f *Tokens) Shared() (out []access.Shared, _ error) {
	for i, value := range slices.Concat(f.PushToken, f.Relays) {
		cluster, file, named := strings.Cut(value, "=")
		named = named && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ".")
		if !named {
			cluster, file = "", value
		}
		if file == "" || named && cluster == "" {
			return nil, f.wrong(i, errors.New("want FILE or CLUSTER=FILE"))
		}
		out = append(out, access.Shared{Cluster: cluster, Token: daemon.Token(file), Relay: i >= len(f.PushToken)})
	}
	return out, nil
}

// wrong is a mistake in the flag that gives a credential.
func (f *Tokens) wrong(i int, err error) error {
	if n := len(f.PushToken); i >= n {
		return daemon.WrongValue("push.relay-token-file", f.Relays[i-n], "%w", err)
	}
	return daemon.WrongValue("push.token-file", f.PushToken[i], "%w", err)
}

// Check reads every token once, so that a mistake is told at once. No token may
// speak for two clusters, or for shippers and a relay.
func (f *Tokens) Check() error {
	all, err := f.Shared()
	if err != nil {
		return err
	}
	of := map[string]access.Shared{}
	for i, p := range all {
		token, err := p.Token()
		if other, twice := of[token]; err == nil && twice && other.Relay != p.Relay {
			err = errors.New("shippers have the same token; give relays their own")
		} else if err == nil && twice && other.Cluster != p.Cluster {
			err = errors.New("another file has the same token for another cluster; give each its own")
		}
		if err != nil {
			return f.wrong(i, err)
		}
		of[token] = p
	}
	return errors.Join(daemon.CheckNumber("push.max-body-bytes", f.MaxBody),
		daemon.CheckNumber("push.max-concurrent", f.MaxBusy))
}
