package docket

import (
	"fmt"
	"testing"
	"time"

	"coroner/classify/ledger"

	"github.com/prometheus/client_golang/prometheus"
)

// However many nodes agents claim to be on, so many series and no more come of it: those
// beyond the most are one, which shows the worst of them.
func TestNodesInMetricsAreBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, n := range []int{3, maxNodes, maxNodes + 500} {
		var nodes []ledger.Node
		for i := range n {
			nodes = append(
				nodes,
				ledger.Node{Name: fmt.Sprintf("n-%06d", i), Heard: now.Add(-time.Duration(i) * time.Second)},
			)
		}
		nodes[n-1].Reached = now.Add(-time.Hour)
		s, shown := NewState(nil, func() time.Time { return now }), map[string]float64{}
		s.showNodes(nodes, func(d *prometheus.Desc, v float64, of ...string) {
			if d == s.heard || of[1] == "others" {
				shown[fmt.Sprint(of[1], d == s.lag)] = v
			}
		})
		if n <= maxNodes {
			if len(shown) != n {
				t.Errorf("%d series of %d nodes", len(shown), n)
			}
			continue
		}
		if len(shown) != maxNodes+2 || shown["others"+"false"] != float64(n-1) || shown["others"+"true"] != 3600 {
			t.Errorf("%d series of %d nodes; the others were heard %v ago and lag %v", len(shown), n,
				shown["othersfalse"], shown["otherstrue"])
		}
	}
}
