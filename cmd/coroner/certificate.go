package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coroner/cmd/certificate"
	"coroner/ingest/kubewatch"
)

type certificateCmd struct {
	Dir        string   `help:"Folder for ca.crt, tls.crt and tls.key." placeholder:"DIR" xor:"where" required:""`
	Secret     string   `help:"Secret of Kubernetes for them." placeholder:"NAMESPACE/NAME" xor:"where" required:""`
	Host       []string `help:"Name or address of the server." placeholder:"NAME" required:""`
	KubeConfig string   `name:"kube.config" help:"Kubeconfig. Default: the pod's service account." placeholder:"FILE"`
}

// Help is shown by coroner certificate --help.
func (certificateCmd) Help() string {
	return `Makes a certificate for coroner serve, with an authority of its own that agents are told to
trust (--server.ca-file ca.crt), unless a good one is there already. The authority's key is
kept nowhere. The file for --web.config.file:

    tls_server_config: {cert_file: tls.crt, key_file: tls.key}`
}

// certificateTime bounds what the API server may take.
const certificateTime = time.Minute

// Run makes a certificate where none is.
func (c *certificateCmd) Run(p *program) error {
	store, where, err := c.store()
	if err != nil {
		return usage("%w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), certificateTime)
	defer cancel()
	made, err := certificate.Keep(ctx, store, c.Host, p.now())
	switch {
	case err != nil:
		return unreadable("%s: %w", where, err)
	case made == "":
		fmt.Fprintf(p.out, "%s: the certificate that is there is good\n", where)
	default:
		fmt.Fprintf(p.out, "%s: made a certificate: %s\n", where, made)
	}
	return nil
}

func (c *certificateCmd) store() (certificate.Store, string, error) {
	if c.Dir != "" {
		return certificate.Folder(c.Dir), c.Dir, nil
	}
	namespace, name, ok := strings.Cut(c.Secret, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, "", fmt.Errorf("--secret %s: want NAMESPACE/NAME", c.Secret)
	}
	config, err := kubewatch.Config(c.KubeConfig)
	if err != nil {
		return nil, "", err
	}
	s, err := certificate.NewSecret(config, namespace, name)
	return s, "Secret " + c.Secret, err
}
