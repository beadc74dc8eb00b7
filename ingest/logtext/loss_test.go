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
		{ingest.Unknown, "rsyslogd", "imuxsock[pid 812]: begin to drop messages due to rate-limiting", all},
		{ingest.Unknown, "rsyslogd-2177", "imuxsock lost 50 messages from pid 812 due to rate-limiting", all},
		{ingest.Unknown, "rsyslogd", "main Q: queue is full, dropping messages", all},
		{ingest.Unknown, "rsyslogd", "imuxsock: Acquired UNIX socket '/dev/log'", nil},
		{ingest.Unknown, "rsyslogd", "action-0 queue: 12 messages are kept", nil},
		{ingest.Unknown, "rsyslogd", "imklog: error reading kernel log - shutting down: Bad file descriptor", all[:1]},
		{ingest.Unknown, "rsyslogd", "action 'a-0' suspended (module 'builtin:omfile'), next retry is", all},
		{ingest.Unknown, "rsyslogd", "file '/log/kern.log'[7] write error - OS error: No space left on device", all},
		{ingest.Unknown, "rsyslogd", "action 'action-0-builtin:omfile' resumed (module 'builtin:omfile')", nil},
		{ingest.Kernel, "", "printk: 412 messages suppressed.", all[:1]},
		{ingest.Unknown, "syslog-ng", "Destination queue full, dropping message; queue_len='1000'", all},
		{ingest.Systemd, "", "Forwarding to syslog missed 312 messages.", all},
		{ingest.Systemd, "", "Failed to write entry (24 items, 812 bytes), ignoring: Bad message", all},
		{ingest.Systemd, "", "Failed to write entry to /j/system.journal (24 items, 812 bytes) despite vacuuming, " +
			"ignoring: No space left on device", all},
		{ingest.Systemd, "", "Failed to write the state file", nil},
		{ingest.Systemd, "", "systemd-journald.service: Watchdog timeout (limit 3min)!", all},
		{ingest.Systemd, "", "systemd-journald.service: Main process exited, code=killed, status=6/ABRT", all},
		{ingest.Systemd, "", "systemd-journald.service: Main process exited, code=exited, status=0/SUCCESS", nil},
		{ingest.Systemd, "", "mill.service: Main process exited, code=killed, status=6/ABRT", nil},
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

// A full disk is full for longer than a line about it says; one bad message is one.
func TestLossGoesOn(t *testing.T) {
	for text, want := range map[string]bool{
		"Failed to write entry (9 items, 300 bytes) despite vacuuming, ignoring: No space left on device": true,
		"Failed to write entry (9 items, 300 bytes), ignoring: Read-only file system":                     true,
		"systemd-journald.service: Watchdog timeout (limit 3min)!":                                        true,
		"Failed to write entry (9 items, 300 bytes), ignoring: Bad message":                               false,
		"Suppressed 900 messages from kubelet.service":                                                    false,
		"file '/var/log/kern.log'[7] write error - OS error: No space left on device":                     true,
	} {
		if got := LossGoesOn(text) > 0; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
