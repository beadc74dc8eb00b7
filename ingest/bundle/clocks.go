package bundle

import (
	"regexp"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
)

// clocks collects what the documents of a bundle say about time.
type clocks struct {
	past   time.Time // latest dated time that is not in the future
	any    time.Time // latest dated time
	stored time.Time // latest modification time
	zone   *time.Location
	mixed  bool // documents betray several zones
}

// ahead is how far a clock may be ahead of ours and still be believed.
const ahead = 26 * time.Hour

// addHints takes what one document says. A date in the future (the end of a
// certificate's validity, a wrong clock) counts only if no other is there.
func (c *clocks) addHints(h document.Hints, mtime, now time.Time) {
	c.any = ingest.LaterOf(c.any, h.Latest)
	if now.IsZero() || h.Latest.Before(now.Add(ahead)) {
		c.past = ingest.LaterOf(c.past, h.Latest)
	}
	c.stored = ingest.LaterOf(c.stored, mtime)
	if h.Zone == nil {
		return
	}
	if c.zone != nil && zoneOffset(c.zone, h.Latest) != zoneOffset(h.Zone, h.Latest) {
		c.mixed = true
	}
	c.zone = h.Zone
}

// refTime is the latest moment that the bundle can speak of.
func (c *clocks) refTime(now time.Time) time.Time {
	for _, t := range []time.Time{c.past, c.any, c.stored} {
		if !t.IsZero() {
			return t
		}
	}
	return now
}

// zoneFor is the zone for a document: the caller's; none where the document
// betrays its own; else the one that all others which betray one agree on.
func (b *Bundle) zoneFor(h document.Hints) *time.Location {
	switch {
	case b.opts.Zone != nil:
		return b.opts.Zone
	case h.Zone != nil || b.times.mixed:
		return nil
	}
	return b.times.zone
}

// objectTime is a time as objects have it: too deep in them for Sample.
var objectTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// latestIn is the latest time in the head of a document of objects.
func latestIn(head []byte) (last time.Time) {
	for _, m := range objectTime.FindAll(head, -1) {
		if at, err := time.Parse(time.RFC3339Nano, string(m)); err == nil {
			last = ingest.LaterOf(last, at)
		}
	}
	return last
}

func zoneOffset(z *time.Location, at time.Time) int {
	_, secs := at.In(z).Zone()
	return secs
}
