// Package pushers has the flags that say who may push to a server, and read it.
//
// Invariant: flags that contradict each other are an error before anything listens.
//
// Crash behaviour: it keeps no state.
package pushers

import (
	"errors"
	"fmt"
	"strings"

	"coroner/cmd/daemon"
	"coroner/ingest/access"
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
	MaxBody   int64    `name:"push.max-body-bytes" type:"size" help:"Largest body of one push." default:"8MiB"`
	MaxBusy   int      `name:"push.max-concurrent" help:"${serve_push_max_concurrent}" default:"32"`
}

// Shared are the credentials that the flags name. A path that begins with / or . is a file
// whatever is in its name.
func (f *Tokens) Shared() (out []access.Shared, _ error) {
	for _, value := range f.PushToken {
		cluster, file, named := strings.Cut(value, "=")
		named = named && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, ".")
		if !named {
			cluster, file = "", value
		}
		if file == "" || named && cluster == "" {
			return nil, fmt.Errorf("--push.token-file %s: want FILE or CLUSTER=FILE", value)
		}
		out = append(out, access.Shared{Cluster: cluster, Token: daemon.Token(file)})
	}
	return out, nil
}

// Check reads every token once, so that a mistake is told at once. No token may
// speak for two clusters.
func (f *Tokens) Check() error {
	all, err := f.Shared()
	if err != nil {
		return err
	}
	of := map[string]string{}
	for i, p := range all {
		token, err := p.Token()
		if err != nil {
			return fmt.Errorf("--push.token-file %s: %w", f.PushToken[i], err)
		}
		if other, twice := of[token]; twice && other != p.Cluster {
			const same = "--push.token-file %s: another file has the same token for another cluster; give each its own"
			return fmt.Errorf(same, f.PushToken[i])
		}
		of[token] = p.Cluster
	}
	return nil
}
