package extent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

var day = time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC)

// every gives the moments from one to another, a step apart.
func every(from, to, step time.Duration) (out []time.Duration) {
	for d := from; d <= to; d += step {
		out = append(out, d)
	}
	return out
}

// told is what Marks says of lines at these moments, by two programs or by the kernel alone.
func told(lines []time.Duration, alone bool) string {
	var b Boots
	for i, d := range lines {
		src := ingest.Kernel
		if i%2 == 1 && !alone {
			src = ingest.Kubelet
		}
		b.Saw("weir", "1", src, ingest.Attested, day.Add(d))
	}
	return ofKernel(&b)
}

func ofKernel(b *Boots) string {
	var out []string
	b.Marks(func(e ingest.Entry, m ingest.Mark) {
		if e.Source == ingest.Kernel {
			out = append(out, m.From.Sub(day).String()+"-"+m.To.Sub(day).String())
		}
	})
	return strings.Join(out, " ")
}

// A silence that does not fit a log is a hole in it, that of a quiet node is none.
func TestHoles(t *testing.T) {
	const m, s = time.Minute, time.Second
	steady := slices.Concat(every(0, 20*m, 2*s), every(27*m, 30*m, 2*s))
	twice := slices.Concat(every(0, 20*m, 2*s), every(27*m, 40*m, 2*s), every(50*m, 90*m, 2*s))
	grown := []time.Duration{0, s, 4 * s, 10 * s, 20 * s, 40 * s, 90 * s, 3 * m, 6 * m, 12 * m, 25 * m, 26 * m, 27 * m,
		50 * m, 52 * m, 53 * m, 54 * m, 56 * m, 60 * m, 90 * m, 91 * m}
	boot := append(every(0, 90*s, s), 3*time.Hour)
	for _, c := range []struct {
		name  string
		lines []time.Duration
		alone bool
		want  string
	}{
		{"steady", steady, false, "0s-20m0s 27m0s-30m0s"},
		{"steady, the kernel alone", steady, true, "0s-20m0s 27m0s-30m0s"},
		{"two holes", twice, false, "0s-20m0s 27m0s-40m0s 50m0s-1h30m0s"},
		{"a short silence", slices.Concat(every(0, 20*m, s), every(21*m, 30*m, s)), false, "0s-30m0s"},
		{"few lines", []time.Duration{0, s, 2 * s, 30 * m, 31 * m}, false, "0s-31m0s"},
		{"a start, then little", boot, false, "0s-3h0m0s"},
		{"silences of every length", grown, false, "0s-1h31m0s"},
		{"one of the kernel's pauses", slices.Concat(every(0, 40*m, 30*s), every(46*m, 60*m, 30*s)), true, "0s-1h0m0s"},
		{"the same of a whole journal", slices.Concat(every(0, 40*m, 30*s), every(46*m, 60*m, 30*s)), false,
			"0s-40m0s 46m0s-1h0m0s"},
		{"two logs, one behind the other", slices.Concat(steady, every(15*m, 30*m, 3*s)), false, "0s-30m0s"},
	} {
		if got := told(c.lines, c.alone); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		slices.Reverse(c.lines)
		if got := told(c.lines, c.alone); got != c.want {
			t.Errorf("%s, newest first: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where the text says that lines were left out, nothing was read between the lines around that.
func TestCut(t *testing.T) {
	var b Boots
	b.Cut() // before the first line: nothing is known to be lost
	for i := range 40 {
		if i == 30 {
			b.Cut()
		} else if i == 35 {
			b.CutAfter("weir", "")
			b.CutAfter("dam", "")
		}
		b.Saw("weir", "", ingest.Kernel, ingest.Attested, day.Add(time.Duration(i)*time.Minute))
		b.Saw("weir", "", ingest.Kubelet, ingest.Attested, time.Time{})
	}
	b.Cut()
	b.CutAfter("weir", "")
	if got, want := ofKernel(&b), "0s-29m0s 30m0s-34m0s 35m0s-39m0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// However many lines and boots there are, what is kept is bounded.
func TestBounded(t *testing.T) {
	var b Boots
	for i := range 3 * maxBoots {
		b.Saw("weir", day.Add(time.Duration(i)).String(), ingest.Kernel, ingest.Attested, day)
	}
	for i := range 1000 {
		b.Cut()
		b.Saw("weir", day.String(), ingest.Kernel, ingest.Attested, day.Add(time.Duration(i*i)*time.Hour))
	}
	if n := len(b.all[key{"weir", day.String()}].runs.all); len(b.all) != maxBoots || n > maxRuns {
		t.Errorf("%d boots, %d runs", len(b.all), n)
	}
}
