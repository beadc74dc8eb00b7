package extent

import (
	"slices"
	"time"
)

const (
	maxRuns   = 9               // of a boot, so that its eight longest silences are known
	shortest  = 2 * time.Minute // no shorter silence is a hole
	fewest    = 20              // lines, fewer tell no rhythm
	ofSeveral = 8               // how much longer a hole is than any other silence of a log of several programs
	ofOne     = 20              // and of one alone: the kernel speaks when something happens
)

// run is a time with lines, and without a long silence.
type run struct {
	from, to time.Time
	cut      bool // lines before it were left out: the text says so
}

// runs are those of a boot, in the order of time; between them are its longest silences.
type runs struct {
	all   []run
	lines int
	cuts  int           // marks of a cut before the last line
	ended time.Time     // the last line's time
	least time.Duration // the shortest silence between all, where there are maxRuns
}

// saw takes note of a line, before which the text had that many marks of a cut.
func (r *runs) saw(at time.Time, cuts int) {
	r.lines++
	cut := r.lines > 1 && cuts != r.cuts && at.After(r.ended)
	r.cuts, r.ended = cuts, at
	if n := len(r.all); n == maxRuns && !cut {
		if last := &r.all[n-1]; !at.Before(last.from) && at.Sub(last.to) <= r.least {
			if at.After(last.to) {
				last.to = at
			}
			return
		}
	}
	i, _ := slices.BinarySearchFunc(r.all, at, func(k run, at time.Time) int { return k.from.Compare(at) })
	if i > 0 && !at.After(r.all[i-1].to) {
		return
	}
	if i < len(r.all) && r.all[i].from.Equal(at) {
		r.all[i].cut = r.all[i].cut || cut
		return
	}
	r.all = slices.Insert(r.all, i, run{at, at, cut})
	if len(r.all) > maxRuns {
		r.joinNearest()
	}
	if len(r.all) == maxRuns {
		r.least = r.gap(r.nearest())
	}
}

// gap is how long the silence before the run i is.
func (r *runs) gap(i int) time.Duration { return r.all[i].from.Sub(r.all[i-1].to) }

// nearest is the run with the shortest silence before it. A cut is given up last.
func (r *runs) nearest() int {
	best := 1
	for i := 2; i < len(r.all); i++ {
		if r.all[best].cut != r.all[i].cut && r.all[best].cut ||
			r.all[best].cut == r.all[i].cut && r.gap(i) < r.gap(best) {
			best = i
		}
	}
	return best
}

// joinNearest makes one run of the two with the shortest silence between them.
func (r *runs) joinNearest() {
	i := r.nearest()
	r.all[i-1].to = r.all[i].to
	r.all = slices.Delete(r.all, i, i+1)
}

// read is the time that was read: all, without the holes.
func (r *runs) read(programs int) (out []run) {
	least := r.leastHole(programs)
	for i, k := range r.all {
		if i > 0 && !k.cut && r.gap(i) < least {
			out[len(out)-1].to = k.to
			continue
		}
		out = append(out, k)
	}
	return out
}

// leastHole is from which length on a silence is a hole. A hole is much longer than any other silence of
// the boot, which tells of itself for at least as long as the hole is. So a quiet node has none, nor has one
// that tells of its start and then of little.
func (r *runs) leastHole(programs int) time.Duration {
	const never = time.Duration(1<<63 - 1)
	if r.lines < fewest || len(r.all) < 2 {
		return never
	}
	gaps, told, times := []time.Duration{}, r.all[len(r.all)-1].to.Sub(r.all[0].from), time.Duration(ofSeveral)
	for i := 1; i < len(r.all); i++ {
		gaps = append(gaps, r.gap(i))
	}
	slices.Sort(gaps)
	slices.Reverse(gaps)
	if programs == 1 {
		times = ofOne
	}
	for i, gap := range gaps[:len(gaps)-1] {
		if told -= gap; gap < shortest || told < gaps[0] {
			break
		}
		if gap >= times*gaps[i+1] {
			return gap
		}
	}
	return never
}
