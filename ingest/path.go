package ingest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Container is what an envelope or a path says of the container whose output it is.
// What they do not say is "".
type Container struct{ Cluster, Namespace, Pod, UID, Name, ID string }

const (
	podName = `[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?`
	podUID  = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}`
)

var (
	// podsPath: /var/log/pods/NAMESPACE_POD_UID/CONTAINER/RESTARTS.log, its
	// rotated forms too. kubelet, since 1.14.
	podsPath = regexp.MustCompile(`(?:^|/)(` + podName + `)_(` + podName + `)_(` + podUID + `)/([^/]+)/\d+\.log[^/]*$`)
	// containersPath: /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
	containersPath = regexp.MustCompile(`^(` + podName + `)_(` + podName + `)_(.+)-([0-9a-f]{64})\.log`)
	// dockerPath: /var/lib/docker/containers/ID/ID-json.log
	dockerPath = regexp.MustCompile(`^([0-9a-f]{64})-json\.log`)
	// clusterDump: kubectl cluster-info dump writes NAMESPACE/POD/logs.txt
	clusterDump = regexp.MustCompile(`(?:^|/)(` + podName + `)/(` + podName + `)/logs\.txt$`)
)

// ContainerOfPath is the container whose output a file of this name is. ok is
// false if the name does not say.
func ContainerOfPath(name string) (c Container, ok bool) {
	if m := podsPath.FindStringSubmatch(name); m != nil {
		return Container{Namespace: m[1], Pod: m[2], UID: m[3], Name: m[4]}, true
	}
	base := path.Base(name)
	if m := containersPath.FindStringSubmatch(base); m != nil {
		return Container{Namespace: m[2], Pod: m[1], Name: m[3], ID: m[4]}, true
	}
	if m := dockerPath.FindStringSubmatch(base); m != nil {
		return Container{ID: m[1]}, true
	}
	if m := clusterDump.FindStringSubmatch(name); m != nil {
		return Container{Namespace: m[1], Pod: m[2]}, true
	}
	return c, false
}

// ProgramOfPath is the program whose log a file of this name seems to be; its
// lines have to prove it. Names of runners and of nodes say nothing sure.
func ProgramOfPath(name string) Source {
	base := strings.ToLower(path.Base(name))
	if strings.Contains(base, "-runner-") || strings.HasPrefix(base, "runner.") {
		return Unknown
	}
	words := strings.FieldsFunc(base, func(c rune) bool { return c < 'a' || c > 'z' })
	for _, p := range programWords {
		if slices.Contains(words, p.word) {
			return p.src
		}
	}
	return Unknown
}

var programWords = []struct {
	word string
	src  Source
}{{"listener", Listener}, {"controller", Controller}, {"autoscaler", Controller}, {"karpenter", Controller},
	{"descheduler", Controller}, {"kubelet", Kubelet}, {"containerd", Containerd}, {"manager", Controller}}

// JobsPlace says whether a document comes from a folder that a runner's own user
// writes to: a job can put any file there.
func JobsPlace(name string) bool { return jobsPlace.MatchString(name) }

var jobsPlace = regexp.MustCompile(`(^|/)(_diag|_work|_temp|pages|blocks)/`)

// PrintedByJob says whether a file of this name seems to hold what a runner or
// a job printed: whatever else it looks like, such a file proves nothing.
func PrintedByJob(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(path.Base(name)), func(c rune) bool { return c < 'a' || c > 'z' })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(outputWords, w) }) &&
		!slices.ContainsFunc(words, func(w string) bool { return slices.Contains(hostWords, w) })
}

var outputWords = []string{
	"runner", "runners", "job", "jobs", "stdout", "stderr", "build", "step", "steps", "workflow", "output",
	"console",
}

var hostWords = []string{
	"controller", "manager", "listener", "kubelet", "containerd", "journal", "kernel", "dmesg", "syslog",
	"node", "host", "events", "describe", "pod", "pods",
}
