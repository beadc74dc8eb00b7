package classify_test

import (
	"strings"
	"testing"

	"coroner/rules"
)

// oomReport is what the kernel prints when it kills a process of forge-0 at the container's
// limit, the line that names the victim's cgroup first.
func oomReport() []string {
	const pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
	memcg := pod + strings.ReplaceAll(
		laterUID,
		"-",
		"_",
	) + ".slice/cri-containerd-" + strings.Repeat(
		"2b",
		32,
	) + ".scope"
	return []string{
		"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-" + strings.Repeat("2b", 32) +
			".scope,mems_allowed=0,oom_memcg=" + memcg + ",task_memcg=" + memcg + ",task=rustc,pid=4242,uid=1000",
		"Memory cgroup out of memory: Killed process 4242 (rustc) total-vm:8388608kB, anon-rss:4194304kB, " +
			"file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:9000kB oom_score_adj:900",
		"rustc invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=900",
		"memory: usage 4194304kB, limit 4194304kB, failcnt 812",
	}
}

// asSyslog puts a host's name, a time and a program before each text.
func asSyslog(program string, texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString("2026-03-01T10:20:04.500000+00:00 host-1 " + program + ": " + text + "\n")
	}
	return b.String()
}

// One line that somebody picked out of some text confirms nothing, in whatever form of a log it
// is: whoever forges it needs to forge no more. The report that it belongs to, or a log that was
// read over the death, makes it sure again.
func TestOneLineConfirmsNothing(t *testing.T) {
	b := loadBook(t)
	report := oomReport()
	beside := asSyslog("systemd[1]", "Started Daily apt download activities.", "Finished Rotate log files.")
	evicted := "I0301 10:20:04.500000     700 eviction_manager.go:1] " +
		`"Eviction manager: pod is evicted successfully" pod="ci/forge-0"`
	for what, c := range map[string]struct {
		log  string
		want rules.Confidence
	}{
		"the kernel's line":           {asSyslog("kernel", report[0]), rules.Probable},
		"the kernel's line, twice":    {strings.Repeat(asSyslog("kernel", report[0]), 2), rules.Probable},
		"the line among others":       {asSyslog("kernel", report[0]) + beside, rules.Probable},
		"dmesg -T's line":             {"[Sun Mar  1 10:20:04 2026] " + report[0] + "\n", rules.Probable},
		"the line that kills as well": {asSyslog("kernel", report[:2]...), rules.Confirmed},
		"the line that asked as well": {asSyslog("kernel", report[2], report[0]), rules.Confirmed},
		"the limit as well":           {asSyslog("kernel", report[3], report[0]), rules.Confirmed},
		"the kubelet's line":          {asSyslog("kubelet[700]", evicted), rules.Probable},
		"the kubelet's log": {asSyslog("kubelet[700]", evicted,
			`I0301 10:20:05.500000     700 kubelet.go:1] "SyncLoop (housekeeping)"`), rules.Confirmed},
	} {
		v := judgeFiles(t, b, "node.txt", c.log, "pod.json", forgePod(forgeEnd(137, "Error")))
		if !v.Death() || v.Label == rules.Unknown || v.Confidence != c.want {
			t.Errorf("%s: %s (%s) by %s, want %s", what, v.Label, v.Confidence, v.Rule, c.want)
		}
	}
}
