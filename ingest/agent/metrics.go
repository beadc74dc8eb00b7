package agent

import (
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/spool"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what the agent counts. lines = matched + dropped, by source.
type metrics struct {
	factory promauto.Factory

	lines, matched, dropped, signals, pushes     *prometheus.CounterVec
	contextLines, spoolErrors, bookErrors, short prometheus.Counter
	lag                                          *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer, s *spool.Spool) *metrics {
	f := promauto.With(r)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "coroner_agent_" + name, Help: help}, labels)
	}
	one := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "coroner_agent_" + name, Help: help})
	}
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "coroner_agent_" + name, Help: help}, value)
	}
	gauge("spool_bytes", "Size of what waits to be sent.", func() float64 { n, _ := s.Size(); return float64(n) })
	gauge("spool_files", "Pushes that wait to be sent.", func() float64 { _, n := s.Size(); return float64(n) })
	return &metrics{
		factory:      f,
		lines:        vec("lines_total", "Lines read.", "source"),
		matched:      vec("matched_lines_total", "Lines that the rulebook recognises.", "source"),
		dropped:      vec("dropped_lines_total", "Lines read and not sent, by reason.", "source", "reason"),
		signals:      vec("signals_total", "Recognised lines by signal.", "signal"),
		pushes:       vec("pushes_total", "Pushes to the server, by result.", "result"),
		contextLines: one("context_lines_total", "Last words sent."),
		spoolErrors:  one("spool_errors_total", "Failed writes to the spool."),
		short: one("short_lines_total",
			"Lines with so many possible signals that not all of them were checked."),
		bookErrors: one("rulebook_errors_total", "Failed fetches of the server's rulebook."),
		lag: f.NewGaugeVec(prometheus.GaugeOpts{Name: "coroner_agent_lag_seconds",
			Help: "How far behind now a source is read."}, []string{"source"}),
	}
}

// addReaders adds what the readers know of themselves.
func (m *metrics) addReaders(j *journal.Reader, p *podlog.Reader) {
	gauge := func(name, help string, value func() float64) {
		m.factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "coroner_agent_" + name, Help: help}, value)
	}
	gauge("journal_unreadable", "1 while journal files are there and nothing of them can be read.", func() float64 {
		if j.Unreadable() {
			return 1
		}
		return 0
	})
	gauge("open_log_files", "Pod logs that are open.", func() float64 { return float64(p.Open()) })
}
