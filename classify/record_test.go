package classify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/rules/signal"
)

// An hour of heartbeats, or a node that says the same thing all day, does not
// grow the record: the first and the last of them stay, whatever the order of
// arrival.
func TestRepeatedSignalsAreBounded(t *testing.T) {
	book := loadBook(t)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var list []ingest.Entry
	for i := range 5000 {
		list = append(
			list,
			ingest.Entry{At: start.Add(time.Duration(i) * time.Second), Clock: ingest.WallClock, Source: ingest.Runner,
				Namespace: "ci", Pod: "amber-1", PodUID: "0a0b0c0d-1111-2222-3333-444455556666", Container: "runner",
				Doc: "0.log", Line: i + 1,
				Text: fmt.Sprintf("Successfully renew job %d", i)},
		)
	}
	forward := classify.Collect(slices.Values(list), book).Seen()
	slices.Reverse(list)
	backward := classify.Collect(slices.Values(list), book).Seen()
	if n := len(forward); n < 10 || n > 100 {
		t.Errorf("%d signals kept of %d", n, len(list))
	}
	first, last := forward[0], forward[len(forward)-1]
	if !first.At.Equal(start) || !last.At.Equal(start.Add(4999*time.Second)) {
		t.Errorf("kept %v to %v", first.At, last.At)
	}
	same := func(a, b *signal.Signal) bool { return a.At.Equal(b.At) && a.Text == b.Text }
	if !slices.EqualFunc(forward, backward, same) {
		t.Error("what is kept depends on the order of arrival")
	}
	var parts []*classify.Part
	for part := range slices.Chunk(list, 700) {
		parts = append(parts, classify.Take(slices.Values(part), book))
	}
	if joined := classify.Join(parts).Seen(); !slices.EqualFunc(forward, joined, same) {
		t.Error("what is kept depends on who read it")
	}
}

// A record that was delivered twice is one signal, whatever stands around it, and
// records of one moment that differ are two.
func TestRepetitionsGo(t *testing.T) {
	book := loadBook(t)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	entry := func(at time.Time, doc string, line, job int) ingest.Entry {
		return ingest.Entry{
			At:        at,
			Clock:     ingest.WallClock,
			Source:    ingest.Runner,
			Namespace: "ci",
			Pod:       "amber-1",
			Container: "runner",
			Doc:       doc,
			Line:      line,
			Text:      fmt.Sprintf("Successfully renew job %d", job),
		}
	}
	for what, tt := range map[string]struct {
		list []ingest.Entry
		want int
	}{
		"in another document": {[]ingest.Entry{entry(start, "a", 1, 1), entry(start, "b", 7, 1)}, 1},
		"with another between": {[]ingest.Entry{entry(start, "a", 1, 1), entry(start, "a", 2, 2),
			entry(start, "b", 3, 1)}, 2},
		"in another zone": {[]ingest.Entry{entry(start, "a", 1, 1),
			entry(start.In(time.FixedZone("z", 3600)), "b", 1, 1)}, 1},
		"first and last": {[]ingest.Entry{entry(start, "a", 1, 1), entry(start, "b", 1, 1),
			entry(start.Add(1), "a", 2, 1), entry(start.Add(2), "a", 3, 1), entry(start.Add(2), "b", 3, 1)}, 3},
		"without a time": {[]ingest.Entry{entry(time.Time{}, "a", 1, 1), entry(time.Time{}, "a", 1, 1),
			entry(time.Time{}, "a", 2, 1)}, 2},
		"each at a time of itself": {[]ingest.Entry{entry(start, "a", 1, 1), entry(start.Add(1), "a", 2, 1)}, 2},
	} {
		for range 2 {
			if got := classify.Collect(slices.Values(tt.list), book).Seen(); len(got) != tt.want {
				t.Errorf("%s: %d signals, want %d", what, len(got), tt.want)
			}
			slices.Reverse(tt.list)
		}
	}
}
