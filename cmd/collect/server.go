package collect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// serverLabels are those of the Service of coroner serve, as the chart has them.
const serverLabels = "app.kubernetes.io/name=coroner,app.kubernetes.io/component=server"

// Server finds coroner serve by its Service. It is asked through the API server, so that what
// the kubeconfig allows decides: by its proxy, or by a forwarded port, see way. The address is ""
// where there is none.
func (a *API) Server(ctx context.Context) (address string, client *http.Client, err error) {
	var services list[struct {
		object
		Spec struct {
			Ports []struct{ Name, AppProtocol string }
		}
	}]
	_, err = a.read(ctx, "/api/v1/services", url.Values{"labelSelector": {serverLabels}}, &services)
	if err != nil {
		return "", nil, fmt.Errorf("looking for the Service of coroner serve: %w", err)
	}
	for _, s := range services.Items {
		for _, p := range s.Spec.Ports {
			if p.Name != "http" || !isPlain(s.Metadata.Name) || !isPlain(s.Metadata.Namespace) {
				continue
			}
			to := service{s.Metadata.Namespace, s.Metadata.Name, "http"}
			if p.AppProtocol == "https" {
				to.scheme = "https"
			}
			return to.proxy(a.base), &http.Client{Transport: newWay(a, to), Timeout: timeout}, nil
		}
	}
	return "", nil, nil
}
