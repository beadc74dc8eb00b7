package docket

import (
	"context"
	"time"

	"coroner/classify/ledger"

	"github.com/prometheus/client_golang/prometheus"
)

// State shows what the ledger holds as metrics, read when they are asked for.
type State struct {
	ledger *ledger.Ledger
	now    func() time.Time

	cases, lag, heard, size, open *prometheus.Desc
}

// NewState returns the collector.
func NewState(l *ledger.Ledger, now func() time.Time) *State {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &State{
		ledger: l,
		now:    now,
		cases:  desc("coroner_cases", "Runners in the ledger by state: open, ending, judged.", "state"),
		lag: desc("coroner_node_lag_seconds",
			"How far behind now everything on the node has been read. Beyond 10000 nodes the others are one.",
			"cluster", "node"),
		heard: desc("coroner_node_heard_seconds",
			"Time since the node's agent last pushed. Beyond 10000 nodes the others are one.", "cluster", "node"),
		size: desc("coroner_ledger_bytes", "Size of the ledger's file."),
		open: desc("coroner_open_verdicts",
			"Verdicts on what is wrong now: those that have no end yet. Of the pools with the most.",
			"verdict", "cluster", "pool"),
	}
}

// Describe implements prometheus.Collector.
func (s *State) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.cases, s.lag, s.heard, s.size, s.open} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counts, err := s.ledger.CountCases(ctx)
	for _, state := range []ledger.State{ledger.StateOpen, ledger.StateEnding, ledger.StateJudged} {
		if err == nil {
			gauge(s.cases, float64(counts[state]), string(state))
		}
	}
	if nodes, err := s.ledger.Nodes(ctx); err == nil {
		s.showNodes(nodes, gauge)
	}
	gauge(s.size, float64(s.ledger.Size()))
	open, err := s.ledger.CountOpen(ctx, maxPools)
	for _, c := range open {
		if err == nil {
			gauge(s.open, float64(c.N), string(c.Label), c.Cluster, c.Pool)
		}
	}
}

// maxNodes is how many nodes are told apart in metrics: what a node is called, its agent
// says, and not every credential proves it.
const maxNodes = 10_000

// showNodes shows how far behind each node is; those beyond the most that are told apart
// as one, by the worst of them.
func (s *State) showNodes(nodes []ledger.Node, gauge func(*prometheus.Desc, float64, ...string)) {
	var heard, lag float64
	for i, n := range nodes {
		silent, behind := s.now().Sub(n.Heard).Seconds(), s.now().Sub(n.Reached).Seconds()
		unread := n.Reached.IsZero() // its agent has not said yet how far it has read
		if i >= maxNodes {
			if heard = max(heard, silent); !unread {
				lag = max(lag, behind)
			}
			continue
		}
		gauge(s.heard, silent, n.Cluster, n.Name)
		if !unread {
			gauge(s.lag, behind, n.Cluster, n.Name)
		}
	}
	if len(nodes) > maxNodes {
		gauge(s.heard, heard, "", "others")
		gauge(s.lag, lag, "", "others")
	}
}
