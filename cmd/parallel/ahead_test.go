package parallel

import (
	"iter"
	"testing"

	"coroner/ingest"
)

// numbered yields entries with lines 1 to n and says when it ended.
func numbered(n int, ended *bool) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		defer func() { *ended = true }()
		for i := range n {
			if !yield(ingest.Entry{Line: i + 1}) {
				return
			}
		}
	}
}

// What is read ahead comes whole and in its order, whether or not it fills a batch.
func TestAheadKeepsTheOrder(t *testing.T) {
	for _, n := range []int{0, 1, batchSize - 1, batchSize, batchSize + 1, 20*batchSize + 7} {
		ended, last := false, 0
		for e := range Ahead(numbered(n, &ended)) {
			if e.Line != last+1 {
				t.Fatalf("of %d: line %d after %d", n, e.Line, last)
			}
			last = e.Line
		}
		if last != n || !ended {
			t.Errorf("of %d entries %d came, reader ended: %v", n, last, ended)
		}
	}
}

// Who stops early leaves no reader behind.
func TestAheadStopsItsReader(t *testing.T) {
	for _, after := range []int{1, batchSize, 3 * batchSize} {
		ended := false
		for e := range Ahead(numbered(100*batchSize, &ended)) {
			if e.Line == after {
				break
			}
		}
		if !ended {
			t.Errorf("stopped after %d entries, the reader goes on", after)
		}
	}
}
