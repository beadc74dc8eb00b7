package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/rules"
	"coroner/rules/book"
)

// floors are the shares, in percent, of what CI programs, autoscalers and their kin can
// print of a runner's, job's or pod's life, that the rulebook has a signal for or calls
// harmless and says why. A share may rise; it must not fall.
var floors = map[string]int{
	"actions-runner": 90, "gitlab-runner": 95, "runner-container-hooks": 80, "karpenter": 80, "karpenter-aws": 80,
	"cluster-autoscaler": 80, "aws-node-termination-handler": 80, "talos": 80, "garm": 90,
	"buildkite-agent": 80, "agent-stack-k8s": 80, "azure-agent": 80, "act_runner": 80, "jenkins-kubernetes-plugin": 80,
	"tekton": 80, "woodpecker": 80, "drone-runner-kube": 80, "earlyoom": 80, "gvisor": 80, "firecracker": 80,
	"descheduler": 80, "moby": 80, "node-problem-detector": 80,
}

// runtimes are the same of what starts and ends containers and virtual machines, and of what
// stands below and above them: the node's kernel, systemd, and what controls Kubernetes, the
// kubelet left out. The sentences of harmless-kubernetes.yaml, which names them, count too.
var runtimes = map[string]int{
	"kata": 85, "runc": 90, "crun": 90, "conmon": 90, "linux-kernel": 95, "systemd": 95, "kubernetes": 95,
}

// unknownOnPurpose are lines of the lists that no signal knows and nothing calls harmless, and why.
var unknownOnPurpose = map[string]string{
	"build aborted": "every end of a build can be told so; what ended it stands behind it or nowhere",
	"Sending SIGKILL to cgroup": "without its program's name it may be anybody's; " +
		"with it talos.oom-kill or a symptom knows it",
	"image pull panicked": "a fault of the program that pulls, of which the pod's own status says what it did to it",
	"AbortException: Process exited immediately after creation. Check logs above for more details.": "a step's" +
		" program, and the lines above are what counts",
	"WaitStep fail due to timeout of service after 1 second": "a test of the program itself prints it",
	"XFS (name): User initiated shutdown received.": "somebody asked for it, as for a disk that goes or in a test;" +
		" whose file system it is and who misses it stands elsewhere",
	"Exiting PID 1...": "a systemd inside a container, which ends with it; the container's own end has a record",
	"Failed to reboot: name": "a machine stays up that was to go down, or systemctl says so of a wish; a PID 1" +
		" that then freezes is systemd.pid1-crashed",
	"Failed to exec systemctl: name":                          "what ends with it nobody knows",
	"Failed to execute our own binary name: name":             "PID 1 goes on with what it has, or freezes and says so",
	"pod name is being deleted, cannot be assigned to a host": "its deletion ended it, by whom is told elsewhere",
	"error mounting name: name":                               "any program mounts",
	"unable to delete pods: name":                             "any controller says so, of no pod by name",
}

// A line that is unknown on purpose is unknown.
func TestUnknownOnPurpose(t *testing.T) {
	b := bookWithout(t, "harmless.yaml", "harmless-kubernetes.yaml")
	for line, why := range unknownOnPurpose {
		if what := b.Knows(line); what != "" {
			t.Errorf("%q is unknown on purpose (%s), and yet it is known: %s", line, why, what)
		}
	}
}

// TestCatalogueOfRunners holds the floors. The lists in testdata/catalogue are the warnings
// and errors of each program that speak of an end or of what leads to one, with values that
// say nothing in the places of its variables. A line counts only if a signal knows it, or
// a harmless-*.yaml of the programs names it; the ways of speaking in harmless.yaml
// fit too much to count.
func TestCatalogueOfRunners(t *testing.T) {
	holdFloors(t, bookWithout(t, "harmless.yaml", "harmless-kubernetes.yaml"), floors)
	holdFloors(t, bookWithout(t, "harmless.yaml"), runtimes)
}

func holdFloors(t *testing.T, b *rules.Rulebook, floors map[string]int) {
	for program, floor := range floors {
		t.Run(program, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "catalogue", program+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(data)), "\n")
			var unknown []string
			for _, line := range lines {
				if b.Knows(line) == "" {
					unknown = append(unknown, line)
				}
			}
			share := 100 * (len(lines) - len(unknown)) / len(lines)
			t.Logf("%d of %d known, unknown:\n%s", len(lines)-len(unknown), len(lines), strings.Join(unknown, "\n"))
			if share < floor {
				t.Errorf("%d %% are known, the floor is %d %%", share, floor)
			}
		})
	}
}

// bookWithout is the default rulebook without some of its files.
func bookWithout(t *testing.T, names ...string) *rules.Rulebook {
	t.Helper()
	left := fstest.MapFS{}
	files, err := book.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := book.Files.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		left[f.Name()] = &fstest.MapFile{Data: data}
	}
	for _, name := range names {
		delete(left, name)
	}
	b, err := rules.Load(left)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
