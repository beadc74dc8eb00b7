package document

import (
	"testing"
	"time"

	"coroner/ingest"
)

func TestHostLines(t *testing.T) {
	checkLines(t, "node.txt", []wanted{
		{
			line:  "May 04 10:00:00 node-a kernel: hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
			node:  "node-a",
			text:  "hello",
		},
		{
			line:  "May  4 10:00:00.123456 node-a kernel: hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.123456Z",
		},
		{
			line:  "Dec 24 10:00:00 node-a kernel: hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2025-12-24T10:00:00Z",
		},
		{
			line:  "mai 04 10:00:00 node-a kernel: hallo",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
		{
			line:  "5月 04 10:00:00 node-a kernel: hallo",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
		{line: "May 04 10:00:00 node-a kernel[12]: hello", src: ingest.Unknown, text: "hello"},
		{
			line:  "May 04 10:00:00 node-a kernel: [  123.456789] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			text:  "hello",
		},
		{
			line:  "May 04 10:00:00 node-a kubelet[777]: I0504 10:00:00.000001 777 a.go:1] \"Hi\"",
			src:   ingest.Kubelet,
			trust: ingest.Attested,
		},
		{line: "May 04 10:00:00 node-a microk8s.daemon-kubelite[1]: x", src: ingest.Kubelet, trust: ingest.Attested},
		{
			line:  "May 04 10:00:00 node-a containerd[1]: time=\"2026-05-04T08:00:00Z\" level=info msg=\"x\"",
			src:   ingest.Containerd,
			trust: ingest.Attested,
			at:    "2026-05-04T08:00:00Z",
		},
		{
			line: "May 04 10:00:00 node-a containerd[1]: time=\"2026-05-04T10:00:00Z\" level=info msg=\"x\" " +
				"source=katautils",
			src:   ingest.Kata,
			trust: ingest.Attested,
		},
		{line: "May 04 10:00:00 node-a systemd-oomd[1]: Killed /a", src: ingest.Systemd, trust: ingest.Attested},
		{
			line:  "May 04 10:00:00 systemd[1]: no host",
			src:   ingest.Systemd,
			trust: ingest.Attested,
			node:  "-",
			text:  "no host",
		},
		{
			line:  "May 04 10:00:00 node-a systemd-logind: System is powering down.",
			src:   ingest.Systemd,
			trust: ingest.Attested,
		},
		{
			line: "May 04 10:00:00 node-a runsvc.sh[1]: 2026-05-04 10:00:00Z: Listening for Jobs",
			src:  ingest.Runner,
			text: "Listening for Jobs",
		},
		{
			line:  "2026-05-04T12:00:00+0200 node-a kernel: hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
			node:  "node-a",
		},
		{
			line:  "2026-05-04T12:00:00.123456+02:00 node-a kernel: [    1.5000] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.123456Z",
		},
		{
			line:  "Mon 2026-05-04 12:00:00 CEST node-a kubelet.service[12]: x",
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
		{
			line:  "Mon 2026-05-04 12:00:00 XYZ node-a kubelet[12]: x",
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			at:    "2026-05-04T12:00:00Z",
		},
		{
			line:  "1777888800.123456 node-a kernel: x",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.123456Z",
		},
		{line: "<6>May  4 10:00:00 node-a kernel: x", src: ingest.Kernel, trust: ingest.Attested, text: "x"},
		{
			line:  "<30>1 2026-05-04T10:00:00.5Z node-a kubelet 77 - - x",
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.5Z",
			text:  "x",
		},
		{
			line:  `<30>1 2026-05-04T10:00:00Z node-a kubelet 77 ID1 [a@1 b="]"] x`,
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			text:  "x",
		},
		{line: "kernel: x", src: ingest.Kernel, trust: ingest.Attested, at: "-", text: "x"},
		{line: "earlyoom[4]: mem avail: 1", src: ingest.Systemd, trust: ingest.Attested, text: "mem avail: 1"},
	})
}

// TestNoHostLines: what only looks a little like a host's line.
func TestNoHostLines(t *testing.T) {
	for _, line := range []string{
		"result: ok", "Step result: Failed", "foo[12]: bar", "kernel panic", "kubectl: not found", "May be later",
		"Mon dieu 12", "<b>bold</b>", "<999>x", "<6>", "2026-05-04T10:00:00Z Step result: Failed",
		"2026-05-04T10:00:00Z INFO kubelet: x",
	} {
		entries, _ := readAll(t, Document{Name: "x"}, line)
		for _, e := range entries {
			if e.Source.Host() {
				t.Errorf("%q: source %q", line, e.Source)
			}
		}
	}
}

func TestDmesg(t *testing.T) {
	checkLines(t, "dmesg.txt", []wanted{
		{line: "[  123.456789] hello", src: ingest.Kernel, trust: ingest.Attested, at: "-", text: "hello"},
		{line: "[  123.456789][   T28] hello", src: ingest.Kernel, trust: ingest.Attested, text: "hello"},
		{
			line:  "[Mon May  4 10:00:00 2026] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
			text:  "hello",
		},
		{
			line:  "[lun. mai  4 10:00:00 2026] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
		{
			line:  "[Di März 3 10:00:00 2026] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-03-03T10:00:00Z",
		},
		{
			line:  "[mar. mars  3 10:00:00 2026] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-03-03T10:00:00Z",
		},
		{
			line:  "[周一 5月  4 10:00:00 2026] hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
		{line: "[xx yyy  4 10:00:00 2026] hello", src: ingest.Kernel, trust: ingest.Attested, at: "-", text: "hello"},
		{line: "kern  :info  : [  123.456789] hello", src: ingest.Kernel, trust: ingest.Attested, text: "hello"},
		{line: "10.0.0.7: kern:    info: [2026-05-04T10:00:00.5Z]: hello", src: ingest.Kernel, trust: ingest.Attested,
			node: "10.0.0.7", at: "2026-05-04T10:00:00.5Z", text: "hello"},
		{line: "kern: warning: [2026-05-04T10:00:00.5Z]: hello", src: ingest.Kernel, trust: ingest.Attested,
			at: "2026-05-04T10:00:00.5Z", text: "hello"},
		{line: "user: warning: [2026-05-04T10:00:00.5Z]: [talos] hello",
			at: "2026-05-04T10:00:00.5Z", text: "[talos] hello"},
		{line: "some kern: warning: [2026-05-04T10:00:00.5Z]: hello",
			text: "some kern: warning: [2026-05-04T10:00:00.5Z]: hello"},
		{line: "user  :notice: [  123.456789] fake", src: ingest.Unknown, text: "fake"},
		{line: "<6>[  123.456789] hello", src: ingest.Kernel, trust: ingest.Attested, text: "hello"},
		{line: "<14>[  123.456789] fake", src: ingest.Unknown, text: "fake"},
		{
			line:  "2026-05-04T12:00:00,123456+02:00 hello",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00.123456Z",
			text:  "hello",
		},
		{line: "[May 4 10:00] hello", src: ingest.Kernel, trust: ingest.Attested, at: "2026-05-04T10:00:00Z"},
		{line: "[  +0.000123] hello", src: ingest.Kernel, trust: ingest.Attested, at: "-", text: "hello"},
		{line: "[    5.100000] systemd[1]: Starting", src: ingest.Systemd, trust: ingest.Claimed, text: "Starting"},
		{
			line:  "[    5.100000] node-a kubelet[9]: x",
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			node:  "node-a",
			text:  "x",
		},
		{
			line:  "[    5.100000] node-a kernel: x",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			node:  "node-a",
			text:  "x",
		},
		{
			line:  "[    5.100000] usb 1-1: new device",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			node:  "-",
			text:  "usb 1-1: new device",
		},
	})
	if e := one(t, "d", "[  123.456789] x"); e.Clock != ingest.BootClock || e.Mono != 123456789*time.Microsecond {
		t.Errorf("clock %d mono %v", e.Clock, e.Mono)
	}
	for _, line := range []string{"[1/3] building", "[note] x", "[12] y", "[ 4.5% ] done", "[a.b] c"} {
		if e := one(t, "d", line); e.Source != ingest.Unknown {
			t.Errorf("%q: source %q", line, e.Source)
		}
	}
}

func TestBootSeparator(t *testing.T) {
	doc := "-- Journal begins at Mon 2026-05-04 --\n-- Boot aa --\nMay 04 10:00:00 n kernel: a\n-- Boot bb --\n" +
		"May 04 11:00:00 n kernel: b\n-- No entries --\n"
	entries, marks := readAll(t, Document{Ref: at("2026-05-05T00:00:00Z")}, doc)
	if len(entries) != 3 || entries[0].Boot != "aa" || entries[1].Text != "-- Boot bb --" ||
		entries[1].Source != ingest.Systemd ||
		entries[2].Boot != "bb" {
		t.Fatalf("%+v", entries)
	}
	boots := 0
	for _, m := range marks {
		if m.Mark.Kind == ingest.Covered && m.Source == ingest.Kernel {
			boots++
		}
	}
	if boots != 2 {
		t.Errorf("%d boots covered", boots)
	}
}

// TestYears: the year comes from Ref, or from the document's other times, or
// the time stays unknown.
func TestYears(t *testing.T) {
	entries, _ := readAll(t, Document{}, "May 04 10:00:00 n kernel: a\n")
	if e := entries[0]; !e.At.IsZero() || e.Clock != ingest.NoClock {
		t.Errorf("without any year: %v clock %d", e.At, e.Clock)
	}
	doc := "May 04 10:00:00 n kernel: a\nMay 04 10:00:01 n containerd[1]: time=\"2024-05-04T08:00:01Z\" level=info " +
		"msg=x\n"
	entries, _ = readAll(t, Document{}, doc)
	if e := entries[0]; !e.At.Equal(at("2024-05-04T08:00:00Z")) || e.Clock != ingest.LocalClock {
		t.Errorf("year and zone of the other line: %v clock %d", e.At, e.Clock)
	}
	entries, _ = readAll(
		t,
		Document{Zone: time.FixedZone("", 3600), Ref: at("2026-01-02T00:00:00Z")},
		"Dec 31 23:30:00 n kernel: a\n",
	)
	if e := entries[0]; !e.At.Equal(at("2025-12-31T22:30:00Z")) {
		t.Errorf("given zone: %v", e.At)
	}
	entries, _ = readAll(t, Document{Ref: at("2026-06-01T00:00:00Z")},
		"2023-12-31 20:00:00.100\tI0101 01:30:00.000000     812 kubelet.go:1] \"x\"\n")
	if e := entries[0]; !e.At.Equal(at("2024-01-01T01:30:00Z")) {
		t.Errorf("beside a time of another zone: %v", e.At)
	}
	entries, _ = readAll(t, Document{Ref: at("2026-06-01T00:00:00Z")}, "Feb 29 10:00:00 n kernel: a\n")
	if e := entries[0]; !e.At.Equal(at("2024-02-29T10:00:00Z")) {
		t.Errorf("leap day: %v", e.At)
	}
}

// A kernel line can begin with a process's name, and a job chooses that: it tells
// no time.
func TestKernelLinesTellNoTimeOfTheirOwn(t *testing.T) {
	text := "May 04 10:00:00 node kubelet[1]: one\n" +
		"May 04 10:00:05 node kernel: [   12.000001] ts=1777802400 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), " +
		"order=0\n"
	entries, _ := readAll(t, Document{Name: "journal.log", Ref: at("2026-06-01T00:00:00Z")}, text)
	if e := entries[len(entries)-1]; !e.At.Equal(at("2026-05-04T10:00:05Z")) || e.Clock != ingest.LocalClock {
		t.Errorf("%v %v", e.At, e.Clock)
	}
}

// In a journal without host names the name of an unknown program is no host's,
// behind which somebody else could seem to speak.
func TestProgramsAreNoHosts(t *testing.T) {
	for _, line := range []string{"May 04 10:00:57 sshd: kubelet[1]: one",
		"2026-05-04T10:00:57+0200 sshd: kubelet[1]: one"} {
		entries, _ := readAll(t, Document{Name: "journal.log", Ref: at("2026-06-01T00:00:00Z")}, line+"\n")
		if len(entries) != 1 || entries[0].Source == ingest.Kubelet {
			t.Errorf("%q: %+v", line, entries)
		}
	}
}
