package ingest

import "testing"

func TestPodGlobs(t *testing.T) {
	for _, tt := range []struct {
		glob, namespace, pod string
		fits, names          bool
	}{
		{"ci-system/dispatcher-*", "ci-system", "dispatcher-0", true, true},
		{"ci-system/*-dispatcher", "ci-system", "new-dispatcher", true, true},
		{"dispatcher-?", "anywhere", "dispatcher-0", true, true},
		{"ci-system/dispatcher-*", "ci", "dispatcher-0", false, false},
		{"ci-system/dispatcher-*", "", "dispatcher-0", false, false},
		{"ci-system/*", "ci-system", "dispatcher-0", true, false},
		{"ci-system/[a-z]*-?", "ci-system", "dispatcher-0", true, false},
		{"*", "ci-system", "dispatcher-0", true, false},
	} {
		g := PodGlobs{"other/x", tt.glob}
		if fits, names := g.Fit(tt.namespace, tt.pod), g.Name(tt.namespace, tt.pod); fits != tt.fits ||
			names != tt.names {
			t.Errorf("%+v: fits %v, names %v", tt, fits, names)
		}
	}
}
