package prefilter

import (
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

var minuteOf = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// learn has a line read in full: what a reader makes of it is given.
func learn(t *testing.T, h *Heads, line string, w Writer) {
	t.Helper()
	st, rest, ok := logtext.HostStamp(line)
	if !ok {
		t.Fatalf("%q has no time", line)
	}
	at := minuteOf.Add(time.Duration(st.Sec)*time.Second + time.Duration(st.Nano))
	h.Learn(w, at, ingest.WallClock, st, line, rest, nil)
}

var (
	kubelet = Writer{Node: "n-1", Unit: "kubelet", Source: ingest.Kubelet, Trust: ingest.Claimed}
	sshd    = Writer{Node: "n-1", Unit: "sshd", Source: ingest.Unknown, Trust: ingest.Claimed}
)

// A line of the same minute and writer is told by its beginning: who, when to the
// microsecond, and the text. One of another minute, host, program or form is not.
func TestKnownLines(t *testing.T) {
	for name, c := range map[string]struct {
		learnt, known, text string
		past                time.Duration
	}{
		"ISO with another process id": {
			"2026-05-04T10:00:01.5Z n-1 kubelet[812]: first", "2026-05-04T10:00:07.250000Z n-1 kubelet[9]: second one",
			"second one", 7250 * time.Millisecond,
		},
		"syslog": {
			"May 04 10:00:01 n-1 kubelet[812]: first", "May 04 10:00:59 n-1 kubelet[812]: ", "", 59 * time.Second,
		},
	} {
		var h Heads
		learn(t, &h, c.learnt, kubelet)
		l, ok := h.Match([]byte(c.known))
		if !ok || l.Writer != kubelet || string(l.Text) != c.text || !l.At.Equal(minuteOf.Add(c.past)) ||
			l.Clock != ingest.WallClock {
			t.Errorf("%s: %v %+v", name, ok, l)
		}
	}
	var h Heads
	learn(t, &h, "2026-05-04T10:00:01.5Z n-1 kubelet[812]: first", kubelet)
	learn(t, &h, "2026-05-04T10:00:02.5Z n-1 sshd[7]: first", sshd)
	if l, ok := h.Match([]byte("2026-05-04T10:00:03.5Z n-1 sshd[8]: x")); !ok || l.Writer != sshd {
		t.Errorf("the second writer: %v %+v", ok, l)
	}
	for _, line := range []string{
		"", "plain", "2026-05-04T10:01:01.5Z n-1 kubelet[812]: next minute",
		"2026-05-04T10:00:01.5Z n-2 kubelet[812]: host",
		"2026-05-04T10:00:01.5Z n-1 containerd[1]: program", "2026-05-04T10:00:01.5+02:00 n-1 kubelet[812]: zone",
		"2026-05-04T10:00:61.5Z n-1 kubelet[812]: leap second", "2026-05-04T10:00:01.1234567Z n-1 kubelet[812]: finer",
		"May 04 10:00:01 n-1 kubelet[812]: form", "2026-05-04T10:00:01.5Z n-1 kubelet[812]",
		"2026-05-04T10:00:01.5Z n-1",
		"2026-05-04T10:00:01.5Z n-1 kubelet[x]: id", "2026-05-04T10:00:01.Z n-1 kubelet[812]: no digit",
	} {
		if l, ok := h.Match([]byte(line)); ok {
			t.Errorf("%q is known: %+v", line, l)
		}
	}
}

// Reading in full tells more of some lines than their head does; those are never skipped.
func TestOnlyText(t *testing.T) {
	for _, c := range []struct {
		source ingest.Source
		clock  ingest.Clock
		text   string
		only   bool
	}{
		{ingest.Kubelet, ingest.WallClock, `I0504 10:00:00.000000 1 a.go:1] "m"`, true},
		{ingest.Kubelet, ingest.WallClock, "", false},
		{ingest.Kubelet, ingest.WallClock, "\tklog goes on", false},
		{ingest.Kubelet, ingest.WallClock, " klog goes on", false},
		{ingest.Kernel, ingest.WallClock, "[  123.456789] eth0: up", true},
		{ingest.Kernel, ingest.WallClock, "[  123.45] eth0: up", false},
		{ingest.Kernel, ingest.WallClock, "[a] eth0: up", false},
		{ingest.Kubelet, ingest.WallClock, "[  123.456789] eth0: up", false},
		{ingest.Unknown, ingest.WallClock, "2026-05-04 10:00:00Z: Listening", false},
		{ingest.Unknown, ingest.WallClock, "2026 lines were read in all", true},
		{ingest.Containerd, ingest.WallClock, `time="2026-05-04T10:00:00Z" level=info msg=x`, true},
		{ingest.Containerd, ingest.LocalClock, `time="2026-05-04T10:00:00Z" level=info msg=x`, false},
		{ingest.Containerd, ingest.WallClock, `level=info msg=x source=virtcontainers`, false},
		{ingest.Systemd, ingest.WallClock, "Suppressed 3 messages from kubelet.service", false},
		{ingest.Systemd, ingest.WallClock, "Missed 3 kernel messages", false},
		{ingest.Systemd, ingest.WallClock, "Started kubelet.service.", true},
	} {
		l := KnownLine{Writer: Writer{Source: c.source}, Clock: c.clock, Text: []byte(c.text)}
		if got := l.OnlyText(); got != c.only {
			t.Errorf("%s %q: %v, want %v", c.source, c.text, got, c.only)
		}
	}
}
