package github

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the poller counts.
type Metrics struct {
	questions *prometheus.CounterVec
	open      prometheus.Gauge
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	return &Metrics{
		questions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_github_questions_total",
			Help: "Questions about jobs put to GitHub, by outcome: answered, " +
				"unknown (no such job, or not for this token), limited (GitHub's rate limit), " +
				"failed, dropped (too many waited).",
		}, []string{"outcome"}),
		open: f.NewGauge(prometheus.GaugeOpts{
			Name: "coroner_github_open_questions",
			Help: "Questions that wait for their time.",
		}),
	}
}

func (m *Metrics) countAsked(outcome string) { m.questions.WithLabelValues(outcome).Inc() }
