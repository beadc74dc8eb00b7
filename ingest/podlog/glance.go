package podlog

import "coroner/ingest"

const (
	dullSize    = 4 << 10 // a longer line is always given
	validGrowth = 3       // an invalid byte becomes a rune of three
)

// glance tells the lines of a chunk apart that can be of interest to anybody
// from the dull ones, by looking at the chunk as a whole.
type glance struct {
	next  func([]byte, int) int // nil if every line is of interest
	chunk []byte
	end   int // of the lines so far, in chunk
	hit   int // where something of interest is next
	odd   int // where something is next that could be read as something else
}

func (r *Reader) glanceAt(f *file, chunk []byte) glance {
	return glance{next: r.c.Next, chunk: chunk, end: -len(f.part) - f.cut, hit: -1, odd: -1}
}

// dull says whether nobody wants to see the next line. A line that is read as
// something else than what stands there is not.
func (g *glance) dull(line []byte, cut int, size int64) bool {
	begin := g.end
	g.end += int(size)
	if g.next == nil || cut > 0 || len(line) > dullSize {
		return false
	}
	if begin < 0 { // its begin was in the chunk before
		return g.next(line, 0) < 0 && ingest.Clean(line)
	}
	g.seek(begin)
	return g.hit >= g.end && g.clean(line, begin)
}

// quiet is what the chunk goes on with, up to where something is that may be of
// interest: its lines are dull unless they are too long.
func (g *glance) quiet() []byte {
	begin := g.end
	if g.next == nil || begin < 0 {
		return nil
	}
	g.seek(begin)
	if g.odd < begin {
		g.odd = begin + ingest.CleanTo(g.chunk[begin:])
	}
	return g.chunk[begin:min(g.hit, g.odd, len(g.chunk))]
}

// seek finds the next place of interest; it is behind the chunk if there is none.
func (g *glance) seek(from int) {
	if g.hit >= from {
		return
	}
	if g.hit = g.next(g.chunk, from); g.hit < 0 {
		g.hit = len(g.chunk) + 1
	}
}

// clean says whether the line that begins there stays as it is.
func (g *glance) clean(line []byte, begin int) bool {
	if g.odd < begin {
		g.odd = begin + ingest.CleanTo(g.chunk[begin:])
	}
	return g.odd >= begin+len(line) || ingest.Clean(line)
}
