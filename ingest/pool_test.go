package ingest_test

import (
	"testing"

	"coroner/ingest"
)

// A pool is one, whatever a controller calls it.
func TestPoolName(t *testing.T) {
	for name, want := range map[string]string{"linux": "linux", "tuist-runners/linux": "linux",
		"a/b/linux": "linux", "linux/": "linux", "": ""} {
		if got := ingest.PoolName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// The names of what a controller makes for a pool have the pool's in them.
func TestPoolOfWhatIsMadeForIt(t *testing.T) {
	for pod, want := range map[string]string{
		"linux-big-x7k2m-runner-9qwzt":          "linux-big",
		"ci/linux-big-x7k2m-runner-9qwzt":       "linux-big",
		"linux-big-754b578d-listener":           "linux-big",
		"linux-big":                             "",
		"listener":                              "",
		"linux-runner":                          "",
		"linux-big-x7k2m-runner-9qwzt-workflow": "",
	} {
		if got := ingest.PoolOfPod(pod); got != want {
			t.Errorf("pod %q: %q, want %q", pod, got, want)
		}
	}
	for set, want := range map[string]string{
		"linux-big-x7k2m": "linux-big", "ci/linux-big-x7k2m": "linux-big", "linux": "linux", "linux-x64": "linux-x64",
	} {
		if got := ingest.PoolOfSet(set); got != want {
			t.Errorf("set %q: %q, want %q", set, got, want)
		}
	}
}
