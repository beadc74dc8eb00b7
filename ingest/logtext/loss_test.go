package logtext

import (
	"slices"
	"testing"

	"coroner/ingest"
)

// Each program's own words for lost lines are known, the quick look misses none of them, and
// near misses lose nothing.
func TestLostBy(t *testing.T) {
	const slice, limited = "/system.slice/containerd.service", "rate-limiting (20000 allowed within 600 seconds)"
	all := []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Systemd}
	for _, c := range []struct {
		by         ingest.Source
		unit, text string
		want       []ingest.Source
	}{
		{ingest.Systemd, "", "Suppressed 900 messages from kubelet.service", []ingest.Source{ingest.Kubelet}},
		{ingest.Systemd, "", "Suppressed 900 messages from " + slice, []ingest.Source{ingest.Containerd}},
		{ingest.Systemd, "", "Suppressed 900 messages from mill.service", nil},
		{ingest.Systemd, "", "Missed 12 kernel messages", all[:1]},
		{ingest.Systemd, "", "/dev/kmsg buffer overrun, some messages lost.", all[:1]},
		{ingest.Systemd, "", "Missed a stop", nil},
		{ingest.Kernel, "", "** 900 printk messages dropped **", all[:1]},
		{ingest.Kernel, "", "printk: 900 messages dropped", all[:1]},
		{ingest.Kernel, "", "oom_kill_process: 5 callbacks suppressed", all[:1]},
		{ingest.Kernel, "", "net_ratelimit: 5 callbacks suppressed", nil},
		{ingest.Kernel, "", "eth0: 900 packets dropped", nil},
		{ingest.Unknown, "rsyslogd", "imjournal: 900 messages lost due to " + limited, all},
		{ingest.Unknown, "rsyslogd", "imklog: lost 900 messages", all[:1]},
		{ingest.Unknown, "mill", "imklog: lost 900 messages", nil},
		{ingest.Kubelet, "kubelet", "Missed 12 kernel messages", nil},
	} {
		if got := LostBy(c.by, c.unit, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %s: %v, want %v", c.by, c.unit, c.text, got, c.want)
		}
		if c.want != nil && !MayTellLoss(c.by, c.unit, []byte(c.text)) {
			t.Errorf("the quick look misses: %s", c.text)
		}
	}
}
