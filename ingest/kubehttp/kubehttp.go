// Package kubehttp asks a Kubernetes API server by plain HTTP, for those who need
// one or two kinds of objects and no typed client.
//
// Invariant: the client has the credentials of the configuration, and sends
// them to the address that it names.
//
// Crash behaviour: none, it keeps nothing.
package kubehttp

import (
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// New returns a client for the API server and the server's address; it asks nothing yet.
func New(config *rest.Config) (*http.Client, *url.URL, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("the API server's configuration: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("the API server's address: %w", err)
	}
	return client, base, nil
}
