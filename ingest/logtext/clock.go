package logtext

import (
	"math"
	"time"

	"coroner/ingest"
)

// Clock resolves what a document's times leave out, the year and the zone.
type Clock struct {
	Ref          time.Time      // no time of the document is later, zero if unknown
	Zone         *time.Location // what the caller said about times without a zone
	Latest       time.Time      // the latest time with a year in the document so far
	InferredZone *time.Location // the zone that the document's own times name
	Last         time.Time      // the time of the entry before
}

func (t *Clock) LocalZone() *time.Location {
	if t.Zone != nil {
		return t.Zone
	}
	if t.InferredZone != nil {
		return t.InferredZone
	}
	return time.UTC
}

// GuessesZone says whether nothing tells the zone of times without one: UTC is no more than a guess.
func (t *Clock) GuessesZone() bool { return t.Zone == nil && t.InferredZone == nil }

// Set sets e's time from st and says whether it could. Where e has a time already, of an
// envelope, that tells the year of one without.
func (t *Clock) Set(e *ingest.Entry, st Stamp) bool {
	if st.Year == 0 && st.Month != 0 && !e.At.IsZero() {
		st.Year = t.yearNear(st, e.At)
	}
	at, clock := t.Resolve(st)
	if clock == ingest.NoClock {
		return false
	}
	e.At, e.Clock = at, clock
	return true
}

// Resolve is the moment that st means.
func (t *Clock) Resolve(st Stamp) (time.Time, ingest.Clock) {
	clock := ingest.LocalClock
	if st.Zone != nil && st.Year != 0 {
		clock = ingest.WallClock
	}
	if st.Year == 0 {
		at, ok := t.nearestYear(st)
		if !ok {
			return time.Time{}, ingest.NoClock
		}
		return at.UTC(), ingest.LocalClock
	}
	at := st.In(t.LocalZone()).UTC()
	t.Saw(at)
	return at, clock
}

// Saw takes note of a time with a year.
func (t *Clock) Saw(at time.Time) {
	if at.After(t.Latest) {
		t.Latest = at
	}
}

// grace is how far ahead of Ref a clock or a wrong zone may put a record.
const grace = 36 * time.Hour

// nearestYear gives st its year: the latest one that is not after the document's
// end, or, where only other times of the document are known, the nearest.
func (t *Clock) nearestYear(st Stamp) (time.Time, bool) {
	ref := t.Ref
	if ref.IsZero() {
		ref = t.Latest.AddDate(0, 6, 0)
	}
	if t.Ref.IsZero() && t.Latest.IsZero() {
		return time.Time{}, false
	}
	for st.Year = ref.Year() + 1; st.Year > ref.Year()-9; st.Year-- {
		at := st.In(t.LocalZone())
		if !at.After(ref.Add(grace)) && at.In(t.LocalZone()).Day() == st.Day {
			return at, true
		}
	}
	return time.Time{}, false
}

// yearNear is the year in which st is nearest to a time.
func (t *Clock) yearNear(st Stamp, to time.Time) (nearest int) {
	far := time.Duration(math.MaxInt64)
	for y := to.Year() - 1; y <= to.Year()+1; y++ {
		st.Year = y
		if d := st.In(t.LocalZone()).Sub(to).Abs(); d < far {
			nearest, far = y, d
		}
	}
	return nearest
}

// Compare learns the zone of a log from a line that has two times: the host's
// local one and, inside, one with a zone.
func (t *Clock) Compare(local Stamp, inner time.Time) {
	if local.Month == 0 || inner.IsZero() {
		return
	}
	local.Zone = time.UTC
	if local.Year == 0 {
		local.Year = inner.Year()
	}
	diff := local.In(time.UTC).Sub(inner)
	off := diff.Round(15 * time.Minute)
	if lag := (diff - off).Abs(); lag > 5*time.Second || off.Abs() > 14*time.Hour {
		return
	}
	t.InferZone(off)
}

func (t *Clock) InferZone(off time.Duration) {
	t.InferredZone = time.UTC
	if off != 0 {
		t.InferredZone = time.FixedZone("", int(off/time.Second))
	}
}
