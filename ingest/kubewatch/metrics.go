package kubewatch

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the watcher counts. An object's name is never a label.
type Metrics struct {
	up      *prometheus.GaugeVec
	objects *prometheus.CounterVec
	dropped *prometheus.CounterVec

	troubles troubles
}

// forget takes back what is said of a resource that is watched no longer.
func (m *Metrics) forget(r resource) {
	m.up.DeleteLabelValues(r.namespace, r.name)
	m.Note(r.String(), Trouble{})
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	return &Metrics{
		up: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "coroner_kube_watch_up",
			Help: "Whether the Kubernetes API lets coroner watch a resource: 1 yes, 0 not now.",
		}, []string{"namespace", "resource"}),
		objects: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_kube_objects_total",
			Help: "Objects that the Kubernetes API told of: listed, added, modified, deleted, " +
				"or gone unseen while a watch was broken.",
		}, []string{"resource", "event"}),
		dropped: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_kube_dropped_total",
			Help: "Facts of objects that were not kept, by reason: " +
				"flood is an object or a pod's events that say too much.",
		}, []string{"resource", "reason"}),
	}
}
