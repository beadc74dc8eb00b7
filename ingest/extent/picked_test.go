package extent

import (
	"testing"

	"coroner/ingest"
)

// A log of which all lines have a word in common, or none is of everyday severity, was thinned out.
func TestPicked(t *testing.T) {
	const uid = "66ee6d80-be4b-4fd5-acce-923239d8ef93"
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"by a pod's name": {[]string{`"SyncLoop ADD" pods=["arc/plover-runner-0s9dk"]`,
			`RunPodSandbox for name:"plover-runner-0s9dk" uid:"` + uid + `"`, `"Killing" pod="arc/plover-runner-0s9dk"`,
			`StopPodSandbox of plover-runner-0s9dk`}, "plover-runner-0s9dk"},
		"by a UID that begins as a year does": {[]string{"2031aa17-be4b-4fd5 a", "2031aa17-be4b-4fd5 b",
			"2031aa17-be4b-4fd5 c", "d 2031aa17-be4b-4fd5"}, "2031aa17-be4b-4fd5"},
		"three lines of one pod": {[]string{"plover-runner-0s9dk", "a plover-runner-0s9dk",
			"plover-runner-0s9dk b"}, ""},
		"and one of another": {[]string{"plover-runner-0s9dk a", "plover-runner-0s9dk b", "c plover-runner-0s9dk",
			"plover-runner-77aa2", "d plover-runner-0s9dk"}, ""},
		"by a word, in any case": {[]string{"dockerd invoked oom-killer", "Out of memory: Killed process 1",
			"killing 2", "systemd: KILL"}, "kill"},
		"by severity": {[]string{"W0914 19:11:42.0    1212 a.go:1] x", "E0914 19:11:43.0 1212 b.go:1] y",
			`time="2026-09-14T19:00:00Z" level=warning msg="z"`, "W0914 19:11:44.0 1212 c.go:1] u"}, "severity"},
		"of every severity": {[]string{"W0914 19:11:42.0    1212 a.go:1] x", "E0914 19:11:43.0 1212 b.go:1] y",
			"I0914 19:11:43.500000    1212 b.go:1] v", "W0914 19:11:44.0 1212 c.go:1] u",
			"W0914 19:11:45.0 1212 c.go:1] w"}, ""},
		"the day and the node are no names": {[]string{"2026-09-14T19 heron-11-a1b2 a", "2026-09-14T19 heron-11-a1b2 b",
			"2026-09-14T19 heron-11-a1b2 c", "2026-09-14T19 heron-11-a1b2 d"}, ""},
		"lines of a kernel": {[]string{"eth0: renamed from veth3c", "IPv4: martian source 10.2.0.9", "eth1: link is up",
			"nf_conntrack: table full"}, ""},
	} {
		var p Picked
		for _, l := range c.lines {
			if p.IsOpen(ingest.Kubelet) {
				p.Saw(ingest.Kubelet, "heron-11-a1b2", []byte(l))
			}
		}
		if got := p.By(); got != c.want {
			t.Errorf("%s: by %q, want %q", name, got, c.want)
		}
	}
}
