package phrase_test

import (
	"testing"

	"coroner/rules/phrase"
)

// The cause is quoted, not what programs write around it.
func TestGist(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{
			`event reason=FailedMount type=Warning from=kubelet object=Pod/amber-1 message="MountVolume.SetUp ` +
				`failed for volume \"keys\" : secret \"forge-keys\" not found"`,
			`MountVolume.SetUp failed for volume "keys": secret "forge-keys" not found`,
		},
		{
			`E0301 10:00:04.000000     812 nestedpendingoperations.go:348] Operation for ` +
				`"{volumeName:kubernetes.io/secret/0a-keys podName:0a nodeName:}" failed. No retries permitted ` +
				`until 2026-03-01 10:01:06.1 +0000 UTC m=+99.1 (durationBeforeRetry 1m4s). Error: MountVolume.SetUp ` +
				`failed for volume "keys" (UniqueName: "kubernetes.io/secret/0a-keys") pod "amber-1" (UID: "0a") : ` +
				`secret "forge-keys" not found`,
			`MountVolume.SetUp failed for volume "keys": secret "forge-keys" not found`,
		},
		{
			`E0301 10:00:04.000000     812 pod_workers.go:1301] "Error syncing pod, ` +
				`skipping" err="failed to \"StartContainer\" for \"runner\" with ErrImagePull: \"rpc error: code = ` +
				`NotFound desc = failed to pull and unpack image \\\"mill.example/ci:9\\\": no match for platform ` +
				`in manifest: not found\"" pod="ci/amber-1"`,
			`failed to pull and unpack image "mill.example/ci:9": no match for platform in manifest: not found`,
		},
		{
			`Out of memory: Killed process 1187 (java) total-vm:4410028kB, anon-rss:512004kB, file-rss:0kB, ` +
				`shmem-rss:0kB, UID:1001 pgtables:1804kB oom_score_adj:0`,
			`Out of memory: Killed process 1187 (java)`,
		},
		{
			`0/6 nodes are available: 6 Insufficient cpu. preemption: 0/6 nodes are available: 6 No preemption ` +
				`victims found for incoming pod.`,
			`0/6 nodes are available: 6 Insufficient cpu`,
		},
		{`ERROR: Registering runner... failed                runner=plum status=couldn't reach the server`,
			`couldn't reach the server`},
		{`container waiting container=runner reason=ImagePullBackOff restarts=0`, `container waiting`},
	} {
		if got := phrase.Gist(map[string]any{"text": c.text}); got != c.want {
			t.Errorf("gist of %s\n is   %s\n want %s", c.text, got, c.want)
		}
	}
	reason := map[string]any{"text": "container waiting container=runner reason=ImagePullBackOff",
		"reason": "ImagePullBackOff"}
	told := map[string]any{"text": "event", "message": "manifest unknown."}
	if got := phrase.Gist([]any{reason, told}); got != "manifest unknown" {
		t.Errorf("of a reason and a message the gist is %q, want the message", got)
	}
	if got := phrase.Gist([]any{reason}); got != "ImagePullBackOff" {
		t.Errorf("where nothing else is there the gist is %q, want the reason", got)
	}
}

// A process that was killed has its name and its id.
func TestVictim(t *testing.T) {
	lines := []any{map[string]any{"text": "x"}, map[string]any{"task": "java", "pid": 1187}}
	if got := phrase.Victim(lines); got != "java (pid 1187)" {
		t.Errorf("victim is %q", got)
	}
	if got := phrase.Victim(map[string]any{"text": "x"}); got != "" {
		t.Errorf("a line that names no process has the victim %q", got)
	}
}
