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
