package ingest

import "strings"

// programs names the source that a program, a unit or a syslog identifier is.
var programs = map[string]Source{
	"kubelet": Kubelet, "k3s": Kubelet, "k3s-agent": Kubelet, "k3s-server": Kubelet,
	"rke2": Kubelet, "rke2-agent": Kubelet, "rke2-server": Kubelet, "kubelite": Kubelet, "hyperkube": Kubelet,
	"k0s": Kubelet, "k0sworker": Kubelet, "k0scontroller": Kubelet,
	"microk8s.daemon-kubelite": Kubelet, "microk8s.daemon-kubelet": Kubelet,
	"snap.microk8s.daemon-kubelite": Kubelet, "snap.microk8s.daemon-kubelet": Kubelet,
	"kubelet-wrapper": Kubelet, "kubelet-eks": Kubelet, "snap.kubelet-eks.daemon": Kubelet,

	"containerd": Containerd, "dockerd": Containerd, "docker": Containerd, "cri-dockerd": Containerd,
	"crio": Containerd, "cri-o": Containerd, "conmon": Containerd, "microk8s.daemon-containerd": Containerd,
	"snap.microk8s.daemon-containerd": Containerd, "containerd-shim": Containerd, "containerd-shim-runc-v2": Containerd,

	"kata": Kata, "kata-runtime": Kata, "kata-shim": Kata, "kata-proxy": Kata, "kata-containers": Kata,
	"containerd-shim-kata-v2": Kata, "kata-monitor": Kata, "virtiofsd": Kata,

	"init.scope": Systemd, "earlyoom": Systemd, "oomd": Systemd, "nohang": Systemd,
	"node-problem-detector": Systemd, "node-problem-detector-startup.sh": Systemd,

	"Runner.Listener": Runner, "Runner.Worker": Runner, "runsvc.sh": Runner, "run.sh": Runner,
	"actions-runner": Runner, "gitlab-runner": Runner, "github-runner": Runner,
}

// ProgramSource is the source that an identifier or a unit names.
func ProgramSource(name string) Source {
	if name == "" {
		return Unknown
	}
	if s, ok := programs[name]; ok {
		return s
	}
	base, isUnit := strings.CutSuffix(name, ".service")
	if s, ok := programs[base]; ok && isUnit {
		return s
	}
	switch {
	case base == "systemd" || strings.HasPrefix(base, "systemd-"):
		return Systemd
	case strings.HasPrefix(base, "containerd-shim-") || strings.HasSuffix(base, "-containerd-shim"):
		return Containerd
	case strings.HasPrefix(base, "kata-"):
		return Kata
	case strings.HasPrefix(base, "actions.runner.") || strings.HasPrefix(base, "github-runner-"):
		return Runner
	}
	return Unknown
}

// Host says whether s is a program of the node itself.
func (s Source) Host() bool {
	switch s {
	case Kernel, Kubelet, Containerd, Kata, Systemd:
		return true
	}
	return false
}

// WritesTimes says whether a program of the host writes times of its own in its text.
// The kernel does not: what its lines begin with can be a process's name, and a
// job chooses that.
func (s Source) WritesTimes() bool { return s == Kubelet || s == Containerd || s == Kata }
