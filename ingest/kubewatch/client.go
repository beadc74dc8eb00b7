package kubewatch

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var framer = kjson.Framer

// ErrNoToken says that a pod has nothing to show to the API server.
var ErrNoToken = errors.New("this pod has no service-account token")

// Config says how to reach the API server: as a kubeconfig file says, or as
// every pod is told where there is none.
func Config(file string) (*rest.Config, error) {
	if file == "" {
		c, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("this is no pod of a cluster: name a kubeconfig with --kube.config FILE")
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: set automountServiceAccountToken, or name a kubeconfig with --kube.config FILE (%w)",
				ErrNoToken, err)
		}
		return c, err
	}
	c, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", file, err)
	}
	return c, nil
}

// newClient returns a client that reads answers with a codec.
func newClient(config *rest.Config, by codec) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = by
	c.AcceptContentTypes, c.ContentType = "application/json", "application/json"
	c.UserAgent = "coroner"
	c.QPS, c.Burst = 50, 100 // the library's 5 are too few for the watches of many namespaces
	c.WarningHandler = rest.NoWarnings{}
	return rest.UnversionedRESTClientFor(c)
}

// unsupported says whether the server does not know a watch that begins with
// what is there.
func unsupported(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// adviceFor says in one line what is wrong with the API server and what to do.
func (r resource) adviceFor(verb string, err error) string {
	scope, kind := " in namespace "+r.namespace, "Role"
	if r.namespace == "" {
		scope, kind = " in the cluster", "ClusterRole"
	}
	var away *url.Error
	switch {
	case apierrors.IsForbidden(err):
		line := fmt.Sprintf("may not %s %s%s: give its service account a %s with the verbs get, list, watch on %s",
			verb, r.name, scope, kind, r.name)
		if g := r.group(); g != "" {
			line += " of the API group " + g
		}
		if cost := costs[r.name]; cost != "" {
			line += "; until then " + cost
		}
		if r.namespace != "" {
			line += "; where the namespace was deleted, its Role went with it"
		}
		return line
	case apierrors.IsUnauthorized(err):
		return "the API server rejects the token: it is wrong or has expired; mount a new one, or correct --kube.config"
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("the API server knows no %s%s; what makes them is not installed", r.name, scope)
	case errors.As(err, &away): // the address in it is never twice the same
		return "the API server does not answer: " + away.Err.Error()
	}
	return fmt.Sprintf("cannot %s %s%s: %v", verb, r.name, scope, err)
}
