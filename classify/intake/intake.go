// Package intake files what was pushed, by whose word it is: an agent speaks for the pods
// of its own node, as the API server knows them, a relay for its cluster's API server.
//
// Invariant: of a cluster whose API server says which pods are where, nothing is filed
// from an agent that contradicts it.
//
// Crash behaviour: it keeps no state. Where the pods were that lived before a restart, it
// learns from the ledger.
package intake

import (
	"cmp"
	"context"
	"errors"
	"time"

	"coroner/classify"
	"coroner/classify/docket"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"
)

// Intake takes pushes. Its fields are set before the first one.
type Intake struct {
	Docket *docket.Docket
	Ledger *ledger.Ledger
	Places map[string]*kubewatch.Places // cluster -> where its pods are; of those whose agents prove their node
	Began  time.Time                    // when the server did
}

// listTime is how long agents are asked to retry while the pods are not listed. After
// it, what agents say of pods are claims, until the API server lists them.
const listTime = time.Minute

var errNotListed = errors.New("the Kubernetes API has not yet listed which pods run where")

// Receive files entries of the identity that ctx holds.
func (in *Intake) Receive(ctx context.Context, entries []ingest.Entry) error {
	id, _ := push.IdentityFrom(ctx)
	from := docket.Origin{Shipper: !id.Agent && !id.Relay}
	if places := in.Places[id.Cluster]; id.Agent && places != nil {
		select {
		case <-places.Listed():
		default:
			if time.Since(in.Began) < listTime {
				return errNotListed
			}
		}
		from.Placed = func(p classify.Subject) (here, known bool) {
			pod := kubewatch.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Containers: p.IDs}
			return places.Find(pod, id.Node)
		}
	}
	return in.Docket.ReceiveFrom(ctx, from, entries)
}

// Remember adds a cluster's places, and tells them where the pods were that lived when
// the server last ran: some are gone, and their agents have still to report how.
func (in *Intake) Remember(cluster string, p *kubewatch.Places) error {
	in.Places[cluster] = p
	for _, state := range []ledger.State{ledger.StateOpen, ledger.StateEnding} {
		cases, err := in.Ledger.Cases(context.Background(), state, 0)
		if err != nil {
			return err
		}
		for _, c := range cases {
			if c.Cluster == cluster {
				p.Remember(kubewatch.Pod{Namespace: c.Namespace, Name: c.Name, UID: c.UID}, c.Node)
			}
		}
	}
	return nil
}

// LivingOf is Living where the cluster that is not named is own.
func (in *Intake) LivingOf(own string) func(cluster, namespace string) ([]ingest.Entry, error) {
	return func(cluster, namespace string) ([]ingest.Entry, error) {
		return in.Living(cmp.Or(cluster, own), namespace)
	}
}

// Living names the runners of a namespace that are not known to have ended.
func (in *Intake) Living(cluster, namespace string) (out []ingest.Entry, _ error) {
	open, err := in.Ledger.Cases(context.Background(), ledger.StateOpen, 0)
	for _, c := range open {
		if c.Runner && c.UID != "" && c.Namespace == namespace && c.Cluster == cluster {
			out = append(out, ingest.Entry{
				Cluster:   c.Cluster,
				Namespace: c.Namespace,
				Pod:       c.Name,
				PodUID:    c.UID,
				Node:      c.Node,
			})
		}
	}
	return out, err
}
