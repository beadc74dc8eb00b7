package ingest

import "time"

// LaterOf is the later of two times.
func LaterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// EarlierOf is the earlier of two times.
func EarlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Nanos is a time in nanoseconds since 1970, with 0 for the zero time: what is written
// has no sign for none.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
