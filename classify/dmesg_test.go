package classify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// ringLine is a line of the kernel's ring buffer, and whether a program wrote it there.
type ringLine struct {
	at      time.Time
	text    string
	foreign bool
}

func (l ringLine) facility() (word string, priority int) {
	if l.foreign {
		return "user", 14
	}
	return "kern", 6
}

func (l ringLine) mono() string { return fmt.Sprintf("%12.6f", l.at.Sub(ringBoot).Seconds()) }

var ringBoot = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// ringForms are the ways in which dmesg and journalctl -k print such a line: by the
// clock of the boot, and by the wall's. decoded are those that tell the facility.
var ringForms = []struct {
	name          string
	wall, decoded bool
	line          func(ringLine) string
}{
	{"dmesg", false, false, func(l ringLine) string { return "[" + l.mono() + "] " + l.text }},
	{"dmesg -x", false, true, func(l ringLine) string {
		word, _ := l.facility()
		return fmt.Sprintf("%-6s:info  : [%s] %s", word, l.mono(), l.text)
	}},
	{"dmesg -x with callers", false, true, func(l ringLine) string {
		word, _ := l.facility()
		return fmt.Sprintf("%-6s:info  : [%s] [  T812] %s", word, l.mono(), l.text)
	}},
	{"dmesg -r", false, true, func(l ringLine) string {
		_, priority := l.facility()
		return fmt.Sprintf("<%d>[%s] %s", priority, l.mono(), l.text)
	}},
	{"journalctl -k -o short-monotonic", false, true, func(l ringLine) string {
		if l.foreign {
			return "[" + l.mono() + "] weir-2 tool[77]: " + l.text
		}
		return "[" + l.mono() + "] weir-2 kernel: " + l.text
	}},
	{"dmesg -T", true, false, func(l ringLine) string { return "[" + l.at.Format(time.ANSIC) + "] " + l.text }},
	{"dmesg -x -T", true, true, func(l ringLine) string {
		word, _ := l.facility()
		return fmt.Sprintf("%-6s:warn  : [%s] %s", word, l.at.Format(time.ANSIC), l.text)
	}},
	{"dmesg --time-format iso", true, false, func(l ringLine) string {
		return l.at.Format("2006-01-02T15:04:05,000000-07:00") + " " + l.text
	}},
	{"dmesg -x --time-format iso", true, true, func(l ringLine) string {
		word, _ := l.facility()
		return fmt.Sprintf("%-6s:err   : %s %s", word, l.at.Format("2006-01-02T15:04:05,000000-07:00"), l.text)
	}},
}

const (
	ringUID = "5eb85638-97d3-4ed4-8116-bbbe7d644cf3"
	ringID  = "0c1b2a39485766758493a2b1c0dfeefd0c1b2a39485766758493a2b1c0dfeef0"
)

// ringVerdict is what becomes of a runner that was killed at its memory limit, when
// the kernel's lines of it come in one form beside its node's other logs.
func ringVerdict(t *testing.T, line func(ringLine) string, foreign bool) rules.Verdict {
	t.Helper()
	at := time.Date(2026, 6, 3, 9, 5, 0, 0, time.UTC)
	group := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(
		ringUID,
		"-",
		"_",
	) + ".slice/cri-containerd-" + ringID + ".scope"
	var ring strings.Builder
	for _, l := range []ringLine{
		{at.Add(-5 * time.Minute), "eth0: renamed from veth3c", false},
		{at, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=" + group +
			",task_memcg=" + group + ",task=ld.lld,pid=4242,uid=1001", foreign},
		{at.Add(5 * time.Minute), "eth0: renamed from veth9a", false},
	} {
		ring.WriteString(line(l) + "\n")
	}
	kubelet := func(at, text string) string {
		return "2026-06-03T" + at + "+00:00 weir-2 kubelet[812]: I0603 " + text + "\n"
	}
	node := kubelet("09:00:01", `09:00:01.000000     812 kubelet.go:2515] "SyncLoop ADD" source="api" `+
		`pods=["looms/weft-1"]`) +
		kubelet("09:00:02", `09:00:02.000000     812 kubelet.go:2569] "SyncLoop (PLEG): event for pod" `+
			`pod="looms/weft-1" event={"ID":"`+ringUID+`","Type":"ContainerStarted","Data":"`+ringID+`"}`) +
		kubelet("09:05:00.500000", `09:05:00.500000     812 generic.go:358] "Generic (PLEG): container finished" `+
			`podID="`+ringUID+`" containerID="`+ringID+`" exitCode=137`) +
		kubelet("09:10:01", `09:10:01.000000     812 scope.go:117] "RemoveContainer" containerID="77"`)
	in := fixtures.Incident{
		Name:  "ring",
		Files: []txtar.File{{Name: "dmesg.txt", Data: []byte(ring.String())}, {Name: "node.log", Data: []byte(node)}},
	}
	in.Want.Runner = "weft-1"
	return replayAll(loadBook(t), in)[0]
}

// The forms of one clock give one verdict; what a program wrote into the ring buffer
// confirms nothing where the form tells it.
func TestRingBufferForms(t *testing.T) {
	seen := map[bool]string{}
	for _, f := range ringForms {
		v := ringVerdict(t, f.line, false)
		if v.Label != rules.CgroupOOM {
			t.Errorf("%s: %s", f.name, said(v))
		}
		if first, ok := seen[f.wall]; ok && first != said(v) {
			t.Errorf("%s: %s, others %s", f.name, said(v), first)
		}
		seen[f.wall] = said(v)
		if !f.decoded {
			continue
		}
		if v := ringVerdict(t, f.line, true); v.Confidence == rules.Confirmed {
			t.Errorf("%s: what a program wrote: %s", f.name, said(v))
		}
	}
}

// A panic that root wrote into the kernel's log is never confirmed, nor probable, where that
// log goes on without a boot; a runner that goes on after it did not die of it. Where a boot
// follows, it is believed.
func TestPanicThatTheNodeLivedThrough(t *testing.T) {
	at := time.Date(2026, 6, 3, 9, 5, 0, 0, time.UTC)
	const began = "√ Connected to GitHub\n2026-06-03 09:00:05Z: Listening for Jobs\n2026-06-03 09:00:06Z: " +
		"Running job: e2e\n"
	const went = "2026-06-03 09:09:00Z: Job e2e completed with result: Succeeded\nRunner listener exit with 0 " +
		"return code, " +
		"stop the service, no retry needed.\nExiting runner...\n"
	for _, f := range ringForms {
		if !f.wall {
			continue
		}
		ring := func(after ...ringLine) string {
			var out strings.Builder
			for _, l := range append([]ringLine{
				{at.Add(-5 * time.Minute), "eth0: renamed from veth3c", false},
				{at, "Kernel panic - not syncing: softlockup: hung tasks", false},
			}, after...) {
				out.WriteString(f.line(l) + "\n")
			}
			return out.String()
		}
		on := ring(ringLine{at.Add(5 * time.Minute), "eth0: renamed from veth9a", false})
		for what, c := range map[string]struct {
			ring, runner string
			worst        rules.Confidence // "" where nothing may be called dead
		}{
			"the log goes on":                     {on, "", rules.Suspected},
			"the log goes on, so does the runner": {on, began + went, ""},
			"the log goes on, the runner's stops": {on, began, rules.Suspected},
			"it is the last line":                 {ring(), began, rules.Confirmed},
		} {
			in := fixtures.Incident{Name: "panic", Files: []txtar.File{{Name: "dmesg.txt", Data: []byte(c.ring)}}}
			if c.runner != "" {
				in.Files = append(in.Files, txtar.File{Name: "runner.log", Data: []byte(c.runner)})
			}
			v := replayAll(loadBook(t), in)[0]
			if v.Death() && (c.worst == "" || v.Confidence.Better(c.worst)) {
				t.Errorf("%s: %s: %s", f.name, what, said(v))
			}
			if c.worst == rules.Confirmed && v.Label != rules.NodeCrash {
				t.Errorf("%s: %s: %s", f.name, what, said(v))
			}
		}
	}
}
