package nodename

import (
	"fmt"
	"slices"
	"testing"
)

var some = []string{"", "weir", "weir.mill.example", "weir.dam.example", "weir-2", "Weir", ".mill.example", "a.b.c"}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"weir", "weir", true},
		{"", "weir", true},
		{"weir.mill.example", "", true},
		{"weir", "weir.mill.example", true},
		{"weir.dam.example", "weir.mill.example", false},
		{"weir", "weir-2", false},
		{"weir", "Weir", false},
	} {
		if Same(c.a, c.b) != c.want || Same(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.want)
		}
	}
}

// An index gives what a look at every name would give.
func TestIndex(t *testing.T) {
	var x Index
	if got := x.Like("a", "weir"); len(got) > 0 {
		t.Errorf("an empty index gives %q", got)
	}
	for _, name := range slices.Concat(some, some) {
		x.Add("a", name)
	}
	for _, name := range append(some, "lock", "weir.other") {
		var want []string
		for _, known := range slices.Sorted(slices.Values(some)) {
			if Same(known, name) {
				want = append(want, known)
			}
		}
		if got := x.Like("a", name); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("like %q: %q, want %q", name, got, want)
		}
		if got := x.Like("b", name); len(got) > 0 {
			t.Errorf("another cluster has %q", got)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add("weir", "weir.mill", "weir.dam", "")
	f.Fuzz(func(t *testing.T, a, b, c, asked string) {
		var x Index
		for _, name := range []string{a, b, c} {
			x.Add("a", name)
		}
		got := x.Like("a", asked)
		for _, name := range []string{a, b, c} {
			if slices.Contains(got, name) != Same(name, asked) {
				t.Errorf("%q like %q: %v", name, asked, got)
			}
		}
	})
}

func TestIsDefault(t *testing.T) {
	for name, want := range map[string]bool{
		"localhost": true, "localhost.localdomain": true, "(none)": true,
		"": false, "localhost-7": false, "hull-3": false, "hull.localhost": false,
	} {
		if got := IsDefault(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
