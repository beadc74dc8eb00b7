package casefile_test

import (
	"testing"

	"coroner/rules/casefile"
)

// A pool is one, whatever a controller calls it.
func TestPoolName(t *testing.T) {
	for name, want := range map[string]string{"linux": "linux", "tuist-runners/linux": "linux",
		"a/b/linux": "linux", "linux/": "linux", "": ""} {
		if got := casefile.PoolName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
