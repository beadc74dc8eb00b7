package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coroner/ingest/kubehttp"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster says which API server is asked, as kubectl is told.
type Cluster struct {
	Kubeconfig string `help:"Kubeconfig file. Default: as kubectl has it." placeholder:"FILE"`
	Context    string `help:"Context of the kubeconfig. Default: the current one." placeholder:"NAME"`
}

// API is an API server, asked for objects as it has them.
type API struct {
	base      string
	client    *http.Client
	config    *rest.Config
	Namespace string // of the context
}

// timeout is how long one answer may take.
const timeout = time.Minute

// Connect reads the kubeconfig. It asks nobody.
func (c Cluster) Connect() (*API, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: c.Context})
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster: there is no kubeconfig; --kubeconfig FILE and --context NAME say which")
	}
	if err != nil {
		return nil, fmt.Errorf("no cluster: %w; --kubeconfig FILE and --context NAME say which", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("no namespace: %w", err)
	}
	config.WarningHandler, config.UserAgent = rest.NoWarnings{}, "coroner"
	client, base, err := kubehttp.New(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	client.Timeout = timeout
	return &API{strings.TrimRight(base.String(), "/"), client, config, namespace}, nil
}

// Refusal is an answer that is none.
type Refusal struct {
	Code   int
	Reason string // the API's word for it
}

// Error says it without the names of objects, which stand in the API's own message: a line
// like that is evidence where it comes from kubectl.
func (r Refusal) Error() string {
	switch r.Code {
	case http.StatusForbidden, http.StatusUnauthorized:
		return fmt.Sprintf("you may not read it (%d)", r.Code)
	case http.StatusNotFound:
		return "it is not there (404)"
	}
	return strings.TrimSpace(fmt.Sprintf("the API server answers %d %s", r.Code, r.Reason))
}

func isMissing(err error) bool {
	var r Refusal
	return errors.As(err, &r) && r.Code == http.StatusNotFound
}

// maxAnswer is the longest answer that is taken, in bytes; logs are asked for up to it.
const maxAnswer = 64 << 20

// get asks for a path. cut says that there was more than is taken.
func (a *API) get(ctx context.Context, path string, query url.Values) (data []byte, cut bool, err error) {
	address := a.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, err
	}
	res, err := a.client.Do(req)
	var failed *url.Error
	switch {
	case errors.As(err, &failed):
		return nil, false, fmt.Errorf("the API server does not answer: %w", failed.Err)
	case err != nil:
		return nil, false, err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if res.StatusCode != http.StatusOK {
		var status struct{ Reason string }
		_ = json.Unmarshal(data, &status) // a refusal without a reason is one, too
		return nil, false, Refusal{res.StatusCode, status.Reason}
	}
	if err != nil {
		return nil, false, fmt.Errorf("the answer breaks off: %w", err)
	}
	return data[:min(len(data), maxAnswer)], len(data) > maxAnswer, nil
}

// read asks for an object.
func (a *API) read(ctx context.Context, path string, query url.Values, into any) ([]byte, error) {
	data, cut, err := a.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("it is larger than %d MiB", maxAnswer>>20)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("the answer is no object: %w", err)
	}
	return data, nil
}
