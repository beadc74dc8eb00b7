package signal

import (
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// A masked id is no id: the line still says what happened.
func TestMaskedIDs(t *testing.T) {
	b := defaultBook(t)
	for _, id := range []string{"{container-id}", "<container id>", "[REDACTED]", "<redacted>", "[redacted:token]",
		"****", "xxxxxxxx", "1a2b3c4d5e6f", "1a2b3c…", "...", "", "$CID", "${ID}",
		"sha256:ffffffff…", "sha256:0123456789ab", "***", "{{ .id }}", "n/a", "null", "ID", "[id]"} {
		e := attested(
			ingest.Containerd,
			`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"`+id+`\" with timeout 30 (s)"`,
		)
		found := b.Scan(&e)
		if len(found) != 1 || found[0].Def.Name != "containerd.stop-asked" || !found[0].Masked ||
			len(found[0].Identities()) != 0 {
			t.Errorf("%s: %v", id, found)
		}
	}
	for _, text := range []string{
		`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"web\" with timeout 30 (s)"`,
		`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"` + strings.Repeat("1", 64) +
			`\" with timeout x"`,
	} {
		e := attested(ingest.Containerd, text)
		for _, s := range b.Scan(&e) {
			if s.Masked {
				t.Errorf("%s: %s by a mask that is none", text, s.Def.Name)
			}
		}
	}
}

// What stands where a pod's name, UID or cgroup is, and can be none, was put there
// afterwards: the line names nobody, and says what happened all the same.
func TestMaskedPods(t *testing.T) {
	b := defaultBook(t)
	const klog = "I0301 10:00:00.000000     812 kubelet.go:2421] "
	const uid, id = "0a0b0c0d-1111-2222-3333-444455556666",
		"ab00000000000000000000000000000000000000000000000000000000000012"
	for _, c := range []struct {
		source     ingest.Source
		text, name string
		masked     bool
	}{
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["{namespace}/{pod}"]`, "kubelet.delete-asked",
			true},
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["ci/amber-1"]`, "kubelet.delete-asked", false},
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["ci/xxxxxxxx"]`, "kubelet.delete-asked", true},
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["ci/redacted-7"]`, "kubelet.delete-asked", true},
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["ci/hidden-gem-7"]`, "kubelet.delete-asked",
			false},
		{ingest.Kubelet, klog + `"SyncLoop DELETE" source="api" pods=["XX/amber-7kx2p"]`, "kubelet.delete-asked", true},
		{ingest.Kubelet, klog + `"Eviction manager: pod is evicted successfully" pod="XX/amber-4kx2p"`,
			"kubelet.pod-evicted", false},
		{ingest.Kubelet, klog + `"Eviction manager: pod is evicted successfully" pod="XX/amber-0"`,
			"kubelet.pod-evicted", true},
		{ingest.Kubelet, klog + `"Eviction manager: pod is evicted successfully" pod="<redacted>"`,
			"kubelet.pod-evicted", true},
		{ingest.Kubelet, klog + `"Eviction manager: pod is evicted successfully" pod="ci/amber-1"`,
			"kubelet.pod-evicted", false},
		{ingest.Kernel, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0," +
			"oom_memcg=/kubepods/burstable/pod<redacted>/<redacted>," +
			"task_memcg=/kubepods/burstable/pod<redacted>/<redacted>,task=a,pid=7,uid=0",
			"kernel.oom-kill", true},
		{ingest.Kernel, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0," +
			"oom_memcg=/kubepods/burstable,task_memcg=/kubepods/burstable/pod" + uid + "/" + id +
			",task=a,pid=7,uid=0",
			"kernel.oom-kill", false},
	} {
		e := attested(c.source, c.text)
		for _, s := range b.Scan(&e) {
			if s.Def.Name != c.name {
				continue
			}
			named := false
			for _, id := range s.Identities() {
				named = named || id.Kind != IDPID
			}
			if s.Masked != c.masked || named == c.masked {
				t.Errorf("%s: masked %v, names %v", c.text, s.Masked, s.Identities())
			}
			c.name = ""
		}
		if c.name != "" {
			t.Errorf("%s: no %s", c.text, c.name)
		}
	}
}

// Names of pods and nodes that somebody wrote over are none, names that only look odd are.
func TestMasksName(t *testing.T) {
	for _, word := range []string{"****", "***", "<redacted>", "xxx", "XXX", "xxxx-runner", "NAME",
		"[REDACTED]", "{{pod}}", "{{ .pod }}",
		"$POD", "${NODE_NAME}", "…", "...", "amber-…", "amber-4k...", "REDACTED_NAME", "redacted-pod",
		"pod_redacted", "HOST", "NODE_NAME",
		"<node>", "(hidden)", "---", "ci/<pod>", "null", "#####", "node name", "%POD%", "«pod»"} {
		if !MasksName(word) {
			t.Errorf("%q is taken for a name", word)
		}
	}
	for _, word := range []string{"", "amber-4kx2p", "ci/amber-4kx2p", "node-1", "host-1", "MILL-3", "node",
		"pod", "host", "my-runner",
		"hidden-gem-7", "ip-10-0-0-1.ec2.internal", "name-7", "xx", "x1", "www", "fe80::1", "mill_3", "aaa",
		"10.0.0.1"} {
		if MasksName(word) {
			t.Errorf("%q is taken for a mask", word)
		}
	}
}

func attested(source ingest.Source, text string) ingest.Entry {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested, Text: text}
}
