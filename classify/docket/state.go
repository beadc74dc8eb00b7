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
			"How far behind now everything on the node has been read.", "cluster", "node"),
		heard: desc("coroner_node_heard_seconds", "Time since the node's agent last pushed.", "cluster", "node"),
		size:  desc("coroner_ledger_bytes", "Size of the ledger's file."),
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
	nodes, err := s.ledger.Nodes(ctx)
	for _, n := range nodes {
		if err != nil {
			break
		}
		gauge(s.heard, s.now().Sub(n.Heard).Seconds(), n.Cluster, n.Name)
		if !n.Reached.IsZero() { // its agent has not said yet how far it has read
			gauge(s.lag, s.now().Sub(n.Reached).Seconds(), n.Cluster, n.Name)
		}
	}
	gauge(s.size, float64(s.ledger.Size()))
	open, err := s.ledger.CountOpen(ctx, maxPools)
	for _, c := range open {
		if err == nil {
			gauge(s.open, float64(c.N), string(c.Label), c.Cluster, c.Pool)
		}
	}
}
