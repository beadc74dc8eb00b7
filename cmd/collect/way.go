package collect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"coroner/cmd/forward"
)

// way is how requests reach coroner serve: by the API server's proxy, which takes nothing but a
// right to read; or by a forwarded port, where the proxy is refused, or the request has a
// token, which the proxy would take for one of its own.
type way struct {
	api    *API
	to     service
	direct func() (http.RoundTripper, error) // the forwarded port, opened once
}

// service is the Service of coroner serve.
type service struct{ namespace, name, scheme string }

// proxy is its address at the API server.
func (s service) proxy(base string) string {
	scheme := ""
	if s.scheme == "https" {
		scheme = "https:"
	}
	return base + "/api/v1/namespaces/" + s.namespace + "/services/" + scheme + s.name + ":http/proxy"
}

func newWay(api *API, to service) *way {
	w := &way{api: api, to: to}
	w.direct = sync.OnceValues(w.open)
	return w
}

// RoundTrip sends a request to the address of the proxy, or where that leads to.
func (w *way) RoundTrip(req *http.Request) (*http.Response, error) {
	var refused error
	if req.Header.Get("Authorization") == "" {
		res, err := w.api.client.Transport.RoundTrip(req)
		if err != nil || res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusUnauthorized {
			return res, err
		}
		_ = res.Body.Close()
		refused = fmt.Errorf("through services/proxy: %w", Refusal{Code: res.StatusCode})
	}
	direct, err := w.direct()
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	rest := strings.TrimPrefix(req.URL.String(), w.to.proxy(w.api.base))
	to, err := url.Parse(w.to.scheme + "://" + w.to.name + "." + w.to.namespace + rest)
	if err != nil {
		return nil, err
	}
	forwarded := req.Clone(req.Context())
	forwarded.URL, forwarded.Host = to, ""
	res, err := direct.RoundTrip(forwarded)
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	return res, nil
}

// open finds a pod of the Service that is ready, and how to reach it.
func (w *way) open() (http.RoundTripper, error) {
	var slices list[struct {
		Ports []struct {
			Name string
			Port int
		}
		Endpoints []struct {
			Conditions struct{ Ready *bool }
			TargetRef  struct{ Kind, Namespace, Name string }
		}
	}]
	where := "/apis/discovery.k8s.io/v1/namespaces/" + w.to.namespace + "/endpointslices"
	query := url.Values{"labelSelector": {"kubernetes.io/service-name=" + w.to.name}}
	if _, err := w.api.read(context.Background(), where, query, &slices); err != nil {
		return nil, fmt.Errorf("looking for the pods of coroner serve: %w", err)
	}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			for _, p := range s.Ports {
				ready := e.Conditions.Ready == nil || *e.Conditions.Ready
				if !ready || p.Name != "http" || e.TargetRef.Kind != "Pod" || !isPlain(e.TargetRef.Name) {
					continue
				}
				pod := forward.Pod{Namespace: w.to.namespace, Name: e.TargetRef.Name, Port: p.Port}
				return &http.Transport{
					DialContext: forward.Dialer(w.api.config, w.api.base, pod),
					// The API server and the kubelet lead to the pod; nobody else can stand between.
					TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
				}, nil
			}
		}
	}
	return nil, errors.New("no pod of coroner serve is ready")
}
