package web

import (
	"cmp"
	"context"
	"slices"
	"time"

	"coroner/classify/ledger"
)

// health says whether coroner gets what it judges from.
type health struct {
	Agents  int           // nodes whose agent was heard of
	Heard   time.Time     // when the last of them was
	Silent  []ledger.Node // that are not heard of any longer, the latest first
	More    int           // such nodes that are not shown
	Arrived time.Time     // when the last record came; zero = none ever did
	Notes   []string      // what else is amiss, in sentences
	Virgin  bool          // there is no verdict yet
	Local   bool          // only this machine can push
	Now     time.Time
}

const maxSilent = 5

// healthOf asks what has come.
func (p *Pages) healthOf(ctx context.Context) (h health, err error) {
	nodes, err := p.Charts.Nodes(ctx)
	if err != nil {
		return h, err
	}
	h.Agents, h.Now = len(nodes), p.Now()
	for _, n := range nodes {
		if n.Heard.After(h.Heard) {
			h.Heard = n.Heard
		}
		if n.Silent {
			h.Silent = append(h.Silent, n)
		}
	}
	slices.SortStableFunc(h.Silent, func(a, b ledger.Node) int {
		return cmp.Or(b.Heard.Compare(a.Heard), cmp.Compare(a.Name, b.Name))
	})
	if len(h.Silent) > maxSilent {
		h.More, h.Silent = len(h.Silent)-maxSilent, h.Silent[:maxSilent]
	}
	if h.Arrived, err = p.Charts.Arrived(ctx); err != nil {
		return h, err
	}
	if p.Notes != nil {
		h.Notes = p.Notes()
	}
	h.Local = p.LocalOnly != nil && p.LocalOnly()
	oldest, err := p.Charts.Oldest(ctx)
	h.Virgin = oldest.IsZero()
	return h, err
}
