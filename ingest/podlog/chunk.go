package podlog

import (
	"coroner/ingest/logtext"
)

const uninterestingSize = 4 << 10 // a longer line is always given

// chunkScan finds the uninteresting lines of a chunk by looking at the chunk as a whole.
type chunkScan struct {
	next  func(b []byte, from int) int // nil if every line is of interest
	chunk []byte
	end   int // of the lines so far, in chunk
	match int // where something of interest is next
	dirty int // where something that needs cleaning is next
}

// newChunkScan begins with a line of which so many bytes were in the chunk before.
func newChunkScan(next func([]byte, int) int, chunk []byte, before int) chunkScan {
	return chunkScan{next: next, chunk: chunk, end: -before, match: -1, dirty: -1}
}

// uninteresting reports whether the next line is of no interest. A line that needs
// cleaning, cut or very long is always of interest.
func (c *chunkScan) uninteresting(line []byte, cut int, size int64) bool {
	begin := c.end
	c.end += int(size)
	if c.next == nil || cut > 0 || len(line) > uninterestingSize {
		return false
	}
	if begin < 0 { // its beginning was in the chunk before
		return c.next(line, 0) < 0 && logtext.Clean(line)
	}
	if c.match < begin {
		if c.match = c.next(c.chunk, begin); c.match < 0 {
			c.match = len(c.chunk) + 1
		}
	}
	return c.match >= c.end && c.needsNoCleaning(line, begin)
}

// needsNoCleaning reports whether the line that begins there needs no cleaning.
func (c *chunkScan) needsNoCleaning(line []byte, begin int) bool {
	if c.dirty < begin {
		c.dirty = begin + logtext.CleanTo(c.chunk[begin:])
	}
	return c.dirty >= begin+len(line) || logtext.Clean(line)
}
