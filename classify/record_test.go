package classify_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"
)

// An hour of heartbeats, or a node that says the same thing all day, does not
// grow the record: the first and the last of them stay, whatever the order of
// arrival.
func TestRepeatedSignalsAreBounded(t *testing.T) {
	book := loadBook(t)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var list []ingest.Entry
	for i := range 5000 {
		list = append(list, ingest.Entry{At: start.Add(time.Duration(i) * time.Second), Clock: ingest.WallClock, Source: ingest.Runner,
			Namespace: "ci", Pod: "amber-1", PodUID: "0a0b0c0d-1111-2222-3333-444455556666", Container: "runner", Doc: "0.log", Line: i + 1,
			Text: fmt.Sprintf("Successfully renew job %d", i)})
	}
	forward := classify.Collect(slices.Values(list), book)
	slices.Reverse(list)
	backward := classify.Collect(slices.Values(list), book)
	if n := len(forward.Signals); n < 10 || n > 100 {
		t.Errorf("%d signals kept of %d", n, len(list))
	}
	first, last := forward.Signals[0], forward.Signals[len(forward.Signals)-1]
	if !first.At.Equal(start) || !last.At.Equal(start.Add(4999*time.Second)) {
		t.Errorf("kept %v to %v", first.At, last.At)
	}
	same := func(a, b *rules.Signal) bool { return a.At.Equal(b.At) && a.Text == b.Text }
	if !slices.EqualFunc(forward.Signals, backward.Signals, same) {
		t.Error("what is kept depends on the order of arrival")
	}
	var parts []*classify.Part
	for part := range slices.Chunk(list, 700) {
		parts = append(parts, classify.Take(slices.Values(part), book))
	}
	if joined := classify.Join(parts); !slices.EqualFunc(forward.Signals, joined.Signals, same) {
		t.Error("what is kept depends on who read it")
	}
}
