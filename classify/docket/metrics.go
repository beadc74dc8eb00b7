package docket

import (
	"time"

	"coroner/classify/ledger"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the docket counts.
type Metrics struct {
	verdicts  *prometheus.CounterVec
	revisions *prometheus.CounterVec
	latency   prometheus.Histogram
	matches   *prometheus.CounterVec
	filed     *prometheus.CounterVec
	dropped   *prometheus.CounterVec
	gaps      *prometheus.CounterVec
	removed   *prometheus.CounterVec
	forced    prometheus.Counter
	short     prometheus.Counter

	pools map[pool]bool // that have a label of their own; used by who judges, one at a time
}

// maxPools is how many pools are told apart in metrics: what a pool is called, logs
// say.
const maxPools = 500

// pool is a pool of a cluster.
type pool struct{ cluster, name string }

// whose are the labels of a verdict's cluster and pool.
func (m *Metrics) whose(v *rules.Verdict) pool {
	p := pool{v.Cluster, v.Pool}
	if !m.pools[p] && len(m.pools) >= maxPools {
		return pool{name: "others"}
	}
	m.pools[p] = true
	return p
}

// NewMetrics registers the docket's metrics. A runner's name is never a label.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		pools: map[pool]bool{},
		verdicts: vec("coroner_verdicts_total", "First verdicts recorded, one for each runner that ended.",
			"verdict", "confidence", "domain", "cluster", "pool"),
		revisions: vec("coroner_verdict_revisions_total",
			"Verdicts changed by late evidence: what they are and were, and what changed (label, confidence, detail).",
			"verdict", "confidence", "domain", "cluster", "pool", "was", "change"),
		latency: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "coroner_verdict_latency_seconds",
			Help:    "Time from a death to its first verdict.",
			Buckets: []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3600},
		}),
		matches: vec("coroner_rule_matches_total", "Verdicts by the rule that gave them, revisions included.", "rule"),
		filed:   vec("coroner_entries_total", "Entries received, by what became of them.", "kind"),
		dropped: vec("coroner_dropped_lines_total", "Lines received and not kept, by reason.", "reason"),
		gaps:    vec("coroner_coverage_gaps_total", "Gaps in the logs, as their readers report them.", "source"),
		removed: vec("coroner_swept_total", "What retention removed.", "kind"),
		short: f.NewCounter(prometheus.CounterOpts{Name: "coroner_short_lines_total",
			Help: "Lines with so many possible signals that not all of them were checked."}),
		forced: f.NewCounter(prometheus.CounterOpts{Name: "coroner_cases_forced_total",
			Help: "Open cases judged early because there were too many."}),
	}
}

func (m *Metrics) received(b *batch) {
	for kind, n := range map[string]int{
		"evidence":   b.evidence,
		"repeated":   b.repeated,
		"mark":       b.marks,
		"last-words": b.words,
	} {
		m.filed.WithLabelValues(kind).Add(float64(n))
	}
	m.dropped.WithLabelValues("unrecognised").Add(float64(b.unknown))
	m.dropped.WithLabelValues("flood").Add(float64(b.flooded))
	m.dropped.WithLabelValues("other-node").Add(float64(b.elsewhere))
	m.short.Add(float64(b.short))
	for source, n := range b.gaps {
		m.gaps.WithLabelValues(source).Add(float64(n))
	}
}

func (m *Metrics) countJudged(v *rules.Verdict, now time.Time) {
	m.matches.WithLabelValues(v.Rule).Inc()
	of := m.whose(v)
	if was := v.Revises; was != nil {
		m.revisions.WithLabelValues(string(v.Label), string(v.Confidence), v.Domain, of.cluster, of.name,
			string(was.Label), v.Change()).Inc()
		return
	}
	m.verdicts.WithLabelValues(string(v.Label), string(v.Confidence), v.Domain, of.cluster, of.name).Inc()
	if v.DiedAt != nil {
		m.latency.Observe(max(0, now.Sub(*v.DiedAt).Seconds()))
	}
}

func (m *Metrics) countSwept(s ledger.Swept) {
	m.removed.WithLabelValues("verdicts").Add(float64(s.Verdicts))
	m.removed.WithLabelValues("evidence").Add(float64(s.Evidence))
	m.removed.WithLabelValues("cases").Add(float64(s.Cases))
	m.removed.WithLabelValues("completed").Add(float64(s.Completed))
}
