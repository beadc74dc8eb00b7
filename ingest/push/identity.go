package push

import (
	"context"
	"fmt"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Identity is for whom a pusher's credential speaks, as far as it says. The zero
// value says nothing: then the pusher's own header and labels count. What the
// handler hands on is whose push it is.
type Identity struct {
	Cluster string // every record of the push is of it; "" = of any, with Node of the server's own
	Node    string // the agent's node; "" = any
	Agent   bool   // it is an agent's
	Relay   bool   // it is the relay's of Cluster, which says what its Kubernetes API says
}

type identityKey struct{}

// WithIdentity returns a context of a request whose credential was checked.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityFrom returns the identity that was checked; ok is false when nobody
// checked any.
func IdentityFrom(ctx context.Context) (id Identity, ok bool) {
	id, ok = ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// otherCluster is a record that a credential does not speak for.
type otherCluster struct{ named, allowed string }

func (e otherCluster) Error() string {
	return fmt.Sprintf("a stream names cluster %.100q and this credential is that of cluster %q: "+
		"push with the credential of that cluster, or without the label", e.named, e.allowed)
}

// allowsCluster is an error where labels name another cluster than the credential does.
func (id Identity) allowsCluster(labels map[string]string) error {
	if named := logtext.ClusterOf(labels); id.Cluster != "" && named != "" && named != id.Cluster {
		return otherCluster{named, id.Cluster}
	}
	return nil
}

// allowsNode is the same, and of who proves its node more: the server's own cluster is
// one, also where it has no name.
func (s speaker) allowsNode(labels map[string]string) error {
	if named := logtext.ClusterOf(labels); s.proven && s.Cluster == "" && named != "" {
		return otherCluster{named, ""}
	}
	return s.Identity.allowsCluster(labels)
}

// placeEntries gives entries that name no cluster the credential's.
func (id Identity) placeEntries(entries []ingest.Entry) {
	for i := range entries {
		if entries[i].Cluster == "" {
			entries[i].Cluster = id.Cluster
		}
	}
}
