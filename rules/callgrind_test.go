package rules

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"coroner/fixtures/bench"
)

// hotInstructions is what the finder takes for a MB of everyday lines, in
// instructions. A change that needs more says why, and puts the new number here.
const hotInstructions = 3_215_000

// The hot loop takes no more instructions than it did, within a tenth.
func TestHotLoopTakesNoMoreInstructions(t *testing.T) {
	if os.Getenv("CORONER_CALLGRIND") == "" || !bench.Has("valgrind") {
		t.Skip("not shown: how many instructions the hot loop takes (make callgrind shows it, with valgrind installed)")
	}
	n, err := bench.Instructions(t.TempDir(), "TestFindUnderCallgrind", regexp.MustCompile(`rules\.\(\*finder\)\.(next|look|skip|knows|mark|at|holds)|rules\.wordAt`))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions a MB", n/callgrindMB)
	if n/callgrindMB > hotInstructions*11/10 {
		t.Errorf("the finder takes %d instructions a MB, more than a tenth above %d", n/callgrindMB, hotInstructions)
	}
}

const callgrindMB = 8

// TestFindUnderCallgrind is what callgrind looks at.
func TestFindUnderCallgrind(t *testing.T) {
	if os.Getenv(bench.UnderCallgrind) == "" {
		t.Skip("not shown: nothing, it is run by TestHotLoopTakesNoMoreInstructions")
	}
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
