// Package pushers has the flags that say who may push to a server, and read it.
//
// Invariant: flags that contradict each other are an error before anything listens.
//
// Crash behaviour: it keeps no state.
package pushers

import (
	"errors"
	"fmt"
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
			return fmt.Errorf("--push.agent-account %s: want NAMESPACE/NAME", a)
		}
	}
	if len(f.AgentAccount) == 0 && len(f.Review) > 0 {
		return errors.New("--push.review: say whose tokens are agents' with --push.agent-account NAMESPACE/NAME")
	}
	seen := map[string]bool{}
	for _, r := range f.Review {
		cluster, file, ok := strings.Cut(r, "=")
		if !ok || cluster == "" || file == "" || seen[cluster] {
			return fmt.Errorf("--push.review %s: want CLUSTER=KUBECONFIG, once for each cluster", r)
		}
		seen[cluster] = true
	}
	return nil
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
			return nil, fmt.Errorf("%s: want FILE or CLUSTER=FILE", f.flagOf(i))
		}
		out = append(out, access.Shared{Cluster: cluster, Token: daemon.Token(file), Relay: i >= len(f.PushToken)})
	}
	return out, nil
}

// flagOf is the flag, with its value, that gives a credential.
func (f *Tokens) flagOf(i int) string {
	if n := len(f.PushToken); i >= n {
		return "--push.relay-token-file " + f.Relays[i-n]
	}
	return "--push.token-file " + f.PushToken[i]
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
		if err != nil {
			return fmt.Errorf("%s: %w", f.flagOf(i), err)
		}
		if other, twice := of[token]; twice && other.Relay != p.Relay {
			return fmt.Errorf("%s: shippers have the same token; give relays their own", f.flagOf(i))
		} else if twice && other.Cluster != p.Cluster {
			const same = "%s: another file has the same token for another cluster; give each its own"
			return fmt.Errorf(same, f.flagOf(i))
		}
		of[token] = p
	}
	return nil
}
