package github

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what is counted of GitHub's answers and deliveries.
type Metrics struct {
	questions *prometheus.CounterVec
	open      prometheus.Gauge

	deliveries *prometheus.CounterVec
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
		deliveries: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_github_deliveries_total",
			Help: "Deliveries of GitHub's webhook, by outcome: taken, ignored (another event, or a job for a runner " +
				"of GitHub's), refused (not signed, or not readable), failed.",
		}, []string{"outcome"}),
	}
}

func (m *Metrics) countAsked(outcome string) { m.questions.WithLabelValues(outcome).Inc() }
