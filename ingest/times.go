package ingest

import "time"

// times resolves what a document's times leave out, the year and the zone.
type times struct {
	ref      time.Time      // no time of the document is later, zero if unknown
	given    *time.Location // what the caller said about times without a zone
	latest   time.Time      // the latest time with a year in the document so far
	betrayed *time.Location // the zone that the document's own times name
	last     time.Time      // the time of the entry before
}

func (t *times) zone() *time.Location {
	if t.given != nil {
		return t.given
	}
	if t.betrayed != nil {
		return t.betrayed
	}
	return time.UTC
}

// put sets e's time from st and says whether it could.
func (t *times) put(e *Entry, st stamp) bool {
	at, clock := t.resolve(st)
	if clock == NoClock {
		return false
	}
	e.At, e.Clock = at, clock
	return true
}

// resolve is the moment that st means.
func (t *times) resolve(st stamp) (time.Time, Clock) {
	clock := LocalClock
	if st.zone != nil && st.year != 0 {
		clock = WallClock
	}
	if st.year == 0 {
		at, ok := t.nearest(st)
		if !ok {
			return time.Time{}, NoClock
		}
		return at.UTC(), LocalClock
	}
	at := st.in(t.zone()).UTC()
	t.saw(at)
	return at, clock
}

// saw takes note of a time with a year.
func (t *times) saw(at time.Time) {
	if at.After(t.latest) {
		t.latest = at
	}
}

// grace is how far ahead of Ref a clock or a wrong zone may put a record.
const grace = 36 * time.Hour

// nearest gives st its year: the latest one that is not after the document's
// end, or, where only other times of the document are known, the nearest.
func (t *times) nearest(st stamp) (time.Time, bool) {
	ref := t.ref
	if ref.IsZero() {
		ref = t.latest.AddDate(0, 6, 0)
	}
	if t.ref.IsZero() && t.latest.IsZero() {
		return time.Time{}, false
	}
	for st.year = ref.Year() + 1; st.year > ref.Year()-9; st.year-- {
		at := st.in(t.zone())
		if !at.After(ref.Add(grace)) && at.In(t.zone()).Day() == st.day {
			return at, true
		}
	}
	return time.Time{}, false
}

// compare learns the zone of a log from a line that has two times: the host's
// local one and, inside, one with a zone.
func (t *times) compare(local stamp, inner time.Time) {
	if local.month == 0 || inner.IsZero() {
		return
	}
	local.zone = time.UTC
	if local.year == 0 {
		local.year = inner.Year()
	}
	diff := local.in(time.UTC).Sub(inner)
	off := diff.Round(15 * time.Minute)
	if lag := (diff - off).Abs(); lag > 5*time.Second || off.Abs() > 14*time.Hour {
		return
	}
	t.betray(off)
}

func (t *times) betray(off time.Duration) {
	t.betrayed = time.UTC
	if off != 0 {
		t.betrayed = time.FixedZone("", int(off/time.Second))
	}
}
