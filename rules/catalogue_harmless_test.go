package rules_test

import (
	"testing"
)

// What a program's own sentence excuses ends with the sentence: a line that tells of a
// death, of what leads to one, or that another program may have written is not harmless.
func TestHarmlessExcusesNoDeath(t *testing.T) {
	b := builtIn(t)
	why := map[string]bool{}
	for _, h := range b.Harmless {
		why[h.Why] = true
	}
	for _, line := range []string{
		// gitlab-runner
		"Boot-verify canary failed, draining and exiting",
		"shared step-runner exited unexpectedly; respawning",
		"pre-existing instance has acquisition so removing for safety",
		"build container log stream ended unexpectedly: EOF",
		`pod "runner-1" is deleted`,
		"Stopping machine runner-1",
		"Failed to create listener for jobs",
		"creating temp file: write /tmp/a: no space left on device",
		"creating cache volume: fork/exec: cannot allocate memory",
		// GitHub's runner
		"Runner listener fail to start with error name",
		"Job initialize failed.",
		"Runner update failed: name",
		"DNS resolution timeout: name",
		// kata, runc, crun and conmon
		"Cannot start VM",
		"Failed to connect to StratoVirt instance",
		"failed to write oom file /run/oom",
		"async network rescan failed",
		"failed to create disk file at /a: no space left on device",
		"Failed to allocate memory",
		"container init was OOM-killed (memory limit too low?)",
		// CI servers' agents
		"worker 1 has not successfully contacted Buildkite for 4m0s",
		"Failed to acquire and run job: the server is away",
		"Could not stream the log output: write /tmp/a: no space left on device",
		"Worker Dispatch failed with an exception for job request 1.",
		"Job renewal retry exhausted [RequestId:1, ErrorCount:2]",
		"reason: PodEvicted",
		"reason: TaskRunTimeout",
		"job initialization failed: out of memory",
		// autoscalers
		"launching nodeclaim, creating instance, insufficient capacity",
		"unauthorized to call ec2:CreateLaunchTemplate",
		"Instance group ci cannot provision any more nodes!",
		"Failed to scale down: node build-7 was evicted of all pods",
		// gVisor
		"cannot create sandbox: cannot create gofer process: cannot allocate memory",
		"Sidecar name not usable (name): out of memory",
		// garm
		"provider not configured, removing runner entry",
		"instance is online but github reports runner as offline",
		"creating instance in provider: no capacity",
		"failed to scale down pool 1: quota exceeded",
		"no pools matching tags; not recording job",
		// firecracker
		"Received KVM_EXIT_INTERNAL_ERROR signal",
		"Shutting down VM after intercepting a bad syscall (1).",
		"vcpu channel unexpectedly closed",
		"Failed to activate virtio device: name",
		// systemd and the kernel
		"Dependency failed for kubelet.service - kubelet: The Kubernetes Node Agent.",
		"Dependency failed for GitHub Actions Runner (mill).",
		"Container amber-1 terminated by signal KILL.",
		"mill.service: Failed to spawn 'start' task: Cannot allocate memory",
		"Rebooting: unit kubelet.service failed",
		"Exiting: out of memory",
		"Exiting PID 1...",
		"Caught <SEGV>, dumped core as pid 12.",
		"Failed to execute shutdown binary, freezing: Invalid argument",
		"INFO: task dockerd:812 blocked for more than 122 seconds.",
		"WARNING: the runner is lost at build-7:1",
		"XFS (dm-3): User initiated shutdown received.",
		"swapper/0: page allocation failure: order:5, mode:0x40dc0(GFP_KERNEL)",
		// what controls Kubernetes, and its volumes
		"lost lease on runner amber-1",
		"lost connection to node build-7",
		"mount failed: exit status 32",
		"Attach failed: the container is gone",
		"fc: the VM crashed",
		"pod amber-1 is being deleted, cannot be assigned to a host",
		"node build-7: timed out trying to start the pod",
		"original runner ci/amber-1 is gone",
		`unable to taint [] unresponsive Node "build-7": timeout`,
		"Tried to preempted pod and killed it",
		"AttachVolume.Attach failed for volume \"a\" : timeout",
	} {
		if what := b.Knows(line); why[what] {
			t.Errorf("%q is called harmless: %s", line, what)
		}
	}
}
