package podlog

import (
	"fmt"
	"testing"

	"coroner/fixtures/bench"
)

// Counting the uninteresting lines of a pod's log takes no more instructions than it did,
// within a tenth. Each line is read by itself: some thousand instructions a line are 300 MB/s.
func TestHotLoopTakesNoMoreInstructions(t *testing.T) {
	bench.Hot{Test: "TestPassUnderCallgrind", MB: callgrindMB, Instructions: 7_918_000,
		Functions: `podlog\.\(\*(lineReader|chunkScan|records|lastLines|partialLine)\)\.|header\.`}.Hold(t)
}

const callgrindMB = 4

// TestPassUnderCallgrind is what callgrind looks at.
func TestPassUnderCallgrind(t *testing.T) {
	bench.Load(t)
	n := newNode(t)
	c := n.runner("a")
	for size := 0; size < callgrindMB*1e6; size += 125 {
		c.say(fmt.Sprintf("line %9d of a job that prints about as much on a line as jobs do, with paths and versions",
			c.lines))
	}
	s := n.steps(Config{Next: nextDeath})
	s.polls(1)
	if s.passed < 0.9*callgrindMB*1e6/125 {
		t.Fatalf("%d lines were passed over", s.passed)
	}
}
