package forge

import "time"

// Clocks is how far the clock of a forge and that of a node are taken to be apart at most.
// A runner whose name is used again has hardly taken its next job by then.
const Clocks = 30 * time.Second

// Early is how long before its end a runner may have told of its job's: one that is asked to stop
// tells of it first.
const Early = 2 * time.Minute

// WasUnderWay says whether a job with these times, of which a zero one is not known, can be
// the one that a runner had when it died. A forge hears of the end after it, or not at all for a
// while: GitHub gives up a runner that it does not hear of for ten minutes.
func WasUnderWay(started, finished, died time.Time) bool {
	return !started.IsZero() && started.Before(died.Add(Clocks)) &&
		(finished.IsZero() || finished.After(died.Add(-Early)))
}
