package lookup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Siblings are the runners that died on one node at about one time: a cause
// that strikes many is the node's, one that strikes one is the job's.
type Siblings struct {
	Within string    `json:"within"` // how far from this death: "10m"
	Of     int       `json:"of"`     // runners that were on the node then, this one included
	Died   []Sibling `json:"died"`   // the deaths, this one included if it is one, the latest recorded first
	More   bool      `json:"more"`   // Died is cut off
}

// Sibling is one of them.
type Sibling struct {
	ID         string           `json:"id"`
	Runner     string           `json:"runner"`
	Namespace  string           `json:"namespace"`
	Label      rules.Label      `json:"verdict"`
	Confidence rules.Confidence `json:"confidence"`
	DiedAt     *time.Time       `json:"died_at"`
}

// Page is the address of its page.
func (s Sibling) Page() string { return PagePath(casefile.OfRunner, s.Namespace, s.Runner, s.ID) }

const (
	near        = 10 * time.Minute // siblings died within
	maxSiblings = 100
)

func (a *API) siblings(ctx context.Context, v *rules.Verdict, recorded time.Time) (*Siblings, error) {
	if v.Node == "" || v.DiedAt == nil {
		return nil, nil
	}
	from, to := v.DiedAt.Add(-near), v.DiedAt.Add(near)
	here := ledger.Query{Cluster: &v.Cluster, Node: v.Node, Died: ledger.Between{From: from, To: to},
		Limit: maxSiblings, Brief: true}
	found, err := a.Source.Verdicts(ctx, here)
	if err != nil {
		return nil, err
	}
	out := &Siblings{Within: "10m", Died: []Sibling{}, More: len(found) == maxSiblings}
	for _, r := range found {
		if x := r.Verdict; x.Death() {
			out.Died = append(out.Died, Sibling{r.Case, x.Runner, x.Namespace, x.Label, x.Confidence, x.DiedAt})
		}
	}
	// Who was there is known by when it was heard of last: of an old death that is later.
	if recorded.Sub(*v.DiedAt) < time.Hour {
		out.Of, err = a.Source.RunnersOn(ctx, v.Cluster, v.Node, from, to)
	}
	out.Of = max(out.Of, len(found))
	return out, err
}

// Sentence says it of the runner of case id: 3 of the 14 runners on this node
// died within 10 minutes of this.
func (s *Siblings) Sentence(id string) string {
	died := len(s.Died)
	n := fmt.Sprint(died)
	if s.More {
		n = "at least " + n
	}
	others := died
	if slices.ContainsFunc(s.Died, func(d Sibling) bool { return d.ID == id }) {
		others--
	}
	switch {
	case s.Of <= 1:
		return "Of other runners on this node at that time nothing is known"
	case others == 0 && s.Of == 2:
		return "The other runner on this node did not die within 10 minutes of this"
	case others == 0:
		return fmt.Sprintf("None of the other %d runners on this node died within 10 minutes of this", s.Of-1)
	}
	return fmt.Sprintf("%s of the %d runners on this node died within 10 minutes of this", n, s.Of)
}
