package units_test

import (
	"testing"
	"time"

	"coroner/cmd/units"
)

// What Go reads as a duration is read alike, and nothing else is taken for less than it says.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"7d", "1w2d3h", "90m", "-1d", "106751d", "9999999w", "d", "1.5h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := units.Duration(s)
		if want, e := time.ParseDuration(s); e == nil && (err != nil || got != want) {
			t.Errorf("%q: %v %v, want %v", s, got, err, want)
		}
		if n, e := units.Size(s); e == nil && n < 0 && s[0] != '-' {
			t.Errorf("%q is %d bytes", s, n)
		}
	})
}
