package lookup

import (
	"slices"
	"strings"
	"testing"

	"coroner/fixtures/apidoc"
)

// The parameters that each question reads are described, and what is described is read.
func TestParametersAreDescribed(t *testing.T) {
	doc := apidoc.Read(t)
	want := map[string][]string{"/api/v1/verdicts": slices.Sorted(slices.Values(parameters)),
		"/api/v1/runners/{name}": {"cluster"}, "/api/v1/search": {"cluster", "q"}}
	found := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			got := slices.Sorted(slices.Values(doc.Parameters(o, "query")))
			if !slices.Equal(got, want[path]) {
				t.Errorf("%s %s: described are %q, read %q", method, path, got, want[path])
			}
			if want[path] != nil {
				found++
			}
			if n := len(doc.Parameters(o, "path")); n != strings.Count(path, "{") {
				t.Errorf("%s %s: %d parameters of the path", method, path, n)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d are described", found, len(want))
	}
}
