package journal

import (
	"slices"
	"time"

	"coroner/ingest"
)

// hosts are the sources that a node's journal holds.
var hosts = [...]ingest.Source{ingest.Kernel, ingest.Kata, ingest.Systemd, ingest.Containerd, ingest.Kubelet}

// hostIndex is where s is in hosts, or -1.
func hostIndex(s ingest.Source) int { return slices.Index(hosts[:], s) }

// speaker is what is known of one source in the boot that is being read.
type speaker struct {
	spoke bool      // it logs to this journal
	from  time.Time // since when it is read without a gap
	last  time.Time // of its last record
}

// coverage keeps what was read without a gap, boot by boot.
type coverage struct {
	node, boot string
	last       time.Time // of the last record of the boot
	speakers   [len(hosts)]speaker
	closed     []ingest.Entry // spans that ended since marks were given last
}

// beginBoot starts the coverage of a boot at from, and ends that of the one before.
func (c *coverage) beginBoot(boot string, from time.Time) {
	for i := range c.speakers {
		c.closeSpan(i, c.last)
		c.speakers[i] = speaker{from: from}
	}
	c.boot, c.last = boot, from
}

// noteRecord notes that a record of boot was read, stored at.
func (c *coverage) noteRecord(boot string, at time.Time) {
	if boot != c.boot {
		c.beginBoot(boot, at)
	}
	c.last = at
}

// noteSpeaker notes that a source wrote something in the boot. Only one that could
// not be forged says something about itself.
func (c *coverage) noteSpeaker(by ingest.Source, trust ingest.Trust, at time.Time) {
	if trust != ingest.Attested {
		return
	}
	i := hostIndex(by)
	if i < 0 {
		return
	}
	s := &c.speakers[i]
	s.spoke = true
	if at.After(s.last) {
		s.last = at
	}
}

// gapStart is where a gap of s begins that the source itself reports afterwards:
// what was lost may have come right after its last record.
func (c *coverage) gapStart(s ingest.Source, from time.Time) time.Time {
	i := hostIndex(s)
	if i < 0 {
		return from
	}
	begin := c.speakers[i].last
	if begin.IsZero() {
		begin = c.speakers[i].from
	}
	if from.IsZero() || !begin.IsZero() && begin.Before(from) {
		return begin
	}
	return from
}

// noteGap ends the span of s at from; the next one begins at to.
func (c *coverage) noteGap(s ingest.Source, from, to time.Time) {
	i := hostIndex(s)
	if i < 0 {
		return
	}
	c.closeSpan(i, from)
	if to.After(c.speakers[i].from) {
		c.speakers[i].from = to
	}
}

// closeSpan tells the span of speaker i as ended at to.
func (c *coverage) closeSpan(i int, to time.Time) {
	s := &c.speakers[i]
	if s.spoke && to.After(s.from) {
		c.closed = append(c.closed, c.newMark(i, to))
	}
}

// newMark is the Covered mark of speaker i up to to.
func (c *coverage) newMark(i int, to time.Time) ingest.Entry {
	return ingest.Entry{
		At: to, Clock: ingest.WallClock, Source: hosts[i], Trust: ingest.Attested, Node: c.node, Boot: c.boot, Doc: doc,
		Mark: &ingest.Mark{Kind: ingest.Covered, From: c.speakers[i].from, To: to},
	}
}

// takeMarks appends the spans that were closed and those that go on, up to to.
func (c *coverage) takeMarks(out []ingest.Entry, to time.Time) []ingest.Entry {
	out = append(out, c.closed...)
	c.closed = c.closed[:0]
	for i, s := range c.speakers {
		if s.spoke && !to.Before(s.from) {
			out = append(out, c.newMark(i, to))
		}
	}
	return out
}

// doc is the name of the document that all entries are of.
const doc = "journal"
