package ingest

import (
	"path"
	"regexp"
	"strings"
	"time"
)

// DefaultControllers are the controllers' and listeners' pods where nothing else is said:
// those of actions-runner-controller.
var DefaultControllers = PodGlobs{"arc-systems/*", "actions-runner-system/*"}

// What is read of a node where nothing else is said.
const (
	DefaultMaxAge    = 4 * time.Hour // how far a first start looks back
	DefaultLastLines = 10            // of a container's output, which are kept whatever they say
)

// PodGlobs are globs NAMESPACE/POD by which an operator says which pods he
// means; one without a slash is about every namespace.
type PodGlobs []string

// Fit says whether one of them fits the pod.
func (g PodGlobs) Fit(namespace, pod string) bool {
	for _, glob := range g {
		if fitsGlob(glob, namespace, pod) {
			return true
		}
	}
	return false
}

// Name says whether one of them that fits has a part of the pod's own name in
// it. One that takes a namespace whole, ci/*, names nobody: jobs may run there.
func (g PodGlobs) Name(namespace, pod string) bool {
	for _, glob := range g {
		if namesPod(glob) && fitsGlob(glob, namespace, pod) {
			return true
		}
	}
	return false
}

func fitsGlob(glob, namespace, pod string) bool {
	if !strings.Contains(glob, "/") {
		glob = "*/" + glob
	}
	hit, _ := path.Match(glob, namespace+"/"+pod)
	return hit
}

// wild is what in a glob stands for anything, and the dash that most names have.
var wild = regexp.MustCompile(`\[[^\]]*\]|[*?\\-]`)

func namesPod(glob string) bool {
	words := wild.ReplaceAllString(glob, "")
	return !strings.HasSuffix(words, "/") && words != ""
}
