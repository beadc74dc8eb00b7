package signal

import (
	"bytes"
	"testing"

	"coroner/fixtures/bench"
)

// The finder takes no more instructions for everyday lines than it did, within a tenth.
func TestHotLoopTakesNoMoreInstructions(t *testing.T) {
	bench.Hot{Test: "TestFindUnderCallgrind", MB: callgrindMB, Instructions: 4_100_000,
		Functions: `literal\.\(\*Finder\)\.(Next|nextGram|skipFast|knowsWord|markOf|placesOf|holdsAt)|` +
			`literal\.wordAt`}.Hold(t)
}

const callgrindMB = 8

// TestFindUnderCallgrind is what callgrind looks at.
func TestFindUnderCallgrind(t *testing.T) {
	bench.Load(t)
	b, buf := defaultBook(t), bytes.Buffer{}
	if _, err := (bench.Mix{Size: callgrindMB * 1e6, Hits: 0.001, Seed: 1}).WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for at := b.Next(buf.Bytes(), 0); at >= 0; at = b.Next(buf.Bytes(), at+1) {
		lines++
	}
	if lines < 10 {
		t.Fatalf("found %d texts", lines)
	}
}
