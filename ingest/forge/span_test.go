package forge

import (
	"testing"
	"time"
)

// A job is the dead runner's if it began before the death and was not over long before it.
// How much later the forge ends it says nothing.
func TestWasUnderWay(t *testing.T) {
	died := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return died.Add(time.Duration(seconds) * time.Second) }
	for _, tt := range []struct {
		name              string
		started, finished time.Time
		want              bool
	}{
		{"it goes on", at(-600), time.Time{}, true},
		{"given up after eleven minutes", at(-600), at(660), true},
		{"it told its end while it was stopped", at(-600), at(-60), true},
		{"it was over", at(-600), at(-180), false},
		{"a clock that is ahead", at(10), at(660), true},
		{"the next of a runner of that name", at(60), at(660), false},
		{"it never began", time.Time{}, at(660), false},
		{"its times are not known", time.Time{}, time.Time{}, false},
	} {
		if got := WasUnderWay(tt.started, tt.finished, died); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
