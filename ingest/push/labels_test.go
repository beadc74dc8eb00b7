package push

import (
	"testing"

	"github.com/grafana/loki/pkg/push"
)

// What a program gives its own lines as structured metadata names no unit of the host's, unless
// the stream is a journal's by its labels.
func TestMetadataNamesNoUnit(t *testing.T) {
	for _, c := range []struct {
		labels map[string]string
		named  bool
	}{
		{map[string]string{"exporter": "OTLP"}, false},
		{map[string]string{"forwarder": "vector"}, false},
		{map[string]string{}, false},
		{map[string]string{"job": "integrations/kubernetes/journal"}, true},
		{map[string]string{"transport": "stdout"}, true},
	} {
		s := &stream{labels: c.labels}
		got := s.labelsOf(&push.Entry{StructuredMetadata: push.LabelsAdapter{
			{Name: "_SYSTEMD_UNIT", Value: "kubelet.service"}, {Name: "node", Value: "n-1"},
		}})
		if (got["_SYSTEMD_UNIT"] != "") != c.named || got["node"] != "n-1" {
			t.Errorf("%v: %v", c.labels, got)
		}
	}
}
