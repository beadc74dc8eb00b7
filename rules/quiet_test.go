package rules_test

import "testing"

// A line that can be part of a death is not quiet, and what every pod's life is full
// of is: else an input of many pods would have to be judged one by one.
func TestWhatIsQuiet(t *testing.T) {
	b := builtIn(t)
	for _, name := range []string{"kubelet.container-started", "containerd.container-created",
		"containerd.container-started",
		"containerd.sandbox-created", "kubelet.pod-added", "kubelet.probe-failed", "kube.running", "runner.renewed"} {
		if d := b.Signal(name); d == nil || !d.Quiet() {
			t.Errorf("%s is not quiet: every start would be judged", name)
		}
	}
	for _, name := range []string{"kernel.oom-kill", "kernel.oom-killed", "kubelet.killing", "containerd.task-exit",
		"kube.terminated",
		"kube.row", "kubelet.pod-evicted", "runner.shutdown", "job.disk-full", "controller.runner-claimed"} {
		if d := b.Signal(name); d == nil || d.Quiet() {
			t.Errorf("%s is quiet: a death that only it tells of would be missed", name)
		}
	}
	for _, name := range []string{"kernel.boot", "kernel.panic", "agent.silent", "karpenter.node-disrupted",
		"kube.node-condition"} {
		if d := b.Signal(name); d == nil || d.QuietBeside() {
			t.Errorf("%s is quiet for those on its node: they can have died of it", name)
		}
	}
	for _, name := range []string{
		"kernel.soft-lockup", "kernel.oom-kill", "kernel.oom-killed", "kubelet.eviction-pressure",
	} {
		if d := b.Signal(name); d == nil || !d.QuietBeside() {
			t.Errorf("%s is not quiet for those on its node: all of them would be judged", name)
		}
	}
}
