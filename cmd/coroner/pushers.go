package main

import (
	"fmt"
	"strings"

	"coroner/cmd/daemon"
	"coroner/ingest/access"
)

// pushFlags say who may push.
type pushFlags struct {
	PushToken []string `name:"push.token-file" help:"${serve_push_token_file}" placeholder:"[CLUSTER=]FILE"`
	MaxBody   int64    `name:"push.max-body-bytes" type:"size" help:"Largest body of one push." default:"8MiB"`
	MaxBusy   int      `name:"push.max-concurrent" help:"${serve_push_max_concurrent}" default:"32"`
}

// pushers are those that the flags name. A path that begins with / or . is a file
// whatever is in its name.
func (f *pushFlags) pushers() (out []access.Shared, _ error) {
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

// checkPushes reads every token once, so that a mistake is told at once. No token may
// speak for two clusters.
func (f *pushFlags) checkPushes() error {
	all, err := f.pushers()
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
